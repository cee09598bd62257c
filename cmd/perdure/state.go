package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func stateCommand() *cobra.Command {
	c := remotely(command("state", cobra.ExactArgs(1)))
	h, out := lookFlag(c), outputFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		agents, err := agentsOf(h)
		if err != nil {
			return err
		}
		v, err := agents.State(c.Context(), args[0])
		if err != nil {
			return err
		}
		return out.print(v, func(w io.Writer) error { return writeValue(w, formatYAML, view.ReadableBriefly(v)) })
	}
	return c
}

func diffCommand() *cobra.Command {
	c := remotely(command("diff", cobra.ExactArgs(2)))
	c.Annotations[everyArgKey] = "all"
	h, out := lookFlag(c), outputFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		agents, err := agentsOf(h)
		if err != nil {
			return err
		}
		d, err := agents.Diff(c.Context(), args[0], args[1])
		if err != nil {
			return err
		}
		return list(out, d.Changes, func(w io.Writer) error { return term.WriteChanges(w, d.From, d.To, d.Changes) })
	}
	return c
}
