package home

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// Nodes are nodes that a home knows of: each for programs, and all as a table for people, its head first.
type Nodes struct {
	Known []KnownNode `json:"known"`
	Table [][]string  `json:"table"`
}

// nodeTable is nodes as people read them; of an agent, what each has of it.
func nodeTable(all []KnownNode, agent bool, now time.Time) [][]string {
	shared := len(all) > 0 && all[0].Rules != nil
	head := []string{"NAME", "WHERE", "KEY", "MET", "ADVISORS", "TOOLS"}
	switch {
	case agent:
		head = []string{"NAME", "WHERE", "KEY", "MET", "HAS", "SEAT", "ACKNOWLEDGED"}
	case shared:
		head = []string{"NAME", "WHERE", "KEY", "MET", "SCOPES", "POLICY", "RULES", "ADVISORS", "TOOLS"}
	}
	table := [][]string{head}
	for i := range all {
		n := &all[i]
		key, advisors, tools := "-", "-", "-"
		if n.About != nil {
			if !n.About.Key.IsZero() {
				key = n.About.Key.Short()
			}
			advisors, tools = nodeWords(n.About.Advisors), nodeWords(n.About.Tools)
		}
		row := []string{view.InLine(n.Name), cmp.Or(view.InLine(n.Where), "-"), key, lastMet(n, shared, now), advisors,
			tools}
		if agent {
			row[4], row[5] = hasText(n.Agent)
			row = append(row, receiptText(n.Agent, now))
		} else if shared {
			row = append(slices.Concat(row[:4], rulesText(n)), row[4:]...)
		}
		table = append(table, row)
	}
	return table
}

// lastMet is when a node was met last, or why it was not.
func lastMet(n *KnownNode, shared bool, now time.Time) string {
	switch {
	case n.Self && shared:
		return "this home"
	case n.Self:
		return "this one"
	case n.Member != nil && n.Member.Lost:
		return "lost, last seen " + view.Moment(n.Member.Seen, now)
	case n.Member != nil:
		return view.Moment(n.Member.Seen, now)
	case n.Standing != nil && n.Fault != "":
		return view.OneLine(n.Fault, 60)
	case n.Standing != nil && n.Met != 0:
		return view.Moment(n.Met, now)
	}
	return "-"
}

// rulesText is which agents a node works on, its policy, and whether it goes by the rules of this home.
func rulesText(n *KnownNode) []string {
	scopes, policy, same := "-", "-", "-"
	if n.About != nil && !n.Self {
		if scopes = nodeWords(n.About.Scopes); len(n.About.Scopes) == 0 {
			scopes = "any"
		}
	}
	if n.Rules != nil {
		policy, same = n.Rules.Policy.Short(), "the same"
	}
	if n.Member != nil && len(n.Member.Differs) > 0 {
		same = "another " + strings.Join(n.Member.Differs, ", another ")
	}
	return []string{scopes, policy, same}
}

// nodeWords are names for people; that of agents which name none is default.
func nodeWords(names []string) string {
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

// receiptText is what a place has acknowledged of an agent, and when.
func receiptText(a *AgentThere, now time.Time) string {
	if a == nil || a.Receipt == nil || len(a.Receipt.Heads) == 0 {
		return "-"
	}
	return a.Receipt.Heads[0].Short() + " " + view.Moment(perdure.TimeOf(a.Receipt.Time), now)
}

// hasText is what a place has of an agent.
func hasText(a *AgentThere) (has, seat string) {
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
