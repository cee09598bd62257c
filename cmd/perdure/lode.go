package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/schema"
	"github.com/perdure/perdure/view"
)

func lodeCommand() *cobra.Command {
	c := command("lode", nil)
	c.PersistentFlags().StringArray("library", nil,
		"a .lode file of predicates that schemas name with @; may be repeated")
	c.AddCommand(lodeCheckCommand(), lodeCompileCommand(), lodeDecodeCommand(), lodeVerifyCommand(),
		lodeFingerprintCommand(),
		lodeChainCommand(), lodeLatestCommand(), lodeGCCommand(), lodeStateCommand(), lodeUpgradeCommand())
	return c
}

// readLode reads a file of schemas or values.
func readLode(c *cobra.Command, name string) ([]byte, error) {
	return readWhole(c, name, perdure.Limits{Bytes: perdure.MaxBody})
}

// readSchemas reads schema files, with the predicates of the files that --library names.
func readSchemas(c *cobra.Command, names ...string) (found []*schema.Schema, err error) {
	named := schema.Expressions{}
	libraries, _ := c.Flags().GetStringArray("library") // every command here has it
	for _, name := range libraries {
		b, err := readLode(c, name)
		if err == nil {
			err = named.Add(b)
		}
		if err != nil {
			return nil, fmt.Errorf("library %s: %w", name, err)
		}
	}
	for _, name := range names {
		b, err := readLode(c, name)
		if err != nil {
			return nil, err
		}
		s, err := schema.ParseWith(b, nil, named)
		if err != nil {
			return nil, fmt.Errorf("schema %s: %w", name, err)
		}
		found = append(found, s)
	}
	return found, nil
}

// registry is the schemas that files hold.
func registry(c *cobra.Command, names []string) (*schema.Registry, error) {
	all, err := readSchemas(c, names...)
	r := new(schema.Registry)
	for i, s := range all {
		if err := r.Add(s); err != nil {
			return nil, fmt.Errorf("schema %s: %w", names[i], err)
		}
	}
	return r, err
}

func schemasFlag(c *cobra.Command) *[]string {
	return c.Flags().StringArrayP("schema", "s", nil,
		"a schema file, for values without an embedded schema; may be repeated")
}

func outputFlag(c *cobra.Command) *string {
	return c.Flags().StringP("output", "o", "", "write to this file, which appears only when it is complete")
}

// hashFlag reads the fingerprint a flag gives; zero: it was not given.
func hashFlag(c *cobra.Command, name, text string) (schema.Hash, error) {
	if !c.Flags().Changed(name) {
		return schema.Hash{}, nil
	}
	h, err := schema.ParseHash(text)
	if err == nil && h == (schema.Hash{}) {
		err = errors.New("zero is no fingerprint")
	}
	if err != nil {
		return h, perdure.Invalid(fmt.Errorf("--%s: %w", name, err))
	}
	return h, nil
}

// writeVein writes a .vein file and says what it is: beside the file, on standard error if that is standard output.
func writeVein(c *cobra.Command, name string, b []byte) error {
	print, err := schema.Fingerprint(b)
	if err != nil {
		return err
	}
	if err := writeBytes(c, name, b); err != nil {
		return err
	}
	if name == "" {
		note(c, "%d bytes, fingerprint %s", len(b), print)
		return nil
	}
	d := schema.Description{Name: name, Bytes: len(b), Fingerprint: print}
	return say(c, d, "%s: %d bytes, fingerprint %s\n", name, len(b), print)
}

func lodeCheckCommand() *cobra.Command {
	c := command("lode check", cobra.ExactArgs(1))
	c.RunE = func(c *cobra.Command, args []string) error {
		all, err := readSchemas(c, args[0])
		if err != nil {
			return err
		}
		s := all[0]
		return say(c, struct {
			Name    string      `json:"name"`
			Version int         `json:"version"`
			ID      schema.Hash `json:"id"`
		}{s.Name(), s.Version(), s.ID()}, "%s v%d %s\n", s.Name(), s.Version(), s.ID())
	}
	return c
}

func lodeCompileCommand() *cobra.Command {
	c := command("lode compile", cobra.ExactArgs(1))
	name := c.Flags().StringP("schema", "s", "", "the schema file")
	out := outputFlag(c)
	embed := c.Flags().Bool("embed", true, "put the schema into the file")
	parent := c.Flags().String("parent", "", "fingerprint of the value before, for schemas without a field parentHash")
	force := c.Flags().Bool("force", false, "write binary to a terminal")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		if *name == "" {
			return perdure.Invalid(errors.New("name the schema with -s FILE"))
		}
		if err := notBinary(c, *out == "" && !*force); err != nil {
			return err
		}
		o := schema.Options{Embed: *embed}
		if o.Parent, err = hashFlag(c, "parent", *parent); err != nil {
			return err
		}
		s, err := readSchemas(c, *name)
		if err != nil {
			return err
		}
		src, err := readLode(c, args[0])
		if err != nil {
			return err
		}
		b, err := schema.Compile(s[0], src, o)
		if err != nil {
			return fmt.Errorf("compile %s: %w", args[0], err)
		}
		return writeVein(c, *out, b)
	}
	return c
}

func lodeDecodeCommand() *cobra.Command {
	c := command("lode decode", cobra.ExactArgs(1))
	c.Aliases = []string{"restore"}
	names := schemasFlag(c)
	out := outputFlag(c)
	expect := c.Flags().String("expect", "", "refuse a value with another fingerprint, 64 hex digits")
	as := c.Flags().String("as", "", "the version to read it as, or latest (default: the one it was written under)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *expect == "" && c.CalledAs() == "restore" {
			return perdure.Invalid(errors.New("restore needs the fingerprint it is to have; give --expect, or use " +
				"decode"))
		}
		want, err := hashFlag(c, "expect", *expect)
		if err != nil {
			return err
		}
		reg, err := registry(c, *names)
		if err != nil {
			return err
		}
		file, err := readLode(c, args[0])
		if err != nil {
			return err
		}
		text, err := reg.JSON(file, want, *as)
		if err != nil {
			return fmt.Errorf("%s %s: %w", c.CalledAs(), args[0], err)
		}
		return writeBytes(c, *out, append(text, '\n'))
	}
	return c
}

func lodeFingerprintCommand() *cobra.Command {
	c := command("lode fingerprint", cobra.MinimumNArgs(1))
	c.RunE = func(c *cobra.Command, args []string) error {
		for _, name := range args {
			b, err := readLode(c, name)
			if err != nil {
				return err
			}
			h, err := schema.Fingerprint(b)
			if err != nil {
				return fmt.Errorf("fingerprint %s: %w", name, err)
			}
			err = say(c, struct {
				Name        string      `json:"name"`
				Fingerprint schema.Hash `json:"fingerprint"`
			}{name, h}, "%s  %s\n", h, name)
			if err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

func lodeVerifyCommand() *cobra.Command {
	c := command("lode verify", cobra.ExactArgs(1))
	names := schemasFlag(c)
	expect := c.Flags().String("expect", "", "the fingerprint it must have, 64 hex digits")
	c.RunE = func(c *cobra.Command, args []string) error {
		want, err := hashFlag(c, "expect", *expect)
		if err != nil {
			return err
		}
		reg, err := registry(c, *names)
		if err != nil {
			return err
		}
		b, err := readLode(c, args[0])
		if err != nil {
			return err
		}
		if want != (schema.Hash{}) {
			if _, err := schema.Restore(b, want, reg); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
		}
		d, err := schema.File{Name: args[0], Bytes: b}.Describe(reg)
		if err != nil {
			return err
		}
		return say(c, d, "ok: %s, %d bytes, fingerprint %s\n", d.Schema, d.Bytes, d.Fingerprint)
	}
	return c
}

// chainOf is the files of a chain, and the schemas to read them by.
func chainOf(c *cobra.Command, schemas, names []string) ([]schema.File, *schema.Registry, error) {
	reg, err := registry(c, schemas)
	if err != nil {
		return nil, nil, err
	}
	var files []schema.File
	for _, name := range names {
		b, err := disk.ReadFile(name, perdure.MaxBody)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, schema.File{Name: name, Bytes: b})
	}
	return files, reg, nil
}

func lodeChainCommand() *cobra.Command {
	c := command("lode verify-chain", cobra.MinimumNArgs(1))
	names := schemasFlag(c)
	head := c.Flags().String("head", "", "the fingerprint the last file must have, 64 hex digits")
	after := c.Flags().String("after", "", "the fingerprint of the value the first file follows, 64 hex digits")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		var o schema.ChainOptions
		if o.Head, err = hashFlag(c, "head", *head); err != nil {
			return err
		}
		if o.After, err = hashFlag(c, "after", *after); err != nil {
			return err
		}
		files, reg, err := chainOf(c, *names, args)
		if err != nil {
			return err
		}
		chain, err := schema.VerifyPart(files, reg, o)
		return printChain(c, chain, err)
	}
	return c
}

// printChain prints what was found of a chain.
func printChain(c *cobra.Command, chain *schema.Chain, err error) error {
	w := c.OutOrStdout()
	if jsonFlag(c) {
		result := struct {
			OK       bool                 `json:"ok"`
			Head     schema.Hash          `json:"head,omitzero"`
			Links    []schema.Link        `json:"links"`
			Problems []*perdure.Rejection `json:"problems,omitempty"`
		}{err == nil, chain.Head(), chain.Links, chain.Problems}
		if err != nil {
			err = &answered{err}
		}
		return errors.Join(err, term.WriteJSON(w, result))
	}
	gone := 0
	for _, l := range chain.Links {
		mark := ""
		if l.Gone {
			gone, mark = gone+1, "  gone"
		}
		if _, err := fmt.Fprintf(w, "%s  %s%s\n", l.Fingerprint, l.Name, mark); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	collected := ""
	if gone > 0 {
		collected = fmt.Sprintf(", %d of them gone", gone)
	}
	_, err = fmt.Fprintf(w, "ok: a chain of %d%s, head %s\n", len(chain.Links), collected, chain.Head())
	return err
}

func lodeLatestCommand() *cobra.Command {
	c := command("lode latest", cobra.MinimumNArgs(1))
	names := schemasFlag(c)
	agent := c.Flags().String("agent", "", "whose files: the field agentName of their values")
	after := c.Flags().String("after", "", "the fingerprint of the value the first file follows, 64 hex digits")
	only := c.Flags().Bool("name", false, "print the name of the file only")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		var o schema.ChainOptions
		if o.After, err = hashFlag(c, "after", *after); err != nil {
			return err
		}
		files, reg, err := chainOf(c, *names, args)
		if err != nil {
			return err
		}
		if !c.Flags().Changed("agent") {
			agent = nil
		}
		last, err := schema.Last(files, agent, reg, o)
		if err != nil {
			return err
		}
		if *only && !jsonFlag(c) {
			_, err = fmt.Fprintln(c.OutOrStdout(), last.Name)
			return err
		}
		return say(c, last, "%s  %s\n", last.Fingerprint, last.Name)
	}
	return c
}

func lodeGCCommand() *cobra.Command {
	c := command("lode gc", cobra.MinimumNArgs(1))
	names := schemasFlag(c)
	dry := c.Flags().Bool("dry-run", false, "only list what would be dropped")
	c.RunE = func(c *cobra.Command, args []string) error {
		files, reg, err := chainOf(c, *names, args)
		if err != nil {
			return err
		}
		for _, f := range files {
			d, left, err := f.Retire(reg, time.Now())
			if err != nil {
				return err
			}
			if d == nil {
				continue
			}
			word := "would drop"
			if !*dry {
				word = "dropped"
				if err := writeBytes(c, f.Name, left); err != nil {
					return err
				}
			}
			err = say(c, d, "%s: %s its value, %d bytes, over since %s\n", d.Name, word, d.Bytes,
				d.Expires.Format(time.RFC3339))
			if err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

func lodeStateCommand() *cobra.Command {
	c := command("lode state", cobra.ExactArgs(1))
	h := lookFlag(c)
	names := schemasFlag(c)
	as := c.Flags().String("as", "latest", "the version to read it as")
	file := c.Flags().StringP("output", "o", "", "write it as a .vein file")
	before := c.Flags().String("parent", "", "with -o: the fingerprint of the value before, 64 hex digits")
	c.RunE = func(c *cobra.Command, args []string) error {
		parent, err := hashFlag(c, "parent", *before)
		if err != nil {
			return err
		}
		if *before != "" && *file == "" {
			return perdure.Invalid(errors.New("--parent is about a .vein file; name one with -o"))
		}
		more, err := readSchemas(c, *names...)
		if err != nil {
			return err
		}
		return h.point(args[0], func(_ context.Context, _ perdure.Store, at *home.Point) error {
			t, err := h.TypedState(at.Agent, *as, more...)
			if err != nil {
				return err
			}
			if *file == "" {
				return printState(c, t)
			}
			value, err := t.Value()
			if err != nil {
				return err
			}
			b, err := schema.Pack(t.Schema, value, schema.Options{Embed: true, Parent: parent})
			if err != nil {
				return fmt.Errorf("state of %s: %w", view.Called(at.Agent), err)
			}
			return writeVein(c, *file, b)
		})
	}
	return c
}

// printState prints the state of an agent as its schema has it.
func printState(c *cobra.Command, t *home.Typed) error {
	text, err := t.JSON()
	if err == nil {
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", text)
	}
	return err
}

func lodeUpgradeCommand() *cobra.Command {
	c := command("lode upgrade", cobra.ExactArgs(1))
	h, out := storeFlag(c), outputFlags(c)
	name := c.Flags().StringP("schema", "s", "", "the schema file of the later version")
	to := c.Flags().String("to", "latest", "the version to move to")
	dry := c.Flags().Bool("dry-run", false, "only print the resulting state")
	c.RunE = func(c *cobra.Command, args []string) error {
		var names []string
		if *name != "" {
			names = append(names, *name)
		}
		more, err := readSchemas(c, names...)
		if err != nil {
			return err
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			a, err := h.Agent(ctx, s, args[0])
			if err != nil {
				return err
			}
			t, err := h.TypedState(a, *to, more...)
			if err != nil {
				return fmt.Errorf("upgrade the %w", err)
			}
			if *dry {
				return printState(c, t)
			}
			r, err := h.UpgradeState(ctx, s, a.ID(), t, *name != "")
			if err != nil {
				return err
			}
			return out.print(r, func(w io.Writer) error {
				when := "already"
				if r.Seq > 0 {
					when = fmt.Sprintf("now (seq %d)", r.Seq)
				}
				_, err := fmt.Fprintf(w, "%s: its state is of %s version %d %s\n", view.Called(a), t.Schema.Name(),
					r.Version, when)
				return err
			})
		})
	}
	return c
}
