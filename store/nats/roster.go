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
)

// presence is a node on the roster, as a message beside the claims. When it enrolled is when the message was stored, by
// the clock of the server.
type presence struct {
	Node  perdure.Key  `json:"node"`
	About []byte       `json:"about"`
	Seen  perdure.Time `json:"seen"` // by the clock of the node, for earlier versions
	Left  bool         `json:"left,omitempty"`

	at time.Time
}

// rosterToken is what the last token of a subject of the roster begins with. No agent has such a name.
const rosterToken = "claim.node-"

func (t *streams) roster(node perdure.Key) string {
	return t.prefix + rosterToken + node.String()[:32] // shorter than the id of an agent: see agentOf
}

// Enroll implements perdure.Roster.
func (s *Store) Enroll(ctx context.Context, p perdure.Presence) error {
	err := s.present(ctx, &presence{Node: p.Node, About: p.About})
	var now time.Time
	if err == nil {
		now, err = s.clock(ctx)
	}
	if err == nil {
		err = s.forgetNodes(ctx, now.Add(-perdure.RosterKept))
	}
	if err != nil {
		err = fmt.Errorf("enroll node %s: %w", p.Node.Short(), err)
	}
	return err
}

// Leave implements perdure.Roster.
func (s *Store) Leave(ctx context.Context, node perdure.Key) error {
	if err := s.present(ctx, &presence{Node: node, Left: true}); err != nil {
		return fmt.Errorf("take node %s off the roster: %w", node.Short(), err)
	}
	return nil
}

// clock is the time by the clock of the server.
func (s *Store) clock(ctx context.Context) (time.Time, error) {
	info, err := s.info(ctx, s.streams.claim)
	if err != nil {
		return time.Time{}, err
	}
	if info.Now.IsZero() { // it does not say
		return time.Now(), nil
	}
	return info.Now, nil
}

// present writes a line of the roster.
func (s *Store) present(ctx context.Context, p *presence) error {
	p.Seen = perdure.TimeOf(time.Now())
	b, err := json.Marshal(p)
	if err == nil {
		err = s.writable(ctx)
	}
	if err == nil {
		_, err = s.store(ctx, s.streams.roster(p.Node), b, anything)
	}
	return err
}

// forgetNodes removes the lines of nodes that were last heard of before a time.
func (s *Store) forgetNodes(ctx context.Context, before time.Time) error {
	all, err := s.index.present(ctx)
	for _, p := range all {
		if err == nil && p.at.Before(before) {
			if err = s.purge(ctx, s.streams.claim, s.streams.roster(p.Node), 0); err == nil {
				s.index.mu.Lock()
				delete(s.index.roster, p.Node)
				s.index.mu.Unlock()
			}
		}
	}
	return err
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
	meta, err := m.Metadata()
	if err != nil || json.Unmarshal(m.Data(), &p) != nil {
		return
	}
	p.at = meta.Timestamp
	x.mu.Lock()
	defer x.mu.Unlock()
	x.roster[p.Node] = p
}

// Present implements perdure.Roster.
func (s *Store) Present(ctx context.Context) iter.Seq2[perdure.Presence, error] {
	return func(yield func(perdure.Presence, error) bool) {
		all, err := s.index.present(ctx)
		var now time.Time
		if err == nil {
			now, err = s.clock(ctx)
		}
		if err != nil {
			yield(perdure.Presence{}, fmt.Errorf("nodes of the store: %w", err))
			return
		}
		ahead := now.Sub(time.Now())
		for _, p := range all {
			seen := perdure.TimeOf(p.at.Add(-ahead))
			if !p.Left && !yield(perdure.Presence{Node: p.Node, About: p.About, Seen: seen}, nil) {
				return
			}
		}
	}
}
