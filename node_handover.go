package perdure

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// HandOver records that an agent of this node's key belongs to another key from here on. What the old owner wrote stays
// as it is, and it may still write where it is trusted to: Revoke ends that. It refuses an agent this key does not own,
// and one the other key owned before, which the fold would not follow. Nothing is written for an agent that is the
// other key's already: then the entry is nil.
//
// A hand-over on two branches stops an agent for good, so whoever hands over many agents uses one new key for all of
// them.
func (n *Node) HandOver(ctx context.Context, id AgentID, to Key) (*Entry, error) {
	if err := n.init(); err != nil {
		return nil, fmt.Errorf("hand over agent %s: %w", id.Short(), err)
	}
	a, err := n.load(ctx, id)
	if err != nil {
		return nil, err
	}
	f := a.fold
	switch {
	case f.Charter.Owner == to:
		return nil, nil
	case slices.Contains(f.Former, to):
		return nil, fmt.Errorf("hand over agent %s: %s owned it before; that takes a new key", id.Short(), to.Short())
	case f.Contested:
		return nil, fmt.Errorf("hand over agent %s: it was handed over on two branches and can no longer run: fork "+
			"it to continue", id.Short())
	}
	return n.changeKeys(ctx, f, "owner", KeyChange{Owner: to})
}

// Revoke records in an agent of this node's key that another key's entries count no more, except those this node has
// seen. Nothing is written where the key is revoked already: then the entry is nil. The owner's own key is refused: the
// agent would have none.
func (n *Node) Revoke(ctx context.Context, id AgentID, k Key) (*Entry, error) {
	if err := n.init(); err != nil {
		return nil, fmt.Errorf("revoke %s in agent %s: %w", k.Short(), id.Short(), err)
	}
	a, err := n.load(ctx, id)
	if err != nil {
		return nil, err
	}
	f := a.fold
	switch {
	case slices.Contains(f.Revoked, k):
		return nil, nil
	case f.Charter.Owner == k:
		return nil, fmt.Errorf("revoke %s: it owns agent %s; hand that over first", k.Short(), id.Short())
	}
	e, err := n.changeKeys(ctx, f, "revoked", KeyChange{Revoke: k})
	if err != nil {
		return nil, err
	}
	// What the key wrote counts from now on because this node says so: by a snapshot, also where bodies are gone.
	if _, err := n.Snapshot(ctx, id); err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrTerminated) {
		return e, err
	}
	return e, nil
}

// changeKeys tells an agent of this node's key of a change of keys, and looks that it came to be: another node may have
// been quicker.
func (n *Node) changeKeys(ctx context.Context, f *Fold, name string, k KeyChange) (*Entry, error) {
	if f.Charter.Owner != n.Key.Key() {
		return nil, fmt.Errorf("change keys of agent %s: %w: it is owned by %s, and this key is %s", f.Agent.Short(),
			ErrDenied, f.Charter.Owner.Short(), n.Key.Key().Short())
	}
	e, err := n.Tell(ctx, f.Agent, Event{Name: name, By: n.Key.Name, Notice: k})
	if err != nil {
		return nil, err
	}
	after, err := n.load(ctx, f.Agent)
	if err != nil {
		return nil, err
	}
	if g := after.fold; g.Contested || !k.Owner.IsZero() && g.Charter.Owner != k.Owner || !k.Revoke.IsZero() &&
		!slices.Contains(g.Revoked, k.Revoke) {
		return nil, fmt.Errorf("change keys of agent %s: it was changed elsewhere at the same time; see perdure log %s",
			f.Agent.Short(), f.Agent.Short())
	}
	return e, nil
}
