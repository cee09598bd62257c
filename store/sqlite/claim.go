package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"iter"
	"time"

	"github.com/perdure/perdure"
)

// Claims save work and decide nothing, so they are not synced: when the machine stops, so do the nodes that held them.

// Claim implements perdure.Claimer.
func (s *Store) Claim(ctx context.Context, id perdure.AgentID, node perdure.Key, lease time.Duration) (c perdure.Claim, err error) {
	_ = s.nodes.Hold(node[:]) // if it cannot be told that this node has died, others wait for the end of its lease
	err = s.submit(ctx, &request{relaxed: true, apply: func(w *writer) error {
		a, err := w.held(id)
		if err != nil {
			return err
		}
		now := time.Now()
		if !a.node.IsZero() && a.node != node && a.due > perdure.TimeOf(now) && !s.nodes.Dead(a.node[:]) {
			return fmt.Errorf("%w: another node works on it, for now until %s", perdure.ErrConflict, a.due)
		}
		// A fence is above the last one even if that was lost because it had not been synced.
		a.node, a.fence, a.due = node, max(a.fence+1, now.UnixMilli()), perdure.TimeOf(now.Add(lease))
		c = perdure.Claim{Agent: id, Node: node, Fence: a.fence}
		return w.do("UPDATE agents SET due=?, node=?, fence=? WHERE key=?", int64(a.due), node[:], a.fence, a.key)
	}})
	if err != nil {
		return perdure.Claim{}, fmt.Errorf("claim agent %s: %w", id.Short(), err)
	}
	return c, nil
}

// Renew implements perdure.Claimer.
func (s *Store) Renew(ctx context.Context, c perdure.Claim, lease time.Duration) error {
	err := s.submit(ctx, &request{relaxed: true, apply: func(w *writer) error {
		a, err := w.held(c.Agent)
		if err != nil {
			return err
		}
		if a.node != c.Node || a.fence != c.Fence {
			return fmt.Errorf("%w: the claim was lost", perdure.ErrConflict)
		}
		return w.look(a, perdure.TimeOf(time.Now().Add(lease)))
	}})
	if err != nil {
		return fmt.Errorf("renew claim of agent %s: %w", c.Agent.Short(), err)
	}
	return nil
}

// Release implements perdure.Claimer.
func (s *Store) Release(ctx context.Context, c perdure.Claim, heads []perdure.Hash, due perdure.Time) error {
	err := s.submit(ctx, &request{relaxed: true, apply: func(w *writer) error {
		a, err := w.held(c.Agent)
		if err != nil || a.node != c.Node || a.fence != c.Fence {
			return err
		}
		if !a.on(heads) {
			due = dueOf(a.heads)
		}
		a.node, a.due = perdure.Key{}, due
		return w.do("UPDATE agents SET due=?, node=NULL WHERE key=?", null(due), a.key)
	}})
	if err != nil {
		return fmt.Errorf("release agent %s: %w", c.Agent.Short(), err)
	}
	return nil
}

// longestLease is how far ahead Reclaim looks for the leases of the dead. It keeps it from looking through agents that sleep.
const longestLease = time.Minute

// Held implements perdure.Holder.
func (s *Store) Held(ctx context.Context) iter.Seq2[perdure.Holding, error] {
	return func(yield func(perdure.Holding, error) bool) {
		var all []perdure.Holding
		now := time.Now()
		err := s.read(ctx, func(c *conn) error {
			all = all[:0]
			return c.query("SELECT id, node FROM agents WHERE due>? AND due<=? AND node IS NOT NULL", func(v []driver.Value) error {
				id, _ := v[0].([]byte)
				node, _ := v[1].([]byte)
				all = append(all, perdure.Holding{Agent: perdure.AgentID(id), Dead: s.nodes.Dead(node)})
				return nil
			}, now.UnixMilli(), now.Add(longestLease).UnixMilli())
		})
		if err != nil {
			yield(perdure.Holding{}, fmt.Errorf("agents at work: %w", err))
			return
		}
		for _, h := range all {
			if !yield(h, nil) {
				return
			}
		}
	}
}

// Reclaim implements perdure.Reclaimer.
func (s *Store) Reclaim(ctx context.Context) (err error) {
	for h, failed := range s.Held(ctx) {
		if err = failed; err == nil && h.Dead {
			err = s.reclaim(ctx, h.Agent)
		}
		if err != nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("take over from nodes that died: %w", err)
	}
	return nil
}

// reclaim ends the claim on an agent, if the node that had it has died. It is due now, as at the end of a lease: what was under way has no worker
// left.
func (s *Store) reclaim(ctx context.Context, id perdure.AgentID) error {
	return s.submit(ctx, &request{relaxed: true, apply: func(w *writer) error {
		a, err := w.held(id)
		if err != nil || a.node.IsZero() || !s.nodes.Dead(a.node[:]) {
			return err
		}
		a.node, a.due = perdure.Key{}, perdure.TimeOf(time.Now())
		return w.do("UPDATE agents SET due=?, node=NULL WHERE key=?", int64(a.due), a.key)
	}})
}
