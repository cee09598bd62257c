package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

func showCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "show [flags] AGENT[@REF]",
		Short: "Show an agent on one screen",
		Long: `Show prints an agent's goal and standing, why it sleeps and what would wake it, which nodes can continue it,
what it has spent, its children, what it asks people and how to answer, effects under way, and whether its
memory is consistent. All of it is derived from the agent's own memory.`,
		Example: `  perdure show news
  perdure show news --jq .why
  perdure show news@10m`,
		Args:        cobra.ExactArgs(1),
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitRejected, exitInterrupted),
	}
	h, out := lookFlag(c), outputFlags(c)
	c.ValidArgsFunction = agentArg(h)
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
