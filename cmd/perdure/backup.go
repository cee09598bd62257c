package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

func backupCommand() *cobra.Command {
	c := command("backup", cobra.ExactArgs(1))
	h, out := storeFlag(c), outputFlags(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			b, err := h.Backup(ctx, s, args[0])
			if err != nil {
				return err
			}
			return out.say(b, "%s: %s, %s\n", view.InLine(b.Path), view.Several(b.Agents, "agent"),
				view.BytesText(b.Bytes))
		})
	}
	return c
}
