package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func tailCommand() *cobra.Command {
	c := remotely(command("tail", nil))
	c.Annotations[everyArgKey] = "all"
	h, out := lookFlag(c), outputFlags(c)
	t := &tailed{out: out, chosen: chosenFlags(c)}
	all := c.Flags().Bool("all", false, "follow every agent of the store")
	c.Flags().IntVarP(&t.last, "lines", "n", 10, "how many past lines to show per agent")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := t.prepare(c, args, *all); err != nil {
			return err
		}
		if r, err := through(c); err != nil || r != nil {
			if err != nil {
				return err
			}
			return t.away(r, args)
		}
		if *all {
			return h.use(false, func(ctx context.Context, s perdure.Store) error { return t.on(h, s).Everyone(ctx) })
		}
		if len(args) == 1 {
			return h.useFor(args[0], func(ctx context.Context, s perdure.Store, arg string) error {
				return t.named(ctx, h, s, []string{arg})
			})
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error { return t.named(ctx, h, s, args) })
	}
	return c
}

// tailed is the flags of tail, and how its lines are printed.
type tailed struct {
	*chosen
	out    *output
	last   int
	format string
	many   bool // lines begin with the agent's name
	width  int  // of the names
}

// prepare checks the flags.
func (t *tailed) prepare(c *cobra.Command, args []string, all bool) error {
	format, err := t.out.check()
	if err == nil {
		t.format, err = lineFormat(c, format)
	}
	if err != nil {
		return err
	}
	switch {
	case all && len(args) > 0:
		return perdure.Invalid(errors.New("--all follows every agent; leave the names out, or --all"))
	case !all && len(args) == 0:
		return perdure.Invalid(errors.New("name the agents to follow, or follow every one with --all"))
	case all && c.Flags().Changed("lines"):
		return perdure.Invalid(errors.New("--all begins now; leave -n out, or name the agents"))
	case t.last < 0:
		return perdure.Invalid(errors.New("-n: want 0 or more"))
	}
	for _, arg := range args {
		if len(args) > 1 && view.IsPath(arg) {
			return perdure.Invalid(fmt.Errorf("%s is a file, a store of its own; follow it alone", arg))
		}
	}
	t.many = all || len(args) > 1
	return t.parse()
}

// on is what follows the agents of a store.
func (t *tailed) on(h *homeFlag, s perdure.Store) *view.Tail {
	put := func(w *view.Follower, one view.Line) error { return t.line(w.Label, w.AgentLine(one), one) }
	return &view.Tail{Store: s, Choice: t.Choice, Show: put, Ended: h.Ended, Skip: func(id perdure.AgentID, err error) {
		note(t.out.c, "%s is left out: %v", id.Short(), err)
	}}
}

// named follows agents by name.
func (t *tailed) named(ctx context.Context, h *homeFlag, s perdure.Store, args []string) error {
	ids, err := h.IDs(ctx, s, args...)
	if err != nil {
		return err
	}
	if err := noteUnattended(ctx, t.out.c, s, ids...); err != nil {
		return err
	}
	return t.on(h, s).Agents(ctx, ids, t.last, func(all []*view.Follower) {
		for _, w := range all {
			t.width = max(t.width, utf8.RuneCountInString(w.Label))
		}
	})
}

// line prints a line of an agent that is called so, or the value of it.
func (t *tailed) line(label string, value any, one view.Line) error {
	t.width = max(t.width, utf8.RuneCountInString(label))
	return t.out.line(t.format, value, func(s term.Style) string {
		if !t.many {
			return term.Line(one, s)
		}
		pad := strings.Repeat(" ", t.width-utf8.RuneCountInString(label)+1)
		return term.LineAfter(one, s, s.Head(label)+pad, t.width+1)
	})
}

// noteUnattended says of agents that there is something to do for them that nobody does: whoever follows them would
// wait for nothing.
func noteUnattended(ctx context.Context, c *cobra.Command, s perdure.Store, ids ...perdure.AgentID) error {
	left, err := view.Unattended(ctx, s, ids...)
	for _, a := range left {
		note(c, "nobody runs %s now: perdure run %s does, or perdure node", view.Called(a), view.Callable(a))
	}
	return err
}
