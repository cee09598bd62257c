package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

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
			if find := p.ToolsInto(&found, h.Home); agent == "" {
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
