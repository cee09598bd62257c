package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

func editCommand() *cobra.Command {
	c := command("edit", cobra.ExactArgs(1))
	t := newTeller(c, "why; the advisor is shown it")
	e := editFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		m, set, err := e.change(c, time.Now())
		if err != nil {
			return perdure.Invalid(err)
		}
		m.Note = *t.note
		return t.tell(args[0], home.Edit{Mutate: m, Set: set, Deadline: *e.deadline, Limits: e.budget(c)})
	}
	return c
}

// edits are the flags of a change.
type edits struct {
	goal, kind, inputs, scope, deadline, cost *string
	tokens, calls, depth                      *int64
	labels                                    *map[string]string
	tools, set                                *[]string
}

func editFlags(c *cobra.Command) *edits {
	f := c.Flags()
	labels := &map[string]string{}
	f.Var((*pairs)(labels), "label", "a label, name=value, or name= to remove it; may be repeated")
	return &edits{
		goal:     f.String("goal", "", "its new goal"),
		kind:     f.String("kind", "", "its new kind"),
		inputs:   f.String("inputs", "", "its inputs: JSON, - for standard input, or @FILE"),
		scope:    f.String("scope", "", "a scope inside the one it has"),
		deadline: f.String("deadline", "", "an earlier deadline: a time, or a duration from now"),
		cost:     f.String("budget-cost", "", "the most it may spend in US dollars, at most the current limit"),
		tokens:   f.Int64("budget-tokens", 0, "the most model tokens it may use, at most the current limit"),
		calls:    f.Int64("budget-calls", 0, "the most tool calls it may make, at most the current limit"),
		depth:    f.Int64("depth", 0, "how many generations it may delegate to, at most the current limit"),
		labels:   labels,
		tools:    f.StringSlice("tool", nil, "a tool it keeps; may be repeated, all others are removed"),
		set: f.StringArray("set", nil,
			"a value of its state, name=JSON, or name=null to remove it; may be repeated"),
	}
}

// change is what the flags ask for.
func (e *edits) change(c *cobra.Command, now time.Time) (perdure.Mutate, map[string]perdure.Data, error) {
	var m perdure.Mutate
	given := c.Flags().Changed
	for name, to := range map[string]struct {
		from *string
		to   **string
	}{"goal": {e.goal, &m.Goal}, "kind": {e.kind, &m.Kind}, "scope": {e.scope, &m.Scope}} {
		if given(name) {
			*to.to = to.from
		}
	}
	if given("depth") {
		m.Depth = e.depth
	}
	if given("tool") {
		m.Tools = append([]string{}, *e.tools...)
		slices.Sort(m.Tools)
		m.Tools = slices.Compact(m.Tools)
	}
	if given("label") {
		m.Labels = *e.labels
	}
	var err error
	if m.Inputs, err = dataArg(c, *e.inputs); err != nil {
		return m, nil, err
	}
	if m.Deadline, err = home.ParseDeadline(*e.deadline, now); err != nil {
		return m, nil, fmt.Errorf("--deadline: %w", err)
	}
	b := e.budget(c)
	if m.Budget, err = b.Budget(); err != nil {
		return m, nil, err
	}
	set, err := home.Assignments(*e.set)
	return m, set, err
}

// budget is the limits that the flags name.
func (e *edits) budget(c *cobra.Command) home.BudgetFile {
	b := home.BudgetFile{Cost: *e.cost}
	if c.Flags().Changed("budget-tokens") {
		b.Tokens = e.tokens
	}
	if c.Flags().Changed("budget-calls") {
		b.Calls = e.calls
	}
	return b
}
