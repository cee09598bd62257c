package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

func showCommand() *cobra.Command {
	c := command("show", cobra.ExactArgs(1))
	h, out := lookFlag(c), outputFlags(c)
	brief := c.Flags().Bool("brief", false, "cut lines to fit")
	c.RunE = func(c *cobra.Command, args []string) error {
		return h.useFor(args[0], func(ctx context.Context, s perdure.Store, arg string) error {
			p, err := home.FindPoint(ctx, h.Home, s, arg)
			if err != nil {
				return err
			}
			v, now, err := h.Summary(ctx, s, p)
			if err != nil {
				return err
			}
			return out.print(v, func(w io.Writer) error { return writeSummary(w, &v, now, *brief) })
		})
	}
	return c
}
