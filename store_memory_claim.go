package perdure

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"
)

// lookAt is when a node should look at the agent: a lease that ends too late has ended.
func (a *memAgent) lookAt() Time {
	if !a.claim.Node.IsZero() && a.due > TimeOf(time.Now().Add(MaxLease)) {
		return AtOnce
	}
	return a.due
}

// Due implements Store.
func (s *MemStore) Due(ctx context.Context, now time.Time) iter.Seq2[Look, error] {
	return func(yield func(Look, error) bool) {
		var looks []Look
		s.mu.Lock()
		err := s.usable(ctx)
		for id, a := range s.agents {
			if due := a.lookAt(); due != 0 && due <= TimeOf(now) {
				looks = append(looks, Look{id, due, a.listing.Scope})
			}
		}
		s.mu.Unlock()
		if err != nil {
			yield(Look{}, fmt.Errorf("agents due: %w", err))
			return
		}
		slices.SortFunc(looks, func(x, y Look) int {
			return cmp.Or(cmp.Compare(x.Due, y.Due), bytes.Compare(x.Agent[:], y.Agent[:]))
		})
		for _, l := range looks {
			if !yield(l, nil) {
				return
			}
		}
	}
}

// Claim implements Claimer.
func (s *MemStore) Claim(ctx context.Context, id AgentID, node Key, lease time.Duration) (c Claim, err error) {
	err = s.held(ctx, "claim", id, func(a *memAgent) error {
		now := time.Now()
		if holder := a.claim.Node; !holder.IsZero() && holder != node && a.lookAt() > TimeOf(now) {
			return fmt.Errorf("%w: node %s holds it until %s", ErrConflict, holder.Short(), a.due)
		}
		a.fence++
		c = Claim{Agent: id, Node: node, Fence: a.fence}
		a.claim, a.due = c, TimeOf(now.Add(min(lease, MaxLease)))
		return nil
	})
	return c, err
}

// Renew implements Claimer.
func (s *MemStore) Renew(ctx context.Context, c Claim, lease time.Duration) error {
	return s.held(ctx, "renew claim of", c.Agent, func(a *memAgent) error {
		if a.claim != c {
			return fmt.Errorf("%w: the claim was lost", ErrConflict)
		}
		a.due = TimeOf(time.Now().Add(min(lease, MaxLease)))
		return nil
	})
}

// Release implements Claimer.
func (s *MemStore) Release(ctx context.Context, c Claim, heads []Hash, due Time) error {
	return s.held(ctx, "release", c.Agent, func(a *memAgent) error {
		if a.claim != c {
			return nil
		}
		a.claim = Claim{}
		if a.due = due; !sameHeads(a.heads, heads) {
			a.due = a.dueOfHeads()
		}
		return nil
	})
}

// Reclaim implements Holder. The nodes of a store in memory die with it.
func (s *MemStore) Reclaim(context.Context) error { return nil }

// Held implements Holder.
func (s *MemStore) Held(ctx context.Context) iter.Seq2[Holding, error] {
	return func(yield func(Holding, error) bool) {
		var all []AgentID
		s.mu.Lock()
		for id, a := range s.agents {
			if !a.claim.Node.IsZero() && a.lookAt() > TimeOf(time.Now()) {
				all = append(all, id)
			}
		}
		s.mu.Unlock()
		for _, id := range all {
			if !yield(Holding{Agent: id}, ctx.Err()) {
				return
			}
		}
	}
}
