package perdure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Whoever runs an agent begins its children in the name of its owner. That is a claim, which anybody can make who may
// write to agents in the scope: it takes the right to own, or the parent, which bears it out. A parent bears out only
// what is where it is itself: what policy permits in a narrower scope is more than whoever runs it has.

// Beside is an agent beside its parent in a store. A child that somebody began in the name of its owner counts by what
// its parent says there. Loading an agent out of a store does the same; one that was folded of entries stands nowhere,
// and has no parent.
func (t *Trust) Beside(ctx context.Context, s Store, a *Agent) (*Agent, error) {
	known := *a
	return t.beside(ctx, s, &known, 0)
}

// beside is Beside for an agent that the caller owns, and that is so many generations above the one asked for.
func (t *Trust) beside(ctx context.Context, s Store, a *Agent, above int) (*Agent, error) {
	f := a.fold
	if a.elder = nil; f.Begun.IsZero() || f.Lineage == nil || f.Lineage.Relation != Child || above == maxElders ||
		t != nil && t.Allows(f.Begun, MayOwn, f.Charter.Scope) {
		return a, nil
	}
	elder, err := t.elder(ctx, s, a.fold.Lineage.Parent, above+1)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrRejected) {
		return a, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load the parent of agent %s: %w", a.ID().Short(), err)
	}
	a.elder = elder
	return a, nil
}

// claimed reports whether somebody began a child in the name of its owner, by whom nobody else vouches for it. A nil
// Trust does not know who may.
func (t *Trust) claimed(a *Agent) bool {
	for w := a.authors; w != nil; w = w.before {
		if t != nil && t.vouches(w) {
			return false
		}
		if w.child {
			return t == nil || !t.granted(w.key, MayOwn, w.scope)
		}
	}
	return false
}

// elder loads a parent. Many children may have one: the last parents are remembered.
func (t *Trust) elder(ctx context.Context, s Store, id AgentID, above int) (*Agent, error) {
	heads, err := s.Heads(ctx, id)
	if err != nil {
		return nil, err
	}
	last := &unjudged
	if t != nil {
		last = &t.elders
	}
	if a := last.find(id, heads); a != nil {
		return a.asHeld(ctx, s, t, above)
	}
	a, err := load(ctx, s, id, t, above)
	if err == nil {
		last.keep(a)
	}
	return a, err
}

// unjudged are the elders of a nil Trust.
var unjudged elders

// elders are parents that were loaded of late, as their entries say, wherever they are.
type elders struct {
	mu   sync.Mutex
	last []Agent // the newest at the end
}

func (e *elders) find(id AgentID, heads []Hash) *Agent {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range e.last {
		if a := e.last[i]; a.ID() == id && slices.Equal(a.Heads(), heads) {
			return &a
		}
	}
	return nil
}

func (e *elders) keep(a *Agent) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = slices.DeleteFunc(e.last, func(old Agent) bool { return old.ID() == a.ID() })
	e.last = append(e.last[max(0, len(e.last)-keptElders+1):], *a)
}

// borneOut reports whether the parent of a child is beside it, counts, and has a decision that created it.
func (t *Trust) borneOut(a *Agent) bool {
	return a.elder != nil && a.elder.fold.bears(a) && t.Counts(a.elder) == nil
}

// bears reports whether a decision of the agent created a child where the agent is itself. What was wider than the
// agent created none, nor did what came to nothing.
func (f *Fold) bears(child *Agent) bool {
	i := slices.IndexFunc(f.Children, func(c ChildInfo) bool { return c.Agent == child.ID() })
	return i >= 0 && (!f.Children[i].Ended || !f.Children[i].Head.IsZero()) &&
		InScope(f.Charter.Scope, child.fold.Charter.Scope)
}

// unborn says what is missing of a child that nothing but its first entry calls its owner's.
func (t *Trust) unborn(a *Agent, r *Rejection) {
	parent := a.fold.Lineage.Parent
	r.Got += ", in the name of " + t.nameOf(a.fold.Charter.Owner)
	r.Want += ", or its parent " + parent.Short() + " here, with a decision that created it"
	switch {
	case a.elder == nil:
		r.Hint = "its parent is not in this store: bring that, too"
	case !InScope(a.elder.fold.Charter.Scope, a.fold.Charter.Scope):
		r.Hint = "its parent is in scope " + a.elder.fold.Charter.Scope + ": trust whoever began it to own agents here"
	case !a.elder.fold.bears(a):
		r.Hint = "its parent is here and knows nothing of it, or that nothing came of it: bring a newer copy of that"
	default:
		r.Hint = "its parent does not count here itself: perdure show " + parent.Short()
	}
	r.Hint += "; or look at it, and admit it with perdure resume"
}
