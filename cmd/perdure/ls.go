package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
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
		if r, on, err := through(c, out); on {
			if err != nil {
				return err
			}
			return r.ls(f)
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			lines, err := h.List(ctx, s, f)
			if err != nil {
				return err
			}
			err = list(out, lines, func(w io.Writer) error { return listings(w, lines, time.Now()) })
			for i := range lines {
				if what, fix := lines[i].Wrong(); what != "" {
					note(c, "%s; %s", what, fix)
				}
			}
			return err
		})
	}
	return c
}

// filterFlags adds the flags that select agents.
func filterFlags(c *cobra.Command) func(now time.Time) (perdure.Filter, error) {
	fl := c.Flags()
	var states []string
	wordsFlag(c, &states, "state", perdure.State(0).CanonNames()[1:], "only those in this state; may be repeated")
	kind := fl.String("kind", "", "only those of this kind")
	scope := fl.String("scope", "", "only those in this scope or below")
	labels := fl.StringToString("label", nil, "only those with this label, name=value; may be repeated")
	name := fl.String("name", "", "only those with this name; * and ? are wildcards")
	since := fl.String("since", "", "only those with an entry since this time, or within this duration")
	limit := fl.Int("limit", 0, "list at most N (default all)")
	return func(now time.Time) (perdure.Filter, error) {
		f := perdure.Filter{Name: *name, Kind: *kind, Scope: *scope, Labels: *labels, Limit: *limit}
		if *limit < 0 {
			return f, fmt.Errorf("--limit %d: want 0 or more", *limit)
		}
		for _, word := range states {
			var s perdure.State
			err := s.UnmarshalText([]byte(word))
			if err == nil && s == 0 {
				err = errors.New("want the name of a state")
			}
			if err != nil {
				return f, fmt.Errorf("--state: %w", err)
			}
			f.States = append(f.States, s)
		}
		if *scope != "" {
			if err := perdure.CheckScope(*scope); err != nil {
				return f, fmt.Errorf("--scope: %w", err)
			}
		}
		if *since != "" {
			at, err := home.ParseMoment(*since, now)
			if err != nil {
				return f, fmt.Errorf("--since: %w", err)
			}
			f.Since = perdure.TimeOf(at)
		}
		return f, nil
	}
}

// listings prints agents as a table. Depths have a column where some memory is not whole.
func listings(w io.Writer, found []home.Listed, now time.Time) error {
	s := term.StyleOf(w)
	t := term.Table{Head: []string{"NAME", "ID", "STANDING", "SCOPE", "ENTRIES", "UPDATED", "NEXT"},
		Tint: []func(string) string{nil, s.Dim, s.State}}
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
