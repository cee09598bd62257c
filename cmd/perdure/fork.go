package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
)

func forkCommand() *cobra.Command {
	c := remotely(command("fork", cobra.ExactArgs(1)))
	h, out := storeFlag(c).acting(), outputFlags(c)
	var f home.Fork
	c.Flags().StringVar(&f.Goal, "goal", "", "another goal")
	c.Flags().StringVar(&f.Name, "name", "", "what to call it (default: the other's name and a number)")
	file := c.Flags().String("intent", "", "an intent file to put over its intent; - is standard input")
	c.Flags().BoolVar(&f.Live, "live", false, "let it act, not only rehearse")
	c.Flags().BoolVar(&f.Dry, "dry-run", false, "create nothing; list what is not undone")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *file != "" {
			over, err := readIntent(c, *file)
			if err != nil {
				return err
			}
			f.Over = &over
		}
		agents, err := agentsOf(h, args[0])
		if err != nil {
			return err
		}
		r, err := agents.Fork(c.Context(), args[0], f)
		if err != nil {
			return err
		}
		return out.print(r, func(w io.Writer) error { return show.Forked(w, r, here) })
	}
	return c
}
