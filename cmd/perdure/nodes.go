package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func nodesCommand() *cobra.Command {
	c := command("nodes", cobra.MaximumNArgs(1))
	h, out := storeFlag(c).acting(), outputFlags(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			n, err := h.Node(ctx, s)
			if err != nil {
				return err
			}
			agent := ""
			if len(args) > 0 {
				agent = args[0]
			}
			all, err := h.Nodes(ctx, &home.Desk{Home: h.Home, Store: s, Node: n}, agent)
			if err != nil {
				return err
			}
			return list(out, all, func(w io.Writer) error { return nodesText(w, all, agent != "", time.Now()) })
		})
	}
	return c
}

// nodesText prints nodes as a table.
func nodesText(w io.Writer, all []home.KnownNode, agent bool, now time.Time) error {
	s := term.StyleOf(w)
	t := term.Table{Head: []string{"NAME", "WHERE", "KEY", "MET", "ADVISORS", "TOOLS"},
		Tint: []func(string) string{nil, nil, s.Dim}}
	if agent {
		t.Head = []string{"NAME", "WHERE", "KEY", "MET", "HAS", "SEAT"}
	}
	for i := range all {
		n := &all[i]
		key, met, advisors, tools := "-", "-", "-", "-"
		if n.About != nil {
			key = n.About.Key.Short()
			advisors, tools = words(n.About.Advisors), words(n.About.Tools)
		}
		switch {
		case n.Self:
			met = "this one"
		case n.Standing != nil && n.Fault != "":
			met = view.OneLine(n.Fault, 60)
		case n.Standing != nil && n.Met != 0:
			met = view.Moment(n.Met, now)
		}
		row := []string{view.InLine(n.Name), view.InLine(n.Where), key, met, advisors, tools}
		if agent {
			row[4], row[5] = hasText(n.Agent)
		}
		t.Add(row...)
	}
	return t.Write(w)
}

// words are names for people; that of agents which name none is default.
func words(names []string) string {
	if len(names) == 0 {
		return "-"
	}
	shown := make([]string, len(names))
	for i, name := range names {
		if shown[i] = view.InLine(name); name == "" {
			shown[i] = "default"
		}
	}
	return strings.Join(shown, " ")
}

// hasText is what a place has of an agent.
func hasText(a *home.AgentThere) (has, seat string) {
	switch {
	case a == nil || a.Fault != "":
		has = "unknown"
	case !a.Has:
		has = "nothing"
	case a.Same:
		has = "the same"
	default:
		has = "another state"
	}
	if seat = "-"; a != nil && a.Seat {
		seat = "here"
	}
	return has, seat
}
