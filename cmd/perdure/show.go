package main

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/view"
)

func showCommand() *cobra.Command {
	c := remotely(command("show", cobra.ExactArgs(1)))
	h, out := lookFlag(c), outputFlags(c)
	brief := c.Flags().Bool("brief", false, "cut lines to fit")
	c.RunE = func(c *cobra.Command, args []string) error {
		if r, on, err := through(c, out); on {
			if err != nil {
				return err
			}
			return r.show(args[0], *brief)
		}
		return h.point(args[0], func(ctx context.Context, s perdure.Store, p *home.Point) error {
			v, now, err := h.Summary(ctx, s, p)
			if err != nil {
				return err
			}
			for i := range v.Waits {
				typed(&v.Waits[i])
			}
			return out.print(v, func(w io.Writer) error { return writeSummary(w, &v, now, *brief) })
		})
	}
	return c
}

// writeSummary prints the summary for people.
func writeSummary(w io.Writer, v *view.Summary, now time.Time, brief bool) error {
	return writeSummaryRows(w, v.Page(now, brief))
}

// writeSummaryRows prints the rows of a summary.
func writeSummaryRows(w io.Writer, rows []view.PageRow) error { return show.Summary(w, rows, here) }
