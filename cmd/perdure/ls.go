package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/view"
)

func lsCommand() *cobra.Command {
	c := remotely(command("ls", cobra.NoArgs))
	h, out := lookFlag(c), outputFlags(c)
	filter := filterFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		f, err := filter(time.Now())
		if err != nil {
			return perdure.Invalid(err)
		}
		agents, err := agentsOf(h)
		if err != nil {
			return err
		}
		lines, err := agents.List(c.Context(), f)
		if err != nil {
			return err
		}
		err = list(out, lines, func(w io.Writer) error { return listings(w, lines, time.Now()) })
		for i := range lines {
			if wrong := lines[i].WrongText(); wrong != "" {
				note(c, "%s", wrong)
			}
		}
		return err
	}
	return c
}

// filterFlags adds the flags that select agents.
func filterFlags(c *cobra.Command) func(now time.Time) (perdure.Filter, error) {
	x, f := new(home.Selection), c.Flags()
	wordsFlag(c, &x.States, "state", phase.State(0).CanonNames()[1:], "only those in this state; may be repeated")
	f.StringVar(&x.Kind, "kind", "", "only those of this kind")
	f.StringVar(&x.Scope, "scope", "", "only those in this scope or below")
	f.Var((*pairs)(&x.Labels), "label", "only those with this label, name=value; may be repeated")
	f.StringVar(&x.Name, "name", "", "only those with this name; * and ? are wildcards")
	f.StringVar(&x.Since, "since", "", "only those with an entry since this time, or within this duration")
	f.IntVar(&x.Limit, "limit", 0, "list at most N (default all)")
	return func(now time.Time) (perdure.Filter, error) {
		selected, err := x.Filter(now)
		if err != nil {
			err = fmt.Errorf("--%w", err)
		}
		return selected, err
	}
}

// listings prints agents as a table. Depths have a column where some memory is not whole.
func listings(w io.Writer, found []home.Listed, now time.Time) error {
	s := term.StyleOf(w)
	t := term.Table{Head: []string{"NAME", "ID", "STANDING", "SCOPE", "ENTRIES", "UPDATED", "NEXT"},
		Tint: []func(string) string{nil, s.Dim, s.State}, Whole: "ID",
		Drop: []string{"ENTRIES", "SCOPE", "UPDATED", "DEPTH"}}
	parts := slices.ContainsFunc(found, func(l home.Listed) bool {
		return l.Depth != "" && l.Depth != perdure.Full.String()
	})
	if parts {
		t.Head = append(t.Head, "DEPTH")
	}
	for _, l := range found {
		updated, after := "-", "-"
		if l.Updated != 0 {
			updated, after = view.Ago(l.Updated, now), l.Next(now)
		}
		cells := []string{cmp.Or(view.OneLine(l.Name, 40), "-"), l.Agent.Short(), l.Standing, l.Scope,
			strconv.FormatInt(l.Entries, 10), updated, after}
		if parts {
			cells = append(cells, l.Depth)
		}
		t.Add(cells...)
	}
	return t.Write(w)
}
