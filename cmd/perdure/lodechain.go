package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/schema"
)

// veinView is a .vein file as printed.
type veinView struct {
	Name        string      `json:"name"`
	Bytes       int         `json:"bytes"`
	Schema      string      `json:"schema,omitempty"` // its name and version
	Fingerprint schema.Hash `json:"fingerprint"`
	Parent      schema.Hash `json:"parent,omitzero"`
	Expires     *time.Time  `json:"expires,omitempty"`
}

// viewVein reads a .vein file whole, and says what it is.
func viewVein(name string, b []byte, reg *schema.Registry) (*veinView, *schema.Vein, error) {
	v, err := schema.Open(b, reg)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	view := &veinView{Name: name, Bytes: len(b), Schema: fmt.Sprintf("%s v%d", v.Schema.Name(), v.Schema.Version()), Fingerprint: v.Fingerprint}
	if view.Parent, err = v.Parent(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	at, ever, err := v.Expires()
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	if at = at.UTC(); ever {
		view.Expires = &at
	}
	return view, v, nil
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
		b, err := readWhole(c, args[0], perdure.Limits{Bytes: maxLode})
		if err != nil {
			return err
		}
		if want != (schema.Hash{}) {
			if _, err := schema.Restore(b, want, reg); err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
		}
		view, _, err := viewVein(args[0], b, reg)
		if err != nil {
			return err
		}
		return say(c, view, "ok: %s, %d bytes, fingerprint %s\n", view.Schema, view.Bytes, view.Fingerprint)
	}
	return c
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

// readVeins reads the files of a chain.
func readVeins(names []string) ([]schema.File, error) {
	var files []schema.File
	for _, name := range names {
		b, err := disk.ReadFile(name, perdure.MaxBody)
		if err != nil {
			return nil, err
		}
		files = append(files, schema.File{Name: name, Bytes: b})
	}
	return files, nil
}

func lodeChainCommand() *cobra.Command {
	c := command("lode verify-chain", cobra.MinimumNArgs(1))
	names := schemasFlag(c)
	head := c.Flags().String("head", "", "the fingerprint the last file must have, 64 hex digits")
	after := c.Flags().String("after", "", "the fingerprint of the value the first file follows, 64 hex digits")
	c.RunE = func(c *cobra.Command, args []string) error {
		var o schema.ChainOptions
		var err error
		if o.Head, err = hashFlag(c, "head", *head); err != nil {
			return err
		}
		if o.After, err = hashFlag(c, "after", *after); err != nil {
			return err
		}
		reg, err := registry(c, *names)
		if err != nil {
			return err
		}
		files, err := readVeins(args)
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
		return errors.Join(err, printJSON(w, result))
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
	c.RunE = func(c *cobra.Command, args []string) error {
		var o schema.ChainOptions
		var err error
		if o.After, err = hashFlag(c, "after", *after); err != nil {
			return err
		}
		reg, err := registry(c, *names)
		if err != nil {
			return err
		}
		files, err := readVeins(args)
		if err != nil {
			return err
		}
		if c.Flags().Changed("agent") {
			if files, err = schema.Of(files, *agent, reg); err != nil {
				return err
			}
			if len(files) == 0 {
				return perdure.Missing("none of these files is of agent " + *agent)
			}
		}
		chain, err := schema.VerifyPart(files, reg, o)
		if err != nil {
			return err
		}
		last := chain.Links[len(chain.Links)-1]
		switch w := c.OutOrStdout(); {
		case last.Gone:
			return perdure.Missing("the latest, " + last.Name + ", was collected: only its fingerprint " + last.Fingerprint.String() + " is left")
		case jsonFlag(c):
			return printJSON(w, last)
		case *only:
			_, err = fmt.Fprintln(w, last.Name)
		default:
			_, err = fmt.Fprintf(w, "%s  %s\n", last.Fingerprint, last.Name)
		}
		return err
	}
	return c
}

func lodeGCCommand() *cobra.Command {
	c := command("lode gc", cobra.MinimumNArgs(1))
	names := schemasFlag(c)
	dry := c.Flags().Bool("dry-run", false, "only list what would be dropped")
	c.RunE = func(c *cobra.Command, args []string) error {
		reg, err := registry(c, *names)
		if err != nil {
			return err
		}
		files, err := readVeins(args)
		if err != nil {
			return err
		}
		now := time.Now()
		for _, f := range files {
			if schema.IsGone(f.Bytes) {
				continue
			}
			view, v, err := viewVein(f.Name, f.Bytes, reg)
			if err != nil {
				return err
			}
			if view.Expires == nil || now.Before(*view.Expires) {
				continue
			}
			if err := retire(c, view, v, now, *dry); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// retire replaces one file by its place in the chain, and says so.
func retire(c *cobra.Command, view *veinView, v *schema.Vein, now time.Time, dry bool) error {
	word := "would drop"
	if !dry {
		word = "dropped"
		b, err := schema.Retire(v, view.Bytes, now)
		if err != nil {
			return err
		}
		if err := writeOutput(c, view.Name, func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
			return err
		}
	}
	return say(c, view, "%s: %s its value, %d bytes, over since %s\n", view.Name, word, view.Bytes, view.Expires.Format(time.RFC3339))
}
