package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

// record is who is at work on an agent, and when to look at it next. Times are by the clock of the node, as everything
// is that says when to look.
type record struct {
	Node  perdure.Key  `json:"node,omitzero"` // zero: nobody is
	Fence int64        `json:"fence"`
	Until perdure.Time `json:"until,omitzero"`
	At    uint64       `json:"at,omitempty"` // the last commit that whoever released it last had seen
	Due   perdure.Time `json:"due,omitzero"` // and when to look if none came since; zero: only on an event
}

// holds reports whether a lease can be believed: one that ends too late was taken while the clock was ahead.
func (r *record) holds(now time.Time) bool {
	return !r.Node.IsZero() && r.Until > perdure.TimeOf(now) && r.Until <= perdure.TimeOf(now.Add(perdure.MaxLease))
}

// claimed is a record and where it is.
type claimed struct {
	record
	seq uint64
}

// claims remember records as they were last seen. The server says whether they still hold when something is written on
// them.
type claims struct {
	mu sync.Mutex
	at map[perdure.AgentID]claimed
}

func (c *claims) get(id perdure.AgentID) (claimed, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.at[id]
	return r, ok
}

func (c *claims) set(id perdure.AgentID, r claimed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == nil || len(c.at) >= maxStates {
		c.at = map[perdure.AgentID]claimed{}
	}
	c.at[id] = r
}

// errKeep says that a record stays as it is.
var errKeep = errors.New("nothing to write")

// mark has f change the record of an agent: as it is remembered or, where that will not do, as it is.
func (s *Store) mark(ctx context.Context, id perdure.AgentID, f func(r *record) error) error {
	if err := s.writable(ctx); err != nil {
		return err
	}
	guess, guessed := s.claims.get(id)
	for {
		if !guessed {
			m, err := s.indexed(ctx, s.streams.claim, s.streams.claims(id))
			if err != nil {
				return err
			}
			if guess = (claimed{}); m != nil {
				if guess.seq = m.Seq; json.Unmarshal(m.Data, &guess.record) != nil {
					guess.record = record{} // an index: it is written anew
				}
			}
		}
		r := guess.record
		err := f(&r)
		if err == nil {
			var b []byte
			if b, err = json.Marshal(r); err != nil {
				return err
			}
			var seq uint64
			if seq, err = s.store(ctx, s.streams.claims(id), b, guess.seq); err == nil {
				s.claims.set(id, claimed{r, seq})
				return nil
			}
		}
		if !guessed && !errors.Is(err, errMoved) {
			return err
		}
		if guessed && !errors.Is(err, errMoved) && !errors.Is(err, errKeep) && !errors.Is(err, perdure.ErrConflict) {
			return err
		}
		guessed = false
	}
}

// Claim implements perdure.Claimer.
func (s *Store) Claim(ctx context.Context, id perdure.AgentID, node perdure.Key, lease time.Duration) (c perdure.Claim,
	err error) {
	if _, err = s.known(ctx, id); err == nil {
		err = s.mark(ctx, id, func(r *record) error {
			now := time.Now()
			if r.Node != node && r.holds(now) {
				return fmt.Errorf("%w: node %s holds it until %s", perdure.ErrConflict, r.Node.Short(), r.Until)
			}
			c = perdure.Claim{Agent: id, Node: node, Fence: max(r.Fence+1, int64(perdure.TimeOf(now)))}
			*r = record{Node: node, Fence: c.Fence, Until: perdure.TimeOf(now.Add(min(lease, perdure.MaxLease))),
				At: r.At}
			return nil
		})
	}
	if err != nil {
		return perdure.Claim{}, s.wrote("claim", id, err)
	}
	return c, nil
}

// Renew implements perdure.Claimer.
func (s *Store) Renew(ctx context.Context, c perdure.Claim, lease time.Duration) error {
	return s.wrote("renew claim of", c.Agent, s.mark(ctx, c.Agent, func(r *record) error {
		if r.Node != c.Node || r.Fence != c.Fence {
			return fmt.Errorf("%w: the claim was lost", perdure.ErrConflict)
		}
		r.Until = perdure.TimeOf(time.Now().Add(min(lease, perdure.MaxLease)))
		return nil
	}))
}

// Release implements perdure.Claimer. What it says counts as long as no commit comes after the one with these heads.
func (s *Store) Release(ctx context.Context, c perdure.Claim, heads []perdure.Hash, due perdure.Time) error {
	tip, err := s.known(ctx, c.Agent)
	if err == nil && !sameHeads(tip, heads) {
		tip, err = s.held(ctx, c.Agent)
	}
	if err == nil {
		err = s.mark(ctx, c.Agent, func(r *record) error {
			if r.Node != c.Node || r.Fence != c.Fence {
				return errKeep
			}
			at := r.At
			if *r = (record{Fence: r.Fence}); sameHeads(tip, heads) {
				r.At, r.Due = tip.seq, due
			} else if tip != nil && at > tip.seq {
				r.At = at // its end is lost
			}
			return nil
		})
	}
	if errors.Is(err, errKeep) {
		err = nil
	}
	return s.wrote("release", c.Agent, err)
}

// Reclaim implements perdure.Holder. Whether a node on another machine has died nobody can tell: its leases end. Leases
// that seem to hold for longer than any are never believed.
func (s *Store) Reclaim(ctx context.Context) error { return s.usable(ctx) }
