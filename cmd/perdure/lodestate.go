package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/schema"
)

func lodeStateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "state [flags] AGENT[@REF]",
		Short: "Print the state of an agent as its schema has it",
		Long: `State prints the variables of an agent as one JSON value of the schema its intent names, which they must fit. They are read as the newest
version of that schema that is known, or as the one --as names; what is recorded stays as it was written.

Schemas are those of the store's folder ` + schemaDir + `/ and those of -s.`,
		Example: `  perdure lode state shop
  perdure lode state shop@12 -s ticket-v3.lode --as 1`,
		Args:        cobra.ExactArgs(1),
		Annotations: lodeExits,
	}
	h := lookFlag(c)
	c.ValidArgsFunction = agentArg(h)
	names := schemasFlag(c)
	as := c.Flags().String("as", "latest", "the version to read it as")
	c.RunE = func(c *cobra.Command, args []string) error {
		return h.useFor(args[0], func(ctx context.Context, s perdure.Store, arg string) error {
			at, err := findPoint(ctx, h, s, arg)
			if err != nil {
				return err
			}
			reg, err := h.schemas()
			if err == nil {
				err = addSchemas(c, reg, *names)
			}
			if err != nil {
				return err
			}
			text, err := stateText(c, reg, at.agent.Fold(), *as)
			if err != nil {
				return fmt.Errorf("state of %s: %w", called(at.agent), err)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "%s\n", text)
			return err
		})
	}
	return c
}

// stateText is the state of an agent as JSON, in a version of its schema.
func stateText(c *cobra.Command, reg *schema.Registry, f *perdure.Fold, as string) ([]byte, error) {
	if f.Intent.StateSchema.IsZero() {
		return nil, missing("its intent names no schema; see perdure state")
	}
	s, err := reg.Lookup(schema.Hash(f.Intent.StateSchema))
	if err == nil {
		s, err = versionOf(c, reg, s, as)
	}
	if err != nil {
		return nil, err
	}
	value, err := reg.StateAs(f.Intent.StateSchema, f.Vars, s)
	if err != nil {
		return nil, err
	}
	return s.ToJSON(value)
}
