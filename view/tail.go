package view

import (
	"context"
	"slices"

	"github.com/perdure/perdure"
)

// Choice is which lines of memories are shown. The zero choice is all of them.
type Choice struct {
	Kinds   []perdure.Kind
	Signals []perdure.Signal
	Tool    string
}

// Fits reports whether a line is chosen.
func (c *Choice) Fits(one Line) bool {
	return (len(c.Kinds) == 0 || slices.Contains(c.Kinds, one.Kind)) &&
		(len(c.Signals) == 0 || slices.Contains(c.Signals, one.Signal)) &&
		(c.Tool == "" || one.Tool == c.Tool)
}

// AgentLine is a line, and of which agent it is.
type AgentLine struct {
	Agent perdure.AgentID `json:"agent"`
	Name  string          `json:"name,omitempty"`
	Line
}

// AgentLine is a line of the agent that is followed.
func (w *Follower) AgentLine(one Line) AgentLine {
	v := AgentLine{Agent: w.ID, Line: one}
	if w.Name != w.ID.Short() {
		v.Name = w.Name
	}
	return v
}

// Tail follows several agents of a store at once.
type Tail struct {
	Store perdure.Store
	Choice
	// Show is called with each line that is chosen.
	Show func(*Follower, Line) error
	// Skip is told of an agent whose memory cannot be read, which hides no other.
	Skip func(perdure.AgentID, error)
	// Ended reports whether an agent has ended, for Agents.
	Ended func(*perdure.Agent) (bool, error)

	names   map[string]perdure.AgentID // who was called so first
	skipped map[perdure.AgentID]string // for what agents were left out last
}

// meet gives a follower the name of its agent, and the beginning of its id too if another agent was called so first:
// otherwise what one does would look like what the other does.
func (t *Tail) meet(w *Follower, a *perdure.Agent) {
	w.Name, w.Label = nameOrID(a), Called(a)
	if first, known := t.names[w.Label]; known && first != w.ID {
		w.Label += "~" + w.ID.Short()
	} else if !known {
		if t.names == nil {
			t.names = map[string]perdure.AgentID{}
		}
		t.names[w.Label] = w.ID
	}
}

// show shows a line that is chosen.
func (t *Tail) show(w *Follower, one Line) error {
	if !t.Fits(one) {
		return nil
	}
	return t.Show(w, one)
}

// Agents shows the last lines of agents, and then what arrives, until all of them have ended. Begin is called before
// the first line, with all of them.
func (t *Tail) Agents(ctx context.Context, ids []perdure.AgentID, last int, begin func([]*Follower)) error {
	var followed []*Follower
	past := map[*Follower][]Line{}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue
		}
		a, err := perdure.Load(ctx, t.Store, id)
		if err != nil {
			return err
		}
		w, found, err := FollowRecent(ctx, t.Store, id, last, Fitting(t.Fits))
		if err != nil {
			return err
		}
		t.meet(w, a)
		followed, past[w] = append(followed, w), found
	}
	begin(followed)
	for _, w := range followed {
		for _, one := range past[w] {
			if err := t.Show(w, one); err != nil {
				return err
			}
		}
	}
	return Live(ctx, t.Store, t.Ended, followed, t.show)
}

// Everyone shows what arrives for any agent of the store from now on, until ctx ends. What was there before is known by
// its heads, so that an agent is read only when it changes.
func (t *Tail) Everyone(ctx context.Context) error {
	changed := Watch(ctx, t.Store)
	t.skipped = nil
	before, err := t.heads(ctx)
	if err != nil {
		return err
	}
	followed := map[perdure.AgentID]*Follower{}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed.Signal:
		}
		ids, all := changed.Take()
		delete(ids, perdure.AgentID{})
		if all {
			now, err := t.heads(ctx)
			if err != nil {
				return err
			}
			for id := range now {
				ids[id] = struct{}{}
			}
		}
		for id := range ids {
			bad, err := t.news(ctx, id, followed, before)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil:
				return err
			case bad != nil:
				t.skip(id, bad)
			}
		}
	}
}

// skip says once why an agent is left out.
func (t *Tail) skip(id perdure.AgentID, err error) {
	if t.skipped[id] == err.Error() {
		return
	}
	if t.skipped == nil {
		t.skipped = map[perdure.AgentID]string{}
	}
	t.skipped[id] = err.Error()
	t.Skip(id, err)
}

// news shows what has arrived for an agent. Bad is what is wrong with that agent, which hides no other; err is that
// nothing can be shown any more.
func (t *Tail) news(ctx context.Context, id perdure.AgentID, followed map[perdure.AgentID]*Follower,
	before map[perdure.AgentID][]perdure.Hash) (bad, err error) {
	w := followed[id]
	if w == nil {
		if w, bad = t.begin(ctx, id, before[id]); bad != nil || w == nil {
			return bad, nil
		}
		followed[id] = w
		delete(before, id)
	}
	bad = w.Next(ctx, func(one Line) error {
		err = t.show(w, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	return bad, nil
}

// heads are the heads of every agent of the store.
func (t *Tail) heads(ctx context.Context) (map[perdure.AgentID][]perdure.Hash, error) {
	l, err := Lister(t.Store)
	if err != nil {
		return nil, err
	}
	all := map[perdure.AgentID][]perdure.Hash{}
	for one, err := range l.List(ctx, perdure.Filter{}) {
		if err != nil {
			return nil, err
		}
		heads, err := t.Store.Heads(ctx, one.Agent)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			t.skip(one.Agent, err)
			continue
		}
		all[one.Agent] = heads
	}
	return all, nil
}

// begin is a follower of an agent behind the heads it had, or nil if it still has those.
func (t *Tail) begin(ctx context.Context, id perdure.AgentID, heads []perdure.Hash) (*Follower, error) {
	now, err := t.Store.Heads(ctx, id)
	if err != nil || slices.Equal(now, heads) {
		return nil, err
	}
	a, err := perdure.Load(ctx, t.Store, id)
	if err != nil {
		return nil, err
	}
	w, err := FollowAfter(ctx, t.Store, id, heads)
	if err != nil {
		return nil, err
	}
	t.meet(w, a)
	return w, nil
}
