package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func inboxCommand() *cobra.Command {
	c := command("inbox", cobra.NoArgs)
	h, out := lookFlag(c), outputFlags(c)
	brief := c.Flags().Bool("brief", false, "one line per item, cut to fit")
	c.RunE = func(*cobra.Command, []string) error {
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
				return writeInbox(w, found, time.Now(), *brief)
			})
			return errors.Join(err, faults)
		})
	}
	return c
}

// typed has what waits name the commands that answer it as they are typed here.
func typed(w *view.Wait) {
	if w.Answer = here(w.Answer); w.Kind == view.WaitHeld {
		w.What = here(w.What)
	}
}

// writeInbox prints it for people: what is asked, the action as far as a list has room for it, who is asked and until
// when, and then how to answer.
func writeInbox(w io.Writer, found []view.Wait, now time.Time, brief bool) error {
	s, width := term.StyleOf(w), term.WidthOf(w)
	for i := range found {
		one := &found[i]
		name := one.Name
		if name == "" {
			name = one.Agent.Short()
		}
		what := view.OneLine(one.Head(), 0)
		if brief {
			what = view.OneLine(one.What, view.LineWidth)
		}
		var b strings.Builder
		shown := view.ShownName(name)
		b.WriteString(term.Folded(s.Head(shown)+"  "+s.Warn(one.Kind)+"  ", term.Columns(shown)+2+len(one.Kind)+2, what+", "+view.Ago(one.Since, now), width))
		row := func(text string) { b.WriteString(term.Wrapped("    ", text, width, s.Dim)) }
		if one.Action != nil && !brief {
			row("agent " + one.Agent.String()) // two names can look alike
		}
		for _, r := range one.Sheet(now) {
			if brief {
				break
			}
			for _, text := range r.Text {
				row(strings.TrimSpace(r.Label + " " + text))
			}
		}
		if brief {
			row(one.Circumstances(now))
		}
		if one.Answer == "" {
			row(one.Others)
		} else {
			b.WriteString("    " + s.Dim(one.Answer) + "\n") // never broken: it is there to be copied
		}
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
	}
	return nil
}
