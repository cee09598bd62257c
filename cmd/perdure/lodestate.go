package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/schema"
	"github.com/perdure/perdure/view"
)

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
		return h.useFor(args[0], func(ctx context.Context, s perdure.Store, arg string) error {
			at, err := home.FindPoint(ctx, h.Home, s, arg)
			if err != nil {
				return err
			}
			reg, err := h.Schemas()
			if err == nil {
				err = addSchemas(c, reg, *names)
			}
			if err != nil {
				return err
			}
			typed, value, err := stateValue(c, reg, at.Agent.Fold(), *as)
			if err != nil {
				return fmt.Errorf("state of %s: %w", view.Called(at.Agent), err)
			}
			if *file != "" {
				b, err := schema.Pack(typed, value, schema.Options{Embed: true, Parent: parent})
				if err != nil {
					return fmt.Errorf("state of %s: %w", view.Called(at.Agent), err)
				}
				return writeVein(c, *file, b)
			}
			text, err := typed.ToJSON(value)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", text)
			return err
		})
	}
	return c
}

// stateValue is the state of an agent as a value of its schema, in one of its versions.
func stateValue(c *cobra.Command, reg *schema.Registry, f *perdure.Fold, as string) (*schema.Schema, []byte, error) {
	if f.Intent.StateSchema.IsZero() {
		return nil, nil, perdure.Missing("its intent names no schema; see perdure state")
	}
	s, err := reg.Lookup(schema.Hash(f.Intent.StateSchema))
	if err == nil {
		s, err = versionOf(c, reg, s, as)
	}
	if err != nil {
		return nil, nil, err
	}
	value, err := reg.StateAs(f.Intent.StateSchema, f.Vars, s)
	return s, value, err
}
