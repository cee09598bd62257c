package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func tailCommand() *cobra.Command {
	c := command("tail", nil)
	c.Annotations[everyArgKey] = "all"
	h, out := lookFlag(c), outputFlags(c)
	t := &tailed{out: out, chosen: chosenFlags(c)}
	all := c.Flags().Bool("all", false, "follow every agent of the store")
	c.Flags().IntVarP(&t.last, "lines", "n", 10, "how many past lines to show per agent")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := t.prepare(c, args, *all); err != nil {
			return err
		}
		if *all {
			return h.use(false, t.everyone)
		}
		if len(args) == 1 {
			return h.useFor(args[0], func(ctx context.Context, s perdure.Store, arg string) error { return t.named(ctx, s, []string{arg}) })
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error { return t.named(ctx, s, args) })
	}
	return c
}

// tailed is one run of tail.
type tailed struct {
	*chosen
	out    *output
	last   int
	format string
	many   bool // lines begin with the agent's name
	width  int  // of the names

	names map[string]perdure.AgentID // who was called so first
}

// meet gives a follower the name of its agent, and the beginning of its id too if another agent was called so first:
// otherwise what one does would look like what the other does.
func (t *tailed) meet(w *view.Follower, a *perdure.Agent) {
	w.Name, w.Label = view.NameOrID(a), view.Called(a)
	if first, known := t.names[w.Label]; known && first != w.ID {
		w.Label += "~" + w.ID.Short()
	} else if !known {
		if t.names == nil {
			t.names = map[string]perdure.AgentID{}
		}
		t.names[w.Label] = w.ID
	}
	t.width = max(t.width, utf8.RuneCountInString(w.Label))
}

// agentLine is a line, and of which agent it is.
type agentLine struct {
	Agent perdure.AgentID `json:"agent"`
	Name  string          `json:"name,omitempty"`
	view.Line
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
	return t.parse(c)
}

// named follows agents by name.
func (t *tailed) named(ctx context.Context, s perdure.Store, args []string) error {
	var followed []*view.Follower
	past := map[*view.Follower][]view.Line{}
	known := map[perdure.AgentID]bool{}
	for _, arg := range args {
		id, err := home.Find(ctx, s, arg)
		if err != nil {
			return err
		}
		if known[id] {
			continue
		}
		known[id] = true
		a, err := perdure.Load(ctx, s, id)
		if err != nil {
			return err
		}
		w, found, err := view.FollowRecent(ctx, s, id, t.last, view.Fitting(t.fits))
		if err != nil {
			return err
		}
		t.meet(w, a)
		followed, past[w] = append(followed, w), found
	}
	for _, w := range followed {
		for _, one := range past[w] {
			if err := t.show(w, one); err != nil {
				return err
			}
		}
	}
	return view.Live(ctx, s, followed, t.show)
}

// show prints a line that fits.
func (t *tailed) show(w *view.Follower, one view.Line) error {
	if !t.fits(one) {
		return nil
	}
	v := agentLine{Agent: w.ID, Line: one}
	if w.Name != w.ID.Short() {
		v.Name = w.Name
	}
	return t.out.line(t.format, v, func(s term.Style) string {
		if !t.many {
			return lineText(one, s)
		}
		pad := strings.Repeat(" ", max(0, t.width-utf8.RuneCountInString(w.Label))+1)
		return lineAfter(one, s, s.Head(w.Label)+pad, utf8.RuneCountInString(w.Label)+len(pad))
	})
}

// everyone follows every agent of the store, from now on. What was there before is known by its heads, so that an agent is read only when
// it changes.
func (t *tailed) everyone(ctx context.Context, s perdure.Store) error {
	changed := view.Watch(ctx, s)
	before := map[perdure.AgentID][]perdure.Hash{}
	followed, leftOut := map[perdure.AgentID]*view.Follower{}, map[perdure.AgentID]bool{}
	l, err := view.Lister(s)
	if err != nil {
		return err
	}
	for one, err := range l.List(ctx, perdure.Filter{}) {
		if err != nil {
			return err
		}
		heads, err := s.Heads(ctx, one.Agent)
		if err != nil {
			return err
		}
		before[one.Agent] = heads
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed.Signal:
		}
		ids, all := changed.Take()
		delete(ids, perdure.AgentID{})
		if all {
			for one, err := range l.List(ctx, perdure.Filter{}) {
				if err != nil {
					return err
				}
				ids[one.Agent] = struct{}{}
			}
		}
		for id := range ids {
			w := followed[id]
			if w == nil {
				w, err = t.begin(ctx, s, id, before[id])
				if errors.Is(err, perdure.ErrRejected) { // one whose memory cannot be read hides no other
					if !leftOut[id] {
						note(t.out.c, "%s is left out: %v", id.Short(), err)
					}
					leftOut[id] = true
					continue
				}
				if err != nil {
					return err
				}
				if w == nil {
					continue
				}
				followed[id] = w
				delete(before, id)
			}
			if err := w.Next(ctx, func(one view.Line) error { return t.show(w, one) }); err != nil {
				return err
			}
		}
	}
}

// begin is a follower of an agent behind the heads it had, or nil if it still has those.
func (t *tailed) begin(ctx context.Context, s perdure.Store, id perdure.AgentID, heads []perdure.Hash) (*view.Follower, error) {
	now, err := s.Heads(ctx, id)
	if err != nil || slices.Equal(now, heads) {
		return nil, err
	}
	a, err := perdure.Load(ctx, s, id)
	if err != nil {
		return nil, err
	}
	w, err := view.FollowAfter(ctx, s, id, heads)
	if err != nil {
		return nil, err
	}
	t.meet(w, a)
	return w, nil
}
