package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

func keyRotateCommand() *cobra.Command {
	c := command("key rotate", cobra.NoArgs)
	h, out := storeFlag(c), outputFlags(c)
	name := c.Flags().String("name", "", "the name of the new key (default: that of the old one)")
	resume := c.Flags().Bool("resume", false, "create no key: hand over what still belongs to an earlier one")
	force := c.Flags().Bool("force", false, "use the new key even if some agents could not be handed over")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if _, err := h.KeyPath(); err != nil {
			return err
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			r, err := h.Rotate(ctx, s, *name, *resume, *force)
			if r == nil {
				return err
			}
			return errors.Join(err, out.say(r, "%s\n", r.Said("handed over to "+r.Text, "handed over to "+r.Text)))
		})
	}
	return c
}

func keyRevokeCommand() *cobra.Command {
	c := command("key revoke", cobra.ExactArgs(1))
	h, out := storeFlag(c), outputFlags(c)
	comment := c.Flags().String("comment", "", "a comment for the trust file")
	c.RunE = func(c *cobra.Command, args []string) error {
		who, err := home.TrusteeOf(args[0], "", "", *comment, true)
		if err != nil {
			return perdure.Invalid(err)
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			r, err := h.Revoke(ctx, s, who, args[0])
			if r == nil {
				return err
			}
			what := " that " + r.Text + " counts no more"
			return errors.Join(err, out.say(r, "%s\n", r.Said("says"+what, "say"+what)))
		})
	}
	return c
}
