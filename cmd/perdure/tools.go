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
		list := func(agent string) (found []home.ToolUse, err error) {
			if r != nil {
				return r.Tools(c.Context(), agent)
			}
			find := func(ctx context.Context, s perdure.Store, a *perdure.Agent) (err error) {
				found, err = p.ListTools(ctx, h.Home, s, a)
				return err
			}
			if agent == "" {
				err = h.UseNew(c.Context(), find)
			} else {
				err = h.agent(agent, find)
			}
			return found, err
		}
		return answers(out, text)(home.ToolsOf(strings.Join(args, ""), list))
	}
	return c
}
