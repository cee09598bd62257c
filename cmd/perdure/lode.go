package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/schema"
)

func lodeCommand() *cobra.Command {
	c := command("lode", nil)
	c.AddCommand(lodeCheckCommand(), lodeCompileCommand(), lodeDecodeCommand(), lodeVerifyCommand(),
		lodeFingerprintCommand(), lodeChainCommand(), lodeLatestCommand(), lodeGCCommand(), lodeStateCommand(),
		lodeUpgradeCommand())
	for _, sub := range c.Commands() {
		sub.Flags().StringArray("library", nil, "a .lode file of predicates that schemas name with @; may be repeated")
	}
	return c
}

// lodeFiles are the files that a command reads, with the predicates of those that --library names.
func lodeFiles(c *cobra.Command) *schema.Sources {
	libraries, _ := c.Flags().GetStringArray("library") // every command here has it
	return &schema.Sources{Libraries: libraries, Read: func(name string) ([]byte, error) {
		return readWhole(c, name, perdure.Limits{Bytes: perdure.MaxBody})
	}}
}

func schemasFlag(c *cobra.Command) *[]string {
	return c.Flags().StringArrayP("schema", "s", nil,
		"a schema file, for values without an embedded schema; may be repeated")
}

func outputFlag(c *cobra.Command) *string {
	return c.Flags().StringP("output", "o", "", "write to this file, which appears only when it is complete")
}

// hashValue is a flag for a fingerprint.
type hashValue struct{ to *schema.Hash }

func (h hashValue) Type() string { return "string" }

func (h hashValue) String() string {
	if h.to == nil || *h.to == (schema.Hash{}) {
		return ""
	}
	return h.to.String()
}

func (h hashValue) Set(text string) (err error) {
	if *h.to, err = schema.ParseHash(text); err == nil && *h.to == (schema.Hash{}) {
		err = errors.New("zero is not a fingerprint")
	}
	return err
}

// hashFlag adds a flag for a fingerprint; zero: it was not given.
func hashFlag(c *cobra.Command, to *schema.Hash, name, usage string) {
	c.Flags().Var(hashValue{to}, name, usage+", 64 hex digits")
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
		all, err := lodeFiles(c).Schemas(args[0])
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
	var o schema.Options
	name, out := c.Flags().StringP("schema", "s", "", "the schema file"), outputFlag(c)
	c.Flags().BoolVar(&o.Embed, "embed", true, "put the schema into the file")
	hashFlag(c, &o.Parent, "parent", "fingerprint of the value before, for schemas without a field parentHash")
	force := c.Flags().Bool("force", false, "write binary to a terminal")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *name == "" {
			return perdure.Invalid(errors.New("name the schema with -s FILE"))
		}
		if err := notBinary(c, *out == "" && !*force); err != nil {
			return err
		}
		files := lodeFiles(c)
		s, err := files.Schemas(*name)
		if err != nil {
			return err
		}
		src, err := files.Read(args[0])
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
	names, out, want := schemasFlag(c), outputFlag(c), schema.Hash{}
	hashFlag(c, &want, "expect", "refuse a value with another fingerprint")
	as := c.Flags().String("as", "", "the version to read it as, or latest (default: the one it was written under)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if want == (schema.Hash{}) && c.CalledAs() == "restore" {
			return perdure.Invalid(errors.New("restore needs the fingerprint it is to have; give --expect, or use " +
				"decode"))
		}
		f, reg, err := lodeFile(c, args[0], *names)
		if err != nil {
			return err
		}
		text, err := reg.JSON(f.Bytes, want, *as)
		if err != nil {
			return fmt.Errorf("%s %s: %w", c.CalledAs(), args[0], err)
		}
		return writeBytes(c, *out, append(text, '\n'))
	}
	return c
}

// lodeFile is the file of a value, and the schemas to read it by.
func lodeFile(c *cobra.Command, name string, schemas []string) (f schema.File, reg *schema.Registry, err error) {
	files := lodeFiles(c)
	if reg, err = files.Registry(schemas...); err == nil {
		f, err = files.File(name)
	}
	return f, reg, err
}

func lodeFingerprintCommand() *cobra.Command {
	c := command("lode fingerprint", cobra.MinimumNArgs(1))
	c.RunE = func(c *cobra.Command, args []string) error {
		for _, name := range args {
			f, err := lodeFiles(c).File(name)
			if err != nil {
				return err
			}
			h, err := schema.Fingerprint(f.Bytes)
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
	names, want := schemasFlag(c), schema.Hash{}
	hashFlag(c, &want, "expect", "the fingerprint it must have")
	c.RunE = func(c *cobra.Command, args []string) error {
		f, reg, err := lodeFile(c, args[0], *names)
		if err != nil {
			return err
		}
		d, err := f.Verify(reg, want)
		if err != nil {
			return err
		}
		return say(c, d, "ok: %s, %d bytes, fingerprint %s\n", d.Schema, d.Bytes, d.Fingerprint)
	}
	return c
}

// chainOf is the files of a chain, and the schemas to read them by.
func chainOf(c *cobra.Command, schemas, names []string) ([]schema.File, *schema.Registry, error) {
	files := lodeFiles(c)
	reg, err := files.Registry(schemas...)
	if err != nil {
		return nil, nil, err
	}
	files.Read = func(name string) ([]byte, error) { return disk.ReadFile(name, perdure.MaxBody) }
	all, err := files.Files(names...)
	return all, reg, err
}

func lodeChainCommand() *cobra.Command {
	c := command("lode verify-chain", cobra.MinimumNArgs(1))
	var o schema.ChainOptions
	names := schemasFlag(c)
	hashFlag(c, &o.Head, "head", "the fingerprint the last file must have")
	hashFlag(c, &o.After, "after", "the fingerprint of the value the first file follows")
	c.RunE = func(c *cobra.Command, args []string) error {
		files, reg, err := chainOf(c, *names, args)
		if err != nil {
			return err
		}
		chain, err := schema.VerifyPart(files, reg, o)
		if err != nil && jsonFlag(c) {
			err = &answered{err}
		}
		return errors.Join(err, say(c, chain, "%s", chain))
	}
	return c
}

func lodeLatestCommand() *cobra.Command {
	c := command("lode latest", cobra.MinimumNArgs(1))
	var o schema.ChainOptions
	names := schemasFlag(c)
	agent := c.Flags().String("agent", "", "whose files: the field agentName of their values")
	hashFlag(c, &o.After, "after", "the fingerprint of the value the first file follows")
	only := c.Flags().Bool("name", false, "print the name of the file only")
	c.RunE = func(c *cobra.Command, args []string) error {
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
		if *only {
			return say(c, last, "%s\n", last.Name)
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
	h, names, parent := lookFlag(c), schemasFlag(c), schema.Hash{}
	as := c.Flags().String("as", "latest", "the version to read it as")
	file := c.Flags().StringP("output", "o", "", "write it as a .vein file")
	hashFlag(c, &parent, "parent", "with -o: the fingerprint of the value before")
	c.RunE = func(c *cobra.Command, args []string) error {
		if parent != (schema.Hash{}) && *file == "" {
			return perdure.Invalid(errors.New("--parent is about a .vein file; name one with -o"))
		}
		more, err := lodeFiles(c).Schemas(*names...)
		if err != nil {
			return err
		}
		return h.point(args[0], func(_ context.Context, _ perdure.Store, at *home.Point) error {
			t, err := h.TypedState(at.Agent, *as, more...)
			if err != nil {
				return err
			}
			if *file == "" {
				text, err := t.JSON()
				return printState(c, text, err)
			}
			b, err := t.Vein(parent)
			if err != nil {
				return err
			}
			return writeVein(c, *file, b)
		})
	}
	return c
}

// printState prints the state of an agent as its schema has it.
func printState(c *cobra.Command, text []byte, err error) error {
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
		more, err := lodeFiles(c).Schemas(names...)
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
				text, err := h.Moved(ctx, t)
				return printState(c, text, err)
			}
			r, err := h.UpgradeState(ctx, s, a.ID(), t, *name != "")
			if err != nil {
				return err
			}
			return out.say(r, "%s\n", r)
		})
	}
	return c
}
