package main

import (
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func inboxCommand() *cobra.Command {
	c := remotely(command("inbox", cobra.NoArgs))
	h, out := lookFlag(c), outputFlags(c)
	brief := c.Flags().Bool("brief", false, "one line per item, cut to fit")
	c.RunE = func(c *cobra.Command, _ []string) error {
		agents, err := agentsOf(h)
		if err != nil {
			return err
		}
		found, faults, err := agents.Inbox(c.Context())
		if err != nil {
			return err
		}
		for i := range found {
			typed(&found[i])
		}
		return errors.Join(list(out, found, func(w io.Writer) error {
			if len(found) == 0 && faults == nil {
				note(h.c, "nothing is waiting for a person")
			}
			return term.WriteWaits(w, found, time.Now(), *brief)
		}), faults)
	}
	return c
}

// typed has what waits name the commands that answer it as they are typed here.
func typed(w *view.Wait) { w.Type(here) }
