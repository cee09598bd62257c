package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/schema"
)

func lodeCommand() *cobra.Command {
	c := command("lode", nil)
	c.PersistentFlags().StringArray("library", nil, "a .lode file of predicates that schemas name with @; may be repeated")
	c.AddCommand(lodeCheckCommand(), lodeCompileCommand(), lodeDecodeCommand(), lodeVerifyCommand(), lodeFingerprintCommand(), lodeChainCommand(), lodeLatestCommand(),
		lodeGCCommand(), lodeStateCommand(), lodeUpgradeCommand())
	return c
}

// maxLode bounds the files lode reads.
const maxLode = perdure.MaxBody

// readSchema reads a schema file.
func readSchema(c *cobra.Command, name string) (*schema.Schema, error) {
	b, err := readWhole(c, name, perdure.Limits{Bytes: maxLode})
	if err != nil {
		return nil, err
	}
	named, err := libraries(c)
	if err != nil {
		return nil, err
	}
	s, err := schema.ParseWith(b, nil, named)
	if err != nil {
		return nil, fmt.Errorf("schema %s: %w", name, err)
	}
	return s, nil
}

// libraries are the predicates of the files that --library names, for commands that have it.
func libraries(c *cobra.Command) (schema.Expressions, error) {
	all := schema.Expressions{}
	names, err := c.Flags().GetStringArray("library")
	if err != nil {
		return all, nil // the command has no such flag
	}
	for _, name := range names {
		b, err := readWhole(c, name, perdure.Limits{Bytes: maxLode})
		if err == nil {
			err = all.Add(b)
		}
		if err != nil {
			return nil, fmt.Errorf("library %s: %w", name, err)
		}
	}
	return all, nil
}

// registry is the schemas that were named.
func registry(c *cobra.Command, names []string) (*schema.Registry, error) {
	r := new(schema.Registry)
	return r, addSchemas(c, r, names)
}

// addSchemas makes schema files known.
func addSchemas(c *cobra.Command, r *schema.Registry, names []string) error {
	for _, name := range names {
		s, err := readSchema(c, name)
		if err != nil {
			return err
		}
		if err := r.Add(s); err != nil {
			return fmt.Errorf("schema %s: %w", name, err)
		}
	}
	return nil
}

func schemasFlag(c *cobra.Command) *[]string {
	return c.Flags().StringArrayP("schema", "s", nil, "a schema file, for values without an embedded schema; may be repeated")
}

func lodeCheckCommand() *cobra.Command {
	c := command("lode check", cobra.ExactArgs(1))
	c.RunE = func(c *cobra.Command, args []string) error {
		s, err := readSchema(c, args[0])
		if err != nil {
			return err
		}
		if jsonFlag(c) {
			return printJSON(c.OutOrStdout(), struct {
				Name    string      `json:"name"`
				Version int         `json:"version"`
				ID      schema.Hash `json:"id"`
			}{s.Name(), s.Version(), s.ID()})
		}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s v%d %s\n", s.Name(), s.Version(), s.ID())
		return err
	}
	return c
}

func lodeCompileCommand() *cobra.Command {
	c := command("lode compile", cobra.ExactArgs(1))
	name := c.Flags().StringP("schema", "s", "", "the schema file")
	out := c.Flags().StringP("output", "o", "", "write to this file, which appears only when it is complete")
	embed := c.Flags().Bool("embed", true, "put the schema into the file")
	parent := c.Flags().String("parent", "", "fingerprint of the value before, for schemas without a field parentHash")
	force := c.Flags().Bool("force", false, "write binary to a terminal")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *name == "" {
			return perdure.Invalid(errors.New("name the schema with -s FILE"))
		}
		if *out == "" && !*force && term.IsTerminal(c.OutOrStdout()) {
			return perdure.Invalid(errors.New("this would write binary to a terminal; name a file with -o, or use --force"))
		}
		o := schema.Options{Embed: *embed}
		if *parent != "" {
			h, err := schema.ParseHash(*parent)
			if err != nil {
				return perdure.Invalid(fmt.Errorf("--parent: %w", err))
			}
			o.Parent = h
		}
		s, err := readSchema(c, *name)
		if err != nil {
			return err
		}
		src, err := readWhole(c, args[0], perdure.Limits{Bytes: maxLode})
		if err != nil {
			return err
		}
		b, err := schema.Compile(s, src, o)
		if err != nil {
			return fmt.Errorf("compile %s: %w", args[0], err)
		}
		return writeVein(c, *out, b)
	}
	return c
}

// writeVein writes a .vein file and says what it is: beside the file, on standard error if that is standard output.
func writeVein(c *cobra.Command, name string, b []byte) error {
	print, err := schema.Fingerprint(b)
	if err != nil {
		return err
	}
	err = writeOutput(c, name, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
	switch {
	case err != nil:
		return err
	case name == "":
		note(c, "%d bytes, fingerprint %s", len(b), print)
		return nil
	case jsonFlag(c):
		return printJSON(c.OutOrStdout(), veinView{Name: name, Bytes: len(b), Fingerprint: print})
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %d bytes, fingerprint %s\n", name, len(b), print)
	return err
}

func lodeDecodeCommand() *cobra.Command {
	c := command("lode decode", cobra.ExactArgs(1))
	c.Aliases = []string{"restore"}
	names := schemasFlag(c)
	out := c.Flags().StringP("output", "o", "", "write to this file, which appears only when it is complete")
	expect := c.Flags().String("expect", "", "refuse a value with another fingerprint, 64 hex digits")
	as := c.Flags().String("as", "", "the version to read it as, or latest (default: the one it was written under)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *expect == "" && c.CalledAs() == "restore" {
			return perdure.Invalid(errors.New("restore needs the fingerprint it is to have; give --expect, or use decode"))
		}
		var want *schema.Hash
		if *expect != "" {
			h, err := schema.ParseHash(*expect)
			if err != nil {
				return perdure.Invalid(fmt.Errorf("--expect: %w", err))
			}
			want = &h
		}
		reg, err := registry(c, *names)
		if err != nil {
			return err
		}
		file, err := readWhole(c, args[0], perdure.Limits{Bytes: maxLode})
		if err != nil {
			return err
		}
		text, err := decodeVein(c, reg, file, want, *as)
		if err != nil {
			return fmt.Errorf("%s %s: %w", c.CalledAs(), args[0], err)
		}
		return writeOutput(c, *out, func(w io.Writer) error {
			_, err := w.Write(append(text, '\n'))
			return err
		})
	}
	return c
}

// decodeVein is the value of a file as JSON, in a version of its schema; want is the fingerprint it must have, if any.
func decodeVein(c *cobra.Command, reg *schema.Registry, file []byte, want *schema.Hash, as string) ([]byte, error) {
	if want != nil {
		if text, err := schema.Restore(file, *want, reg); err != nil || as == "" {
			return text, err
		}
	}
	v, err := schema.Open(file, reg)
	if err != nil {
		return nil, err
	}
	if as == "" {
		return v.JSON()
	}
	s, err := versionOf(c, reg, v.Schema, as)
	if err != nil {
		return nil, err
	}
	value, err := v.As(s)
	if err != nil {
		return nil, err
	}
	return s.ToJSON(value)
}

// versionOf is a schema in the version that --as names, out of all that are known.
func versionOf(c *cobra.Command, reg *schema.Registry, s *schema.Schema, as string) (*schema.Schema, error) {
	if latest := reg.Latest(s.Name()); latest != nil && latest.Version() > s.Version() {
		s = latest
	}
	if as == "latest" {
		return s, nil
	}
	version, err := strconv.Atoi(as)
	if err != nil {
		return nil, perdure.Invalid(fmt.Errorf("--as %s: want the number of a version, or latest", as))
	}
	return s.At(version)
}

func lodeFingerprintCommand() *cobra.Command {
	c := command("lode fingerprint", cobra.MinimumNArgs(1))
	c.RunE = func(c *cobra.Command, args []string) error {
		for _, name := range args {
			b, err := readWhole(c, name, perdure.Limits{Bytes: maxLode})
			if err != nil {
				return err
			}
			h, err := schema.Fingerprint(b)
			if err != nil {
				return fmt.Errorf("fingerprint %s: %w", name, err)
			}
			if jsonFlag(c) {
				err = printJSON(c.OutOrStdout(), struct {
					Name        string      `json:"name"`
					Fingerprint schema.Hash `json:"fingerprint"`
				}{name, h})
			} else {
				_, err = fmt.Fprintf(c.OutOrStdout(), "%s  %s\n", h, name)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return c
}
