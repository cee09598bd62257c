package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func inboxCommand() *cobra.Command {
	c := remotely(command("inbox", cobra.NoArgs))
	h, out := lookFlag(c), outputFlags(c)
	brief := c.Flags().Bool("brief", false, "one line per item, cut to fit")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if r, on, err := through(c, out); on {
			if err != nil {
				return err
			}
			return r.inbox(*brief)
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			found, faults, err := h.Inbox(ctx, s, time.Now())
			if err != nil {
				return err
			}
			values := make([]any, len(found))
			for i := range found {
				typed(&found[i])
				values[i] = found[i]
			}
			err = list(out, values, func(w io.Writer) error {
				if len(found) == 0 && faults == nil {
					note(h.c, "nothing is waiting for a person")
				}
				return term.WriteWaits(w, found, time.Now(), *brief)
			})
			return errors.Join(err, faults)
		})
	}
	return c
}

// typed has what waits name the commands that answer it as they are typed here.
func typed(w *view.Wait) { w.Type(here) }
