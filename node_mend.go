package perdure

import (
	"context"
	"errors"
	"fmt"
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
	a, err := mended(sorted(all), n.trust().vouch(ctx, n.Store, id))
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
