package perdure

import (
	"context"
	"fmt"
	"maps"
	"time"
)

// UpgradeState moves a live agent to a later version of the schema of its state, in one recorded step: its variables as
// that version has them, checked, and the schema by which they are held from there on. Nothing is written if the state
// does not fit, or if the agent has that schema already: then the entry is nil. If something happened to the agent
// meanwhile it returns an error wrapping ErrConflict: try again.
//
// On a branch that had not seen it, variables may be set as the earlier version has them. What does not fit then keeps
// later changes from counting until somebody sets it right; nothing is lost.
func (n *Node) UpgradeState(ctx context.Context, id AgentID, to Hash) (*Entry, error) {
	if err := n.init(); err != nil {
		return nil, fmt.Errorf("upgrade the state of agent %s: %w", id.Short(), err)
	}
	a, err := n.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := n.older(ctx, a); err != nil {
		return nil, fmt.Errorf("upgrade the state of agent %s: %w", id.Short(), err)
	}
	f := a.fold
	switch {
	case f.Ended != nil:
		return nil, fmt.Errorf("upgrade the state of agent %s: %w", id.Short(), ErrTerminated)
	case f.Intent.StateSchema.IsZero():
		return nil, fmt.Errorf("upgrade the state of agent %s: its intent names no schema: an agent gets one when it "+
			"is made", id.Short())
	case f.Intent.StateSchema == to:
		return nil, nil
	}
	if n.State == nil {
		return nil, fmt.Errorf("upgrade the state of agent %s: %w: this node has no schemas", id.Short(), ErrIncapable)
	}
	set, err := moveState(n.State, f, to)
	if err != nil {
		return nil, fmt.Errorf("upgrade the state of agent %s: %w", id.Short(), err)
	}
	return n.recordUpgrade(ctx, a, to, set)
}

// moveState is what is to be set so that the state is one of the later schema.
func moveState(m StateChecker, f *Fold, to Hash) (map[string]Data, error) {
	moved, err := m.MoveState(f.Intent.StateSchema, to, maps.Clone(f.Vars))
	if err != nil {
		return nil, err
	}
	if err := m.CheckState(to, maps.Clone(moved)); err != nil {
		return nil, err
	}
	set := map[string]Data{}
	for name, v := range moved {
		if old, ok := f.Vars[name]; !ok || string(old) != string(v) {
			set[name] = v
		}
	}
	for name := range f.Vars {
		if _, ok := moved[name]; !ok {
			set[name] = Data{0xf6} // null takes it away
		}
	}
	return set, nil
}

// recordUpgrade appends the text of the later schema, if memory does not have it, and the step itself.
func (n *Node) recordUpgrade(ctx context.Context, a *Agent, to Hash, set map[string]Data) (*Entry, error) {
	next := *a.fold
	next.Intent.StateSchema = to
	var drafts []Draft
	for _, ev := range n.enclose(&next) {
		drafts = append(drafts, Draft{Body: ev, Policy: n.PolicyHash})
	}
	drafts = append(drafts, Draft{Policy: n.PolicyHash,
		Body: Event{Name: "state-upgraded", By: n.Key.Name, Notice: Edit{Mutate: Mutate{StateSchema: to}}, Set: set}})
	entries, told, err := n.Key.Commit(a, time.Now(), drafts...)
	for _, e := range entries {
		if err == nil {
			err = n.guard(e)
		}
	}
	if err == nil {
		err = n.append(ctx, a, told, entries...)
	}
	if err != nil {
		return nil, fmt.Errorf("upgrade the state of agent %s: %w", a.ID().Short(), err)
	}
	return entries[len(entries)-1], nil
}
