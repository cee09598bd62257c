package perdure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// renewal is a claim that is renewed until it is given up.
type renewal struct {
	n     *Node
	store Claimer
	claim Claim
	mu    sync.Mutex
	timer *time.Timer
	lost  bool // another node has the agent
}

// claim takes an agent. It returns nil, and no error, for a store without claims.
func (n *Node) claim(ctx context.Context, id AgentID) (*renewal, error) {
	if err := n.init(); err != nil {
		return nil, err
	}
	store, ok := n.Store.(Claimer)
	if !ok {
		return nil, n.barred(id)
	}
	lease := n.lease()
	c, err := store.Claim(ctx, id, n.instance, lease)
	if err != nil {
		return nil, fmt.Errorf("claim agent %s: %w", id.Short(), err)
	}
	if err := n.barred(id); err != nil {
		return nil, errors.Join(err, store.Release(context.WithoutCancel(ctx), c, nil, TimeOf(time.Now())))
	}
	h := &renewal{n: n, store: store, claim: c}
	h.mu.Lock() // renew may run before the timer is kept
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(lease/3, func() { h.renew(lease) })
	return h, nil
}

// barred is why an agent is left alone that is claimed.
func (n *Node) barred(id AgentID) error {
	if n.Barred == nil {
		return nil
	}
	if err := n.Barred(id); err != nil {
		return fmt.Errorf("claim agent %s: %w", id.Short(), err)
	}
	return nil
}

func (n *Node) lease() time.Duration { return min(or(n.Lease, 10*time.Second), MaxLease) }

// renew keeps the claim alive while effects take their time. A store that does not answer is asked again before the
// lease ends; who has lost the agent leaves it.
func (h *renewal) renew(lease time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), max(lease/3, time.Second))
	defer cancel()
	err := h.store.Renew(ctx, h.claim, lease)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer == nil {
		return
	}
	wait := lease / 3
	if err != nil {
		h.n.Log.Warn("renew claim", "agent", h.claim.Agent.Short(), "err", err) // Append still keeps effects single
		if h.lost = errors.Is(err, ErrConflict); h.lost {
			return
		}
		wait = lease / 6
	}
	h.timer.Reset(wait)
}

// gone reports whether another node has the agent. Who finds that others wrote makes sure: a process that stood still
// for longer than its lease has not been told.
func (h *renewal) gone(ctx context.Context, sure bool) bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	lost := h.lost
	h.mu.Unlock()
	return lost || (sure && errors.Is(h.store.Renew(ctx, h.claim, h.n.lease()), ErrConflict))
}

// release gives the claim up and says when a node should look next.
func (h *renewal) release(ctx context.Context, heads []Hash, due Time) error {
	if h == nil {
		return nil
	}
	h.abandon()
	ctx, done := outlasting(ctx, leaveWithin)
	defer done()
	return h.store.Release(ctx, h.claim, heads, due)
}

// abandon leaves the claim to its lease.
func (h *renewal) abandon() {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.timer != nil {
		h.timer.Stop()
		h.timer = nil
	}
}
