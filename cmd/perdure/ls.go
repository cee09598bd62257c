package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
)

func lsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "ls [flags]",
		Short: "List agents",
		Long: `Ls lists the agents of a store by name. Filters narrow it; all of them must hold. What it prints is an index: perdure show
derives the same from the agent's own memory.`,
		Example: `  perdure ls
  perdure ls --state dormant --scope acme/ops --since 24h
  perdure ls --name 'news*' --label team=ops -o jsonl --jq .agent`,
		Args:        cobra.NoArgs,
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitInterrupted),
	}
	h, out := lookFlag(c), outputFlags(c)
	filter := filterFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		f, err := filter(time.Now())
		if err != nil {
			return misuse(c, err)
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			l, err := lister(s)
			if err != nil {
				return err
			}
			var found []listed
			var values []any
			for one, err := range l.List(ctx, f) {
				if err != nil {
					return err
				}
				d, err := perdure.DepthOf(ctx, s, one.Agent)
				if err != nil {
					return err
				}
				found, values = append(found, listed{one, d.String()}), append(values, listed{one, d.String()})
			}
			return out.list(values, func(w io.Writer) error { return listings(w, found, time.Now()) })
		})
	}
	return c
}

// filterFlags adds the flags that select agents.
func filterFlags(c *cobra.Command) func(now time.Time) (perdure.Filter, error) {
	fl := c.Flags()
	states := fl.StringSlice("state", nil, "only those in this state; may be repeated")
	kind := fl.String("kind", "", "only those of this kind")
	scope := fl.String("scope", "", "only those in this scope or below")
	labels := fl.StringToString("label", nil, "only those with this label, name=value; may be repeated")
	name := fl.String("name", "", "only those of this name; * and ? stand for others")
	since := fl.String("since", "", "only those with an entry since then: a time, or a duration ago")
	limit := fl.Int("limit", 0, "list at most so many (default all)")
	_ = c.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(perdure.State(0).CanonNames()[1:], cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	return func(now time.Time) (perdure.Filter, error) {
		f := perdure.Filter{Name: *name, Kind: *kind, Scope: *scope, Labels: *labels, Limit: *limit}
		if *limit < 0 {
			return f, fmt.Errorf("--limit %d: want 0 or more", *limit)
		}
		for _, word := range *states {
			s, err := perdure.ParseState(word)
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
			at, err := parseMoment(*since, now)
			if err != nil {
				return f, fmt.Errorf("--since: %w", err)
			}
			f.Since = perdure.TimeOf(at)
		}
		return f, nil
	}
}

// listed is an agent as one line, and how much of its memory is here.
type listed struct {
	perdure.Listing
	Depth string `json:"depth"`
}

// listings prints agents as a table. Depths have a column where some memory is not whole.
func listings(w io.Writer, found []listed, now time.Time) error {
	s := styleOf(w)
	t := table{head: []string{"NAME", "ID", "STATE", "SCOPE", "ENTRIES", "UPDATED", "NEXT"}, tint: []func(string) string{nil, s.dim, s.state}}
	parts := slices.ContainsFunc(found, func(l listed) bool { return l.Depth != perdure.Full.String() })
	if parts {
		t.head = append(t.head, "DEPTH")
	}
	for _, l := range found {
		cells := []string{oneLine(l.Name, 40), l.Agent.Short(), l.State.String(), l.Scope, strconv.FormatInt(l.Entries, 10), ago(l.Updated, now), next(l.Listing, now)}
		if parts {
			cells = append(cells, l.Depth)
		}
		t.add(cells...)
	}
	return t.write(w)
}

// next is when a node looks at the agent, for people.
func next(l perdure.Listing, now time.Time) string {
	switch {
	case l.State == perdure.Terminated:
		return "-"
	case l.Due == 0:
		return "on an event"
	case !l.Due.Go().After(now):
		return "now"
	}
	return "in " + span(l.Due.Go().Sub(now))
}
