package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
)

func showCommand() *cobra.Command {
	c := remotely(command("show", cobra.ExactArgs(1)))
	h, out := lookFlag(c), outputFlags(c)
	brief := c.Flags().Bool("brief", false, "cut lines to fit")
	c.RunE = func(c *cobra.Command, args []string) error {
		agents, err := agentsOf(h)
		if err != nil {
			return err
		}
		format, err := out.check()
		if err != nil {
			return err
		}
		v, err := agents.Show(c.Context(), args[0], home.Screen{Rows: format == formatTable, Brief: *brief})
		if err != nil {
			return err
		}
		for i := range v.Waits {
			typed(&v.Waits[i])
		}
		return out.print(v, func(w io.Writer) error { return show.Summary(w, v.Page(), here) })
	}
	return c
}
