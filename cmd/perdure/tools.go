package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
)

func toolsCommand() *cobra.Command {
	c := remotely(command("tools", cobra.MaximumNArgs(1)))
	h, out := lookFlag(c).acting(), outputFlags(c)
	p := powerFlags(c)
	brief := c.Flags().Bool("brief", false, "one line per tool")
	c.RunE = func(c *cobra.Command, args []string) error {
		r, err := through(c)
		if err != nil {
			return err
		}
		text := func(w io.Writer, found []home.ToolUse) error { return show.Tools(w, found, *brief) }
		find := func(ctx context.Context, s perdure.Store, a *perdure.Agent) error {
			return answers(out, text)(p.ListTools(ctx, h.Home, s, a))
		}
		switch {
		case r != nil:
			return answers(out, text)(r.Tools(c.Context(), strings.Join(args, "")))
		case len(args) > 0:
			return h.agent(args[0], find)
		}
		return h.UseNew(c.Context(), find)
	}
	return c
}
