package perdure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Mend makes an agent usable again that cannot be folded because entries came late: they belong before a snapshot that
// stands for bodies that are gone (entry body.present). They are folded after that snapshot instead, in their order,
// and a snapshot of all of it, by the owner, says so from here on. Import a copy that still has the bodies elsewhere
// rather than into this one: its own fold has another order.
//
// It returns nil for an agent that needs none, and refuses one whose keys changed meanwhile: whose word counted when,
// nobody can tell then.
func (n *Node) Mend(ctx context.Context, id AgentID) (*Entry, error) {
	if err := n.init(); err != nil {
		return nil, err
	}
	_, err := n.load(ctx, id)
	var r *Rejection
	if err == nil || !errors.As(err, &r) || r.Predicate != predBodyPresent.Name {
		return nil, err
	}
	all, err := collect(Memory(ctx, n.Store, id))
	if err != nil {
		return nil, err
	}
	a, err := n.mended(sorted(all))
	if err != nil {
		return nil, fmt.Errorf("mend agent %s: %w", id.Short(), err)
	}
	if owner := a.fold.Charter.Owner; owner != n.Key.Key() {
		return nil, fmt.Errorf("mend agent %s: %w: it is owned by %s, and this key is %s", id.Short(), ErrDenied,
			owner.Short(), n.Key.Key().Short())
	}
	entries, next, err := n.Key.Commit(a, time.Now(), Draft{Policy: n.PolicyHash, Body: Snapshot{Fold: *a.fold}})
	if err == nil {
		err = n.append(ctx, a, next, entries...)
	}
	if err != nil {
		return nil, fmt.Errorf("mend agent %s: %w", id.Short(), err)
	}
	return entries[len(entries)-1], nil
}

// mended folds entries, which are in fold order, from the newest snapshot that has seen all whose bodies are gone: what
// it has not seen comes after it.
func (n *Node) mended(all []*Entry) (*Agent, error) {
	if err := judge(all); err != nil {
		return nil, err
	}
	g, ok := all[0].content.(Genesis)
	if !ok {
		return nil, errors.New("its first entry is gone: import a copy that has it")
	}
	m := byName(all)
	missing := uncovering(all)
	for i, s := range slices.Backward(all) {
		_, ok := s.content.(Snapshot)
		if !ok || missing[i] || !n.trust().Allows(s.Origin, MayOwn, g.Charter.Scope) {
			continue
		}
		seen := map[*Entry]bool{s: true}
		for _, e := range m.past(s.Parents...) {
			seen[e] = true
		}
		rest := slices.DeleteFunc(slices.Clone(all), func(e *Entry) bool { return seen[e] })
		if slices.ContainsFunc(rest, bodiless) {
			continue
		}
		if slices.ContainsFunc(rest, func(e *Entry) bool { _, change := e.keyChange(); return change }) {
			return nil, errors.New("its keys were changed meanwhile")
		}
		a, err := FromSnapshot(s)
		if err != nil {
			return nil, err
		}
		f := a.fold.clone()
		for _, e := range rest {
			f.step(e, slices.Contains(f.Revoked, e.Origin), f.known(e.Parents))
		}
		return fromFold(f, all[len(all)-1].Position(), s), nil
	}
	return nil, errors.New("no snapshot that counts here covers all dropped bodies: import a copy that has them")
}
