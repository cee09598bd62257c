package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func stateCommand() *cobra.Command {
	c := remotely(command("state", cobra.ExactArgs(1)))
	h, out := lookFlag(c), outputFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if r, on, err := through(c, out); on {
			if err != nil {
				return err
			}
			return r.state(args[0])
		}
		return h.point(args[0], func(ctx context.Context, s perdure.Store, p *home.Point) error {
			f := p.Agent.Fold()
			return out.print(f, func(w io.Writer) error { return writeValue(w, formatYAML, view.Readable(f)) })
		})
	}
	return c
}

func diffCommand() *cobra.Command {
	c := remotely(command("diff", cobra.ExactArgs(2)))
	c.Annotations[everyArgKey] = "all"
	h, out := lookFlag(c), outputFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if r, on, err := through(c, out); on {
			if err != nil {
				return err
			}
			return r.diff(args[0], args[1])
		}
		from, err := pointOf(c, h, args[0])
		if err != nil {
			return err
		}
		to, err := pointOf(c, h, args[1])
		if err != nil {
			return err
		}
		found := view.Compare(view.Readable(from.Agent.Fold()), view.Readable(to.Agent.Fold()))
		return list(out, found, func(w io.Writer) error { return writeChanges(w, from.Name(), to.Name(), found) })
	}
	return c
}

// pointOf is the point in memory an argument means, in the store or in a file.
func pointOf(c *cobra.Command, h *homeFlag, arg string) (p *home.Point, err error) {
	err = h.point(arg, func(_ context.Context, _ perdure.Store, at *home.Point) error {
		p = at
		return nil
	})
	return p, err
}

// writeChanges prints differences for people.
func writeChanges(w io.Writer, from, to string, found []view.Change) error {
	s := term.StyleOf(w)
	if _, err := fmt.Fprintf(w, "%s\n%s\n", s.Bad("--- "+view.InLine(from)),
		s.Good("+++ "+view.InLine(to))); err != nil {
		return err
	}
	for _, c := range found {
		for _, side := range []struct {
			mark  string
			tint  func(string) string
			value any
		}{{"-", s.Bad, c.From}, {"+", s.Good, c.To}} {
			if side.value == nil {
				continue
			}
			b, err := json.Marshal(side.value)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(w, side.tint(side.mark+" "+view.InLine(c.Path)+": "+
				view.InLine(string(b)))); err != nil {
				return err
			}
		}
	}
	return nil
}
