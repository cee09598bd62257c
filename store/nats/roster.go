package nats

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/roster"
)

var _ roster.Roster = (*Store)(nil)

// presence is a node on the roster, as a message beside the claims.
type presence struct {
	Node  perdure.Key `json:"node"`
	About []byte      `json:"about"`
	// when it wrote that: by its own clock in the message, which only nodes of an earlier version go by; by that of the
	// server once read
	Seen perdure.Time `json:"seen"`
	Left bool         `json:"left,omitempty"`
}

// rosterToken is what the last token of a subject of the roster begins with. No agent has such a name.
const rosterToken = "claim.node-"

func (t *streams) roster(node perdure.Key) string {
	return t.prefix + rosterToken + node.String()[:32] // shorter than the id of an agent: see agentOf
}

// Enroll implements roster.Roster.
func (s *Store) Enroll(ctx context.Context, node perdure.Key, about []byte) error {
	err := s.present(ctx, &presence{Node: node, About: about})
	if err == nil {
		err = s.forgetNodes(ctx, roster.Kept)
	}
	if err != nil {
		err = fmt.Errorf("enroll node %s: %w", node.Short(), err)
	}
	return err
}

// Leave implements roster.Roster.
func (s *Store) Leave(ctx context.Context, node perdure.Key) error {
	if err := s.present(ctx, &presence{Node: node, Left: true}); err != nil {
		return fmt.Errorf("take node %s off the roster: %w", node.Short(), err)
	}
	return nil
}

// present writes a line of the roster.
func (s *Store) present(ctx context.Context, p *presence) error {
	p.Seen = perdure.TimeOf(time.Now())
	b, err := json.Marshal(p)
	if err == nil {
		err = s.writable(ctx)
	}
	if err == nil {
		_, err = s.indexed(ctx, s.streams.claim, s.streams.roster(p.Node))
	}
	if err == nil {
		_, err = s.store(ctx, s.streams.roster(p.Node), b, anything)
	}
	return err
}

// forgetNodes removes the lines of nodes that have not been heard of for so long.
func (s *Store) forgetNodes(ctx context.Context, silent time.Duration) error {
	all, now, err := s.roster(ctx)
	for _, p := range all {
		if err == nil && p.Seen < now.Add(-silent) {
			if err = s.purge(ctx, s.streams.claim, s.streams.roster(p.Node), 0); err == nil {
				s.index.mu.Lock()
				delete(s.index.roster, p.Node)
				s.index.mu.Unlock()
			}
		}
	}
	return err
}

// roster is all lines of the roster, and what the time is by the clock of the server that dates them.
func (s *Store) roster(ctx context.Context) ([]presence, perdure.Time, error) {
	all, err := s.index.present(ctx)
	if err != nil || len(all) == 0 {
		return nil, 0, err
	}
	info, err := s.info(ctx, s.streams.claim)
	if err != nil {
		return nil, 0, err
	}
	if info.Now.IsZero() { // a server of an earlier version does not say
		info.Now = time.Now()
	}
	return all, perdure.TimeOf(info.Now), nil
}

// present is the roster, with those that have left.
func (x *lookIndex) present(ctx context.Context) ([]presence, error) {
	if err := x.sync(ctx); err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Values(x.roster)), nil
}

// enrolled takes in a line of the roster.
func (x *lookIndex) enrolled(m jetstream.Msg) {
	var p presence
	if json.Unmarshal(m.Data(), &p) != nil {
		return
	}
	if stored, err := m.Metadata(); err == nil {
		p.Seen = perdure.TimeOf(stored.Timestamp)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.roster[p.Node] = p
}

// Present implements roster.Roster.
func (s *Store) Present(ctx context.Context) iter.Seq2[roster.Presence, error] {
	return func(yield func(roster.Presence, error) bool) {
		all, now, err := s.roster(ctx)
		if err != nil {
			yield(roster.Presence{}, fmt.Errorf("nodes of the store: %w", err))
			return
		}
		for _, p := range all {
			silent := max(now.Go().Sub(p.Seen.Go()), 0)
			if !p.Left && !yield(roster.Presence{Node: p.Node, About: p.About, Silent: silent}, nil) {
				return
			}
		}
	}
}
