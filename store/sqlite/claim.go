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
func (s *Store) Claim(ctx context.Context, id perdure.AgentID, node perdure.Key, lease time.Duration) (c perdure.Claim,
	err error) {
	_ = s.nodes.Hold(node[:]) // if it cannot be told that this node has died, others wait for the end of its lease
	err = s.submit(ctx, &request{relaxed: true, apply: func(w *writer) error {
		a, err := w.held(id)
		if err != nil {
			return err
		}
		now := time.Now()
		if a.busy(now) && a.node != node && !s.nodes.Dead(a.node[:]) {
			return fmt.Errorf("%w: another node works on it, for now until %s", perdure.ErrConflict, a.due)
		}
		// A fence is above the last one even if that was lost because it had not been synced.
		a.node, a.fence, a.due = node, max(a.fence+1, now.UnixMilli()),
			perdure.TimeOf(now.Add(min(lease, perdure.MaxLease)))
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
		return w.look(a, perdure.TimeOf(time.Now().Add(min(lease, perdure.MaxLease))))
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
		a.node, a.due = perdure.Key{}, due
		if !a.on(heads) {
			a.due = dueOf(a.heads)
		}
		return w.do("UPDATE agents SET due=?, node=NULL WHERE key=?", null(a.due), a.key)
	}})
	if err != nil {
		s.nodes.Keep(c.Node[:]) // whoever wants the agent once this process has ended need not wait for the lease
		return fmt.Errorf("release agent %s: %w", c.Agent.Short(), err)
	}
	return nil
}

// Held implements perdure.Holder.
func (s *Store) Held(ctx context.Context) iter.Seq2[perdure.Holding, error] {
	return func(yield func(perdure.Holding, error) bool) {
		var all []perdure.Holding
		now := time.Now()
		err := s.read(ctx, func(c *conn) error {
			all = all[:0]
			return c.query("SELECT id, node FROM agents WHERE due>? AND due<=? AND node IS NOT NULL",
				func(v []driver.Value) error {
					node, _ := v[1].([]byte)
					if id, _ := v[0].([]byte); len(id) == hashSize { // else Heal deals with it
						all = append(all, perdure.Holding{Agent: perdure.AgentID(id), Dead: s.nodes.Dead(node)})
					}
					return nil
				}, now.UnixMilli(), now.Add(perdure.MaxLease).UnixMilli())
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

// Reclaim implements perdure.Holder. It also ends claims that seem to hold for longer than any: they were taken while
// the clock was ahead.
func (s *Store) Reclaim(ctx context.Context) error {
	var ids []perdure.AgentID
	now := time.Now()
	err := s.read(ctx, func(c *conn) error {
		ids = ids[:0]
		return c.query("SELECT id, node, due FROM agents WHERE due>? AND node IS NOT NULL",
			func(v []driver.Value) error {
				a := agent{due: perdure.Time(integer(v[2]))}
				id, _ := v[0].([]byte)
				node, _ := v[1].([]byte)
				if len(id) == hashSize && copy(a.node[:], node) > 0 && s.gone(&a, now) {
					ids = append(ids, perdure.AgentID(id))
				}
				return nil
			}, now.UnixMilli())
	})
	for _, id := range ids {
		if err == nil {
			err = s.reclaim(ctx, id)
		}
	}
	if err != nil {
		return fmt.Errorf("take over from nodes that died: %w", err)
	}
	return nil
}

// gone reports whether the node that has claimed an agent has died, or the lease cannot be believed.
func (s *Store) gone(a *agent, now time.Time) bool {
	return a.due > perdure.TimeOf(now.Add(perdure.MaxLease)) || s.nodes.Dead(a.node[:])
}

// reclaim ends the claim on an agent, if the node that had it has died. It is due now, as at the end of a lease: what
// was under way has no worker left.
func (s *Store) reclaim(ctx context.Context, id perdure.AgentID) error {
	return s.submit(ctx, &request{relaxed: true, apply: func(w *writer) error {
		a, err := w.held(id)
		if err != nil || a.node.IsZero() || !s.gone(a, time.Now()) {
			return err
		}
		a.node, a.due = perdure.Key{}, perdure.TimeOf(time.Now())
		return w.do("UPDATE agents SET due=?, node=NULL WHERE key=?", int64(a.due), a.key)
	}})
}
