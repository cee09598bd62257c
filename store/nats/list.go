package nats

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/perdure/perdure"
)

// listIndex knows the listings, read as they come. It is made when somebody first asks for more than one.
type listIndex struct {
	store *Store

	start sync.Mutex
	lists *follower // nil: not needed yet
	mu    sync.Mutex
	all   map[perdure.AgentID]perdure.Listing
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
	x.all = map[perdure.AgentID]perdure.Listing{}
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
	if delete(x.all, id); good {
		x.all[id] = l
	}
}

// listingOf reads a listing; not good: it is none, or the agent went.
func listingOf(id perdure.AgentID, b []byte) (l perdure.Listing, good bool) {
	return l, json.Unmarshal(b, &l) == nil && l.Agent == id
}

// born lists an agent that was just made. Nobody waits for it: an agent that is not listed is read.
func (s *Store) born(id perdure.AgentID, first *perdure.Entry) {
	b, err := json.Marshal(first.Newborn())
	if err != nil {
		return
	}
	_ = s.conn.PublishMsg(&client.Msg{Subject: s.streams.lists(id), Data: b,
		Header: client.Header{"Nats-Expected-Last-Subject-Sequence": {"0"}}})
}

// newborn is the listing of an agent of which there is none.
func (s *Store) newborn(ctx context.Context, id perdure.AgentID) (l perdure.Listing, err error) {
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
	return first.Newborn(), nil
}

// Index implements perdure.Lister.
func (s *Store) Index(ctx context.Context, _ []perdure.Hash, l perdure.Listing) error {
	return s.wrote("index", l.Agent, s.list(ctx, l, false))
}

// list records a listing, an older one only when forced to.
func (s *Store) list(ctx context.Context, l perdure.Listing, force bool) error {
	b, err := json.Marshal(l)
	if err == nil {
		err = s.writable(ctx)
	}
	if err == nil {
		_, err = s.known(ctx, l.Agent)
	}
	if err != nil {
		return err
	}
	for {
		m, err := s.get(ctx, s.streams.list, query{Last: s.streams.lists(l.Agent)})
		if err != nil {
			return err
		}
		expected := uint64(0)
		if m != nil {
			expected = m.Seq
			if old, good := listingOf(l.Agent, m.Data); good && !force && old.Entries > l.Entries ||
				bytes.Equal(m.Data, b) {
				return nil
			}
		}
		if _, err = s.store(ctx, s.streams.lists(l.Agent), b, expected); !errors.Is(err, errMoved) {
			return err
		}
	}
}

// List implements perdure.Lister.
func (s *Store) List(ctx context.Context, f perdure.Filter) iter.Seq2[perdure.Listing, error] {
	return func(yield func(perdure.Listing, error) bool) {
		found, err := s.listings(ctx, f)
		if err != nil {
			yield(perdure.Listing{}, fmt.Errorf("list agents: %w", err))
			return
		}
		slices.SortFunc(found, func(x, y perdure.Listing) int {
			return cmp.Or(cmp.Compare(x.Name, y.Name), bytes.Compare(x.Agent[:], y.Agent[:]))
		})
		if f.Limit > 0 && len(found) > f.Limit {
			found = found[:f.Limit]
		}
		for _, l := range found {
			if !yield(l, nil) {
				return
			}
		}
	}
}

// listings are those that match, in any order.
func (s *Store) listings(ctx context.Context, f perdure.Filter) (out []perdure.Listing, err error) {
	var one perdure.AgentID
	if one.UnmarshalText([]byte(strings.ToLower(f.Prefix))) == nil && !one.IsZero() { // it needs no index
		l, err := s.listing(ctx, one)
		if errors.Is(err, perdure.ErrNotFound) {
			return nil, nil
		}
		if err == nil && f.Match(l) {
			out = append(out, l)
		}
		return out, err
	}
	if err := s.index.sync(ctx); err != nil {
		return nil, err
	}
	if err := s.lists.sync(ctx); err != nil {
		return nil, err
	}
	var unlisted []perdure.AgentID
	s.index.mu.Lock()
	s.lists.mu.Lock()
	for id, a := range s.index.all {
		if l, listed := s.lists.all[id]; !listed && a.there() {
			unlisted = append(unlisted, id)
		} else if a.there() && f.Match(l) {
			out = append(out, l)
		}
	}
	s.lists.mu.Unlock()
	s.index.mu.Unlock()
	for _, id := range unlisted {
		l, err := s.newborn(ctx, id)
		if err != nil && s.usable(ctx) != nil {
			return nil, err
		}
		if err == nil && f.Match(l) { // one that cannot be read is found by Verify
			out = append(out, l)
		}
	}
	return out, nil
}

// listing is that of one agent.
func (s *Store) listing(ctx context.Context, id perdure.AgentID) (l perdure.Listing, err error) {
	if _, err := s.held(ctx, id); err != nil {
		return l, err
	}
	m, err := s.get(ctx, s.streams.list, query{Last: s.streams.lists(id)})
	if err != nil {
		return l, err
	}
	if m != nil {
		if l, good := listingOf(id, m.Data); good {
			return l, nil
		}
	}
	return s.newborn(ctx, id)
}
