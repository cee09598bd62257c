package dir

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
)

// The nodes that work on agents of the folder keep a file each in .index/nodes, so that the others know when one has
// died and take its agents over before its leases end.
const nodesDir = "nodes"

// Claim implements perdure.Claimer.
func (s *Store) Claim(ctx context.Context, id perdure.AgentID, node perdure.Key, lease time.Duration) (c perdure.Claim,
	err error) {
	_ = s.nodes.Hold(node[:]) // if it cannot be told that this node has died, others wait for the end of its lease
	err = s.leased(ctx, "claim", id, func(l *capsule.Lease) (err error) {
		if l.Node != node && s.nodes.Dead(l.Node[:]) {
			l.Node = perdure.Key{}
		}
		c, err = l.Claim(id, node, lease)
		return err
	})
	return c, err
}

// Held implements perdure.Holder.
func (s *Store) Held(ctx context.Context) iter.Seq2[perdure.Holding, error] {
	return func(yield func(perdure.Holding, error) bool) {
		all, err := s.holdings(ctx)
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

// holdings are the agents whose claims hold.
func (s *Store) holdings(ctx context.Context) (all []perdure.Holding, err error) {
	now := perdure.TimeOf(time.Now())
	err = s.surveyed(ctx, func(rows map[perdure.AgentID]row) {
		for id, a := range s.agents {
			r := rows[id]
			if !r.Node.IsZero() && r.Due(a.heads, a.due) > now {
				all = append(all, perdure.Holding{Agent: id, Dead: s.nodes.Dead(r.Node[:])})
			}
		}
	})
	return all, err
}

// Reclaim implements perdure.Holder.
func (s *Store) Reclaim(ctx context.Context) error {
	all, err := s.holdings(ctx)
	for _, h := range all {
		if err != nil {
			break
		}
		if !h.Dead {
			continue
		}
		err = s.leased(ctx, "take over", h.Agent, func(l *capsule.Lease) error {
			if s.nodes.Dead(l.Node[:]) {
				l.Until = perdure.AtOnce // as at the end of a lease: what was under way has no worker left
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("take over from nodes that died: %w", err)
	}
	return nil
}
