package nats

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/ordered"
)

// listIndex knows the listings, read as they come. It is made when somebody first asks for more than one.
type listIndex struct {
	store *Store

	start sync.Mutex
	lists *follower // nil: not needed yet
	mu    sync.Mutex
	all   map[perdure.AgentID]placed
	first map[perdure.AgentID]placed // of agents that nobody listed, as their genesis has it
	order ordered.Set[perdure.ListPlace]
	fresh []perdure.AgentID // of which it is to be seen whether they are listed
	seen  int               // of the lookIndex, of those that were born
	begun int               // the same, which time it had begun

	looked atomic.Int64 // how many agents were looked at to list some
}

// placed is a listing as it is kept, with the number of the commit after which it was folded: it is behind where
// another came since. Zero: nobody knows.
type placed struct {
	perdure.Listing
	At uint64 `json:"at,omitempty"`
}

// after is the listing of an agent whose last commit is this.
func (l placed) after(seq uint64) perdure.Listing {
	l.Behind = l.At != seq
	return l.Listing
}

// placedAt is a listing as folded at heads, of an agent whose last commit is tip as far as is known.
func placedAt(tip *commit, heads []perdure.Hash, l perdure.Listing) placed {
	if !sameHeads(tip, heads) {
		return placed{Listing: l}
	}
	return placed{l, tip.seq}
}

// sync makes the index know everything that was acknowledged before it was called.
func (x *listIndex) sync(ctx context.Context) error {
	s := x.store
	last, err := s.lastOf(ctx, s.streams.list, s.streams.prefix+"list.*")
	if err != nil {
		return err
	}
	f, err := x.follower(ctx, last)
	if err == nil {
		err = f.reach(ctx, last)
	}
	return err
}

// follower is the one that follows the stream, as those of a lookIndex do.
func (x *listIndex) follower(ctx context.Context, last uint64) (*follower, error) {
	x.start.Lock()
	defer x.start.Unlock()
	if err := x.store.usable(ctx); err != nil {
		return nil, err
	}
	if x.lists != nil && x.lists.at() <= last {
		return x.lists, nil
	}
	if x.lists != nil {
		x.lists.stop()
	}
	x.mu.Lock()
	x.all, x.first = map[perdure.AgentID]placed{}, map[perdure.AgentID]placed{}
	x.order, x.fresh, x.seen = ordered.New(perdure.ListPlace.Compare), nil, 0
	x.mu.Unlock()
	f := &follower{
		store: x.store, name: x.store.streams.list, apply: x.listed,
		cfg: jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy},
	}
	if !x.store.begin(f, 0) {
		return nil, x.store.errClosed()
	}
	x.lists = f
	return f, nil
}

// listed takes in a listing.
func (x *listIndex) listed(m jetstream.Msg, _ uint64) {
	id, ok := agentOf(m.Subject())
	if !ok {
		return
	}
	l, good := listingOf(id, m.Data())
	x.mu.Lock()
	defer x.mu.Unlock()
	old, was := x.all[id]
	if delete(x.all, id); !good {
		x.fresh = append(x.fresh, id)
		return
	}
	if x.all[id] = l; !was || old.Name != l.Name {
		x.order.Add(l.Place())
	}
}

// listingOf reads a listing; not good: it is none, or the agent went.
func listingOf(id perdure.AgentID, b []byte) (l placed, good bool) {
	return l, json.Unmarshal(b, &l) == nil && l.Agent == id
}

// known is the listing of an agent, as far as it was read.
func (x *listIndex) known(id perdure.AgentID) (l placed, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	l, ok = x.all[id]
	return l, ok
}

// born lists an agent that was just made. Nobody waits for it: an agent that is not listed is read.
func (s *Store) born(id perdure.AgentID, c *commit, first *perdure.Entry) {
	b, err := json.Marshal(placedAt(c, []perdure.Hash{first.Name}, first.Newborn()))
	if err != nil {
		return
	}
	_ = s.conn.PublishMsg(&client.Msg{Subject: s.streams.lists(id), Data: b,
		Header: client.Header{"Nats-Expected-Last-Subject-Sequence": {"0"}}})
}

// newborn is the listing of an agent of which there is none.
func (s *Store) newborn(ctx context.Context, id perdure.AgentID) (l placed, err error) {
	tip, err := s.held(ctx, id)
	if err != nil {
		return l, err
	}
	root := tip
	if tip.root() != tip.seq {
		root, err = s.at(ctx, id, tip.root())
	}
	if err != nil {
		return l, err
	}
	first, err := s.entry(ctx, id, root, 0)
	if err != nil {
		return l, err
	}
	return placedAt(tip, []perdure.Hash{first.Name}, first.Newborn()), nil
}

// Index implements perdure.Lister.
func (s *Store) Index(ctx context.Context, heads []perdure.Hash, l perdure.Listing) error {
	return s.wrote("index", l.Agent, s.list(ctx, heads, l, false))
}

// list records a listing as folded at heads, one of fewer entries only when forced to, or if these are the heads there
// are.
func (s *Store) list(ctx context.Context, heads []perdure.Hash, l perdure.Listing, force bool) error {
	if err := s.writable(ctx); err != nil {
		return err
	}
	for {
		tip, err := s.known(ctx, l.Agent)
		if err != nil {
			return err
		}
		m, err := s.indexed(ctx, s.streams.list, s.streams.lists(l.Agent))
		if err != nil {
			return err
		}
		expected := uint64(0)
		if m != nil {
			expected = m.Seq
			if old, good := listingOf(l.Agent, m.Data); good && !force && old.Entries > l.Entries {
				if tip, err = s.held(ctx, l.Agent); err != nil || !sameHeads(tip, heads) {
					return err
				}
			}
		}
		b, err := json.Marshal(placedAt(tip, heads, l))
		if err != nil || m != nil && bytes.Equal(m.Data, b) {
			return err
		}
		if _, err = s.store(ctx, s.streams.lists(l.Agent), b, expected); !errors.Is(err, errMoved) {
			return err
		}
	}
}

// pageListings is how many agents are looked at under one lock.
const pageListings = 256

// List implements perdure.Lister.
func (s *Store) List(ctx context.Context, f perdure.Filter) iter.Seq2[perdure.Listing, error] {
	return func(yield func(perdure.Listing, error) bool) {
		var at *perdure.ListPlace
		if !f.After.Agent.IsZero() {
			at = &f.After
		}
		found, last, err := s.listed(ctx, f, at)
		for left := f.Limit; err == nil; {
			for _, l := range found {
				if !yield(l, nil) {
					return
				}
				if left--; left == 0 {
					return
				}
			}
			if last == nil {
				return
			}
			if err = s.usable(ctx); err == nil {
				found, last = s.page(f, last)
			}
		}
		yield(perdure.Listing{}, fmt.Errorf("list agents: %w", err))
	}
}

// Looked is how many agents were looked at to list some.
func (s *Store) Looked() int64 { return s.lists.looked.Load() }

// listed begins a list after a place.
func (s *Store) listed(ctx context.Context, f perdure.Filter, at *perdure.ListPlace) ([]perdure.Listing,
	*perdure.ListPlace, error) {
	var one perdure.AgentID
	if one.UnmarshalText([]byte(strings.ToLower(f.Prefix))) == nil && !one.IsZero() { // it needs no index
		l, err := s.listing(ctx, one)
		if errors.Is(err, perdure.ErrNotFound) {
			return nil, nil, nil
		}
		if err == nil && f.Match(l) && (at == nil || l.Place().Compare(*at) > 0) {
			return []perdure.Listing{l}, nil, nil
		}
		return nil, nil, err
	}
	err := s.index.sync(ctx)
	if err == nil {
		err = s.lists.sync(ctx)
	}
	if err == nil {
		err = s.listUnlisted(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	found, last := s.page(f, at)
	return found, last, nil
}

// page is what a filter selects of the next agents after a place, and the place of the last; nil: there are no more.
func (s *Store) page(f perdure.Filter, at *perdure.ListPlace) (found []perdure.Listing, last *perdure.ListPlace) {
	x := &s.lists
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for p := range x.order.After(at) {
		n++
		l, listed := x.all[p.Agent]
		if !listed {
			l = x.first[p.Agent]
		}
		if a := s.index.all[p.Agent]; a != nil && a.there() && l.Agent == p.Agent && l.Name == p.Name {
			if one := l.after(a.seq); f.Match(one) {
				found = append(found, one)
			}
		}
		if n == pageListings || f.Limit > 0 && len(found) == f.Limit {
			last = &p
			break
		}
	}
	x.looked.Add(int64(n))
	return found, last
}

// listUnlisted reads the agents that came since and that nobody listed.
func (s *Store) listUnlisted(ctx context.Context) error {
	for _, id := range s.unlisted() {
		l, err := s.newborn(ctx, id)
		if err != nil && s.usable(ctx) != nil {
			return err
		}
		s.lists.mu.Lock()
		if err == nil {
			s.lists.first[id] = l
			s.lists.order.Add(l.Place())
		} else { // one that cannot be read is found by Verify
			s.lists.fresh = append(s.lists.fresh, id)
		}
		s.lists.mu.Unlock()
	}
	return nil
}

// unlisted are the agents that came since this was last asked, and that nobody listed.
func (s *Store) unlisted() (found []perdure.AgentID) {
	x := &s.lists
	s.index.mu.Lock()
	defer s.index.mu.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.begun != s.index.begun {
		x.begun, x.seen = s.index.begun, 0
	}
	x.fresh = append(x.fresh, s.index.born[x.seen:]...)
	x.seen = len(s.index.born)
	for _, id := range x.fresh {
		_, listed := x.all[id]
		_, known := x.first[id]
		if a := s.index.all[id]; !listed && !known && a != nil && a.there() {
			found = append(found, id)
		}
	}
	x.fresh = nil
	return found
}

// listing is that of one agent.
func (s *Store) listing(ctx context.Context, id perdure.AgentID) (l perdure.Listing, err error) {
	tip, err := s.held(ctx, id)
	if err != nil {
		return l, err
	}
	m, err := s.get(ctx, s.streams.list, query{Last: s.streams.lists(id)})
	if err != nil {
		return l, err
	}
	if m != nil {
		if l, good := listingOf(id, m.Data); good {
			return l.after(tip.seq), nil
		}
	}
	first, err := s.newborn(ctx, id)
	return first.after(tip.seq), err
}
