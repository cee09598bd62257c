package perdure

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/entropy"
	"github.com/perdure/perdure/internal/ordered"
)

// MemStore is a store in memory, for tests and for agents that need not outlive their process. The zero value is empty
// and ready.
type MemStore struct {
	mu       sync.Mutex
	agents   map[AgentID]*memAgent
	watchers map[*memWatcher]struct{}
	closed   bool
	place    Hash // its own id; zero: not needed yet
	feed     []memArrival
	order    *ordered.Set[ListPlace] // of the agents in lists; nil: there are none
	looked   int64                   // how many of them were looked at
}

// memArrival is where an entry that arrived is kept: a position in the feed is the number of arrivals up to and
// including it.
type memArrival struct {
	agent *memAgent // nil: its memory was written anew since, and arrived again
	at    int
}

var (
	_ Store   = (*MemStore)(nil)
	_ Claimer = (*MemStore)(nil)
	_ Holder  = (*MemStore)(nil)
	_ Lister  = (*MemStore)(nil)
	_ Watcher = (*MemStore)(nil)
	_ Pruner  = (*MemStore)(nil)
	_ Placed  = (*MemStore)(nil)
	_ Parter  = (*MemStore)(nil)
	_ Feeder  = (*MemStore)(nil)
)

// memAgent is one agent in a MemStore. A cursor is the number of entries up to and including the one it stands for.
type memAgent struct {
	entries []*Entry
	at      map[Hash]int // where in entries
	memIndex
	claim Claim // of the node that holds it, if one does: then due is the end of its lease
	fence int64 // of the last claim
	depth Depth
}

// memIndex is what a MemStore derives from the entries of an agent.
type memIndex struct {
	heads     []Hash // ascending
	snapshots []Cursor
	due       Time
	listing   Listing
}

// Place implements Placed.
func (s *MemStore) Place(context.Context) (Hash, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.place.IsZero() {
		if _, err := io.ReadFull(entropy.Reader, s.place[:]); err != nil {
			return Hash{}, err
		}
	}
	return s.place, nil
}

// Append implements Store.
func (s *MemStore) Append(ctx context.Context, id AgentID, heads []Hash, entries ...*Entry) error {
	return s.write(ctx, "append to", id, func(a *memAgent) error {
		if !sameHeads(a.heads, heads) {
			return ErrConflict
		}
		return s.arrive(a, id, entries)
	})
}

// Put implements Store.
func (s *MemStore) Put(ctx context.Context, id AgentID, entries ...*Entry) error {
	return s.write(ctx, "put to", id, func(a *memAgent) error { return s.arrive(a, id, entries) })
}

// write calls f with the agent, or with an empty one if the store does not hold it, under the lock.
func (s *MemStore) write(ctx context.Context, verb string, id AgentID, f func(a *memAgent) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.usable(ctx)
	if err == nil {
		a := s.agents[id]
		if a == nil {
			a = &memAgent{at: map[Hash]int{}}
		}
		err = f(a)
	}
	if err != nil {
		return fmt.Errorf("%s agent %s: %w", verb, id.Short(), err)
	}
	return nil
}

// held is write for agents the store holds.
func (s *MemStore) held(ctx context.Context, verb string, id AgentID, f func(a *memAgent) error) error {
	return s.write(ctx, verb, id, func(a *memAgent) error {
		if len(a.entries) == 0 {
			return ErrNotFound
		}
		return f(a)
	})
}

// usable says why the store cannot be used, if it cannot.
func (s *MemStore) usable(ctx context.Context) error {
	if s.closed {
		return fmt.Errorf("store in memory: %w", fs.ErrClosed)
	}
	return ctx.Err()
}

// sameHeads compares heads, which are ascending in a store, with heads in any order.
func sameHeads(held, given []Hash) bool {
	if !slices.IsSortedFunc(given, Hash.Compare) {
		given = slices.SortedFunc(slices.Values(given), Hash.Compare)
	}
	return slices.Equal(held, given)
}

// arrive adds the entries that a does not hold, all or none.
func (s *MemStore) arrive(a *memAgent, id AgentID, entries []*Entry) error {
	var fresh []*Entry
	added := map[Hash]bool{}
	for _, e := range entries {
		if e.ID() != id {
			return e.Foreign(id)
		}
		if _, held := a.at[e.Name]; held || added[e.Name] {
			continue
		}
		for _, p := range e.Parents {
			if _, held := a.at[p]; !held && !added[p] {
				return e.Unlinked(p)
			}
		}
		added[e.Name] = true
		fresh = append(fresh, e)
	}
	if len(fresh) == 0 {
		return nil
	}
	for _, e := range fresh {
		a.at[e.Name] = len(a.entries)
		s.feed = append(s.feed, memArrival{a, len(a.entries)})
		a.entries = append(a.entries, e)
		a.index(e, Cursor(len(a.entries)))
	}
	if a.claim.Node.IsZero() {
		a.due = a.dueOfHeads()
	}
	if s.agents == nil {
		s.agents = map[AgentID]*memAgent{}
	}
	if old := s.agents[id]; old == nil || old.listing.Name != a.listing.Name {
		s.placed(a.listing)
	}
	s.agents[id] = a
	for w := range s.watchers {
		w.tell(id)
	}
	return nil
}

// PutAll implements Parter.
func (s *MemStore) PutAll(ctx context.Context, id AgentID, entries iter.Seq2[*Entry, error]) error {
	all, err := collect(entries)
	if err != nil {
		return err
	}
	return s.Put(ctx, id, all...)
}

// Replace implements Parter.
func (s *MemStore) Replace(ctx context.Context, id AgentID, heads []Hash, d Depth,
	entries iter.Seq2[*Entry, error]) error {
	all, err := collect(entries)
	if err != nil || len(all) == 0 {
		return err
	}
	return s.write(ctx, "replace", id, func(old *memAgent) error {
		if !sameHeads(old.heads, heads) {
			return ErrConflict
		}
		if err := d.CheckRoot(all[0]); err != nil {
			return err
		}
		a := &memAgent{at: map[Hash]int{}, claim: old.claim, fence: old.fence, depth: d}
		a.due = old.due
		for _, p := range all[0].Parents {
			a.at[p] = -1 // what stands for the past, while it arrives
		}
		err := s.arrive(a, id, all)
		for _, p := range all[0].Parents {
			delete(a.at, p)
		}
		if err == nil {
			s.unfeed(old)
		}
		return err
	})
}

// Depth implements Parter.
func (s *MemStore) Depth(ctx context.Context, id AgentID) (d Depth, err error) {
	err = s.held(ctx, "depth of", id, func(a *memAgent) error {
		d = a.depth
		return nil
	})
	return d, err
}

// index keeps heads and snapshots as e arrives, and makes the first listing out of genesis.
func (x *memIndex) index(e *Entry, at Cursor) {
	if e.Kind == KindSnapshot && (len(x.heads) == 0 || slices.Equal(x.heads, e.Parents)) {
		x.snapshots = append(x.snapshots, at)
	}
	heads := slices.DeleteFunc(slices.Clone(x.heads), func(h Hash) bool { return slices.Contains(e.Parents, h) })
	i, _ := slices.BinarySearchFunc(heads, e.Name, Hash.Compare)
	x.heads = slices.Insert(heads, i, e.Name)
	if at == 1 {
		x.listing = e.Newborn()
	}
}

// dueOfHeads is when the entries say a node should look.
func (a *memAgent) dueOfHeads() Time {
	if len(a.heads) > 1 {
		return AtOnce
	}
	return a.entries[a.at[a.heads[0]]].Due
}

// Entries implements Store.
func (s *MemStore) Entries(ctx context.Context, id AgentID, after Cursor) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for at := max(after, 0); ; {
			var page []*Entry
			err := s.held(ctx, "read", id, func(a *memAgent) error {
				from := min(int(at), len(a.entries))
				page = slices.Clone(a.entries[from:min(from+256, len(a.entries))])
				return nil
			})
			if err != nil {
				yield(Item{}, err)
				return
			}
			for _, e := range page {
				at++
				if !yield(Item{e, at}, nil) {
					return
				}
			}
			if len(page) == 0 {
				return
			}
		}
	}
}

// unfeed takes the arrivals of a memory out of the feed that another has taken the place of.
func (s *MemStore) unfeed(old *memAgent) {
	for i := range s.feed {
		if s.feed[i].agent == old {
			s.feed[i].agent = nil
		}
	}
}

// Feed implements Feeder.
func (s *MemStore) Feed(ctx context.Context, after Cursor) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for at := max(after, 0); ; {
			page, end, err := s.fed(ctx, at)
			if err != nil {
				yield(Item{}, fmt.Errorf("read feed: %w", err))
				return
			}
			for _, item := range page {
				if !yield(item, nil) {
					return
				}
			}
			if at == end {
				return
			}
			at = end
		}
	}
}

// fed reads a page of the feed, and where it ends.
func (s *MemStore) fed(ctx context.Context, after Cursor) (page []Item, end Cursor, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil {
		return nil, 0, err
	}
	if after > Cursor(len(s.feed)) {
		return nil, 0, Unfed(after, Cursor(len(s.feed)))
	}
	end = min(after+256, Cursor(len(s.feed)))
	for at := after; at < end; at++ {
		if x := s.feed[at]; x.agent != nil {
			page = append(page, Item{x.agent.entries[x.at], at + 1})
		}
	}
	return page, end, nil
}

// FeedEnd implements Feeder.
func (s *MemStore) FeedEnd(ctx context.Context) (Hash, Cursor, error) {
	place, err := s.Place(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		err = s.usable(ctx)
	}
	if err != nil {
		return Hash{}, 0, fmt.Errorf("end of feed: %w", err)
	}
	return place, Cursor(len(s.feed)), nil
}

// Heads implements Store.
func (s *MemStore) Heads(ctx context.Context, id AgentID) (heads []Hash, err error) {
	err = s.held(ctx, "heads of", id, func(a *memAgent) error {
		heads = slices.Clone(a.heads)
		return nil
	})
	return heads, err
}

// Snapshots implements Store.
func (s *MemStore) Snapshots(ctx context.Context, id AgentID) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		var items []Item
		err := s.held(ctx, "snapshots of", id, func(a *memAgent) error {
			for _, at := range slices.Backward(a.snapshots) {
				if e := a.entries[at-1]; e.body != nil {
					items = append(items, Item{e, at})
				}
			}
			return nil
		})
		if err != nil {
			yield(Item{}, err)
			return
		}
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

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

// Close implements Store.
func (s *MemStore) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for w := range s.watchers {
		w.wake()
	}
	return nil
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

// placed gives an agent its place in lists.
func (s *MemStore) placed(l Listing) {
	if s.order == nil {
		set := ordered.New(ListPlace.Compare)
		s.order = &set
	}
	s.order.Add(l.Place())
}

// memPage is how many agents are looked at under one lock.
const memPage = 256

// List implements Lister.
func (s *MemStore) List(ctx context.Context, f Filter) iter.Seq2[Listing, error] {
	return func(yield func(Listing, error) bool) {
		left, at := f.Limit, f.place()
		for {
			found, last, err := s.page(ctx, f, at)
			if err != nil {
				yield(Listing{}, fmt.Errorf("list agents: %w", err))
				return
			}
			for _, l := range found {
				if !yield(l, nil) {
					return
				}
				if left--; left == 0 {
					return
				}
			}
			if at = last; at == nil {
				return
			}
		}
	}
}

// page is what a filter selects of the next agents after a place, and the place of the last; nil: there are no more.
func (s *MemStore) page(ctx context.Context, f Filter, at *ListPlace) (found []Listing, last *ListPlace, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable(ctx); err != nil || s.order == nil {
		return nil, nil, err
	}
	n := 0
	for p := range s.order.After(at) {
		s.looked++
		if a := s.agents[p.Agent]; a != nil && a.listing.Name == p.Name && f.Match(a.listing) {
			l := a.listing
			l.Labels = maps.Clone(l.Labels)
			found = append(found, l)
		}
		if n++; n == memPage || f.Limit > 0 && len(found) == f.Limit {
			return found, &p, nil
		}
	}
	return found, nil, nil
}

// Looked is how many agents were looked at to list some.
func (s *MemStore) Looked() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.looked
}

// Index implements Lister.
func (s *MemStore) Index(ctx context.Context, _ []Hash, l Listing) error {
	return s.held(ctx, "index", l.Agent, func(a *memAgent) error {
		if l.Entries >= a.listing.Entries {
			l.Labels = maps.Clone(l.Labels)
			if l.Name != a.listing.Name {
				s.placed(l)
			}
			a.listing = l
		}
		return nil
	})
}

// Prune implements Pruner.
func (s *MemStore) Prune(ctx context.Context, id AgentID, names ...Hash) (gone int64, err error) {
	err = s.held(ctx, "prune", id, func(a *memAgent) error {
		for _, name := range names {
			if _, held := a.at[name]; !held {
				return fmt.Errorf("entry %s: %w", name.Short(), ErrNotFound)
			}
		}
		for _, name := range names {
			i := a.at[name]
			gone += int64(len(a.entries[i].body))
			a.entries[i] = a.entries[i].Drop()
		}
		return nil
	})
	return gone, err
}

// Reindex rebuilds every derived index.
func (s *MemStore) Reindex(ctx context.Context, progress func(done, total int)) error {
	s.mu.Lock()
	ids := slices.Collect(maps.Keys(s.agents))
	err := s.usable(ctx)
	s.mu.Unlock()
	if err != nil {
		return fmt.Errorf("reindex: %w", err)
	}
	var errs []error
	for i, id := range ids {
		errs = append(errs, s.reindex(ctx, id))
		if progress != nil {
			progress(i+1, len(ids))
		}
	}
	return errors.Join(errs...)
}

// reindex derives everything about an agent anew.
func (s *MemStore) reindex(ctx context.Context, id AgentID) error {
	if err := s.held(ctx, "reindex", id, (*memAgent).reindex); err != nil {
		return err
	}
	a, err := Load(ctx, s, id) // not a fold from genesis: what lies behind a snapshot may have been pruned
	if err != nil {
		return fmt.Errorf("reindex: %w", err)
	}
	return s.held(ctx, "reindex", id, func(m *memAgent) error {
		m.listing = a.Listing(time.Now())
		return nil
	})
}

// reindex derives heads, snapshots and due anew.
func (a *memAgent) reindex() error {
	old := a.memIndex
	a.memIndex = memIndex{due: old.due}
	for i, e := range a.entries {
		a.index(e, Cursor(i+1))
	}
	a.listing = old.listing
	if a.claim.Node.IsZero() {
		a.due = a.dueOfHeads()
	}
	return nil
}

// maxWatched bounds the agents a watcher is told of before it has asked: a watcher that is further behind looks at all
// of them.
const maxWatched = 4096

// memWatcher is one caller of Watch.
type memWatcher struct {
	changed map[AgentID]struct{}
	signal  chan struct{}
}

// tell notes that id changed. The caller holds the lock of the store.
func (w *memWatcher) tell(id AgentID) {
	if len(w.changed) >= maxWatched {
		id = AgentID{}
	}
	w.changed[id] = struct{}{}
	w.wake()
}

func (w *memWatcher) wake() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// Watch implements Watcher.
func (s *MemStore) Watch(ctx context.Context) iter.Seq2[AgentID, error] {
	return func(yield func(AgentID, error) bool) {
		w := &memWatcher{changed: map[AgentID]struct{}{}, signal: make(chan struct{}, 1)}
		s.mu.Lock()
		if s.watchers == nil {
			s.watchers = map[*memWatcher]struct{}{}
		}
		s.watchers[w] = struct{}{}
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			delete(s.watchers, w)
			s.mu.Unlock()
		}()
		for {
			s.mu.Lock()
			changed := w.changed
			w.changed = map[AgentID]struct{}{}
			err := s.usable(context.WithoutCancel(ctx))
			s.mu.Unlock()
			if err != nil {
				yield(AgentID{}, fmt.Errorf("watch: %w", err))
				return
			}
			for id := range changed {
				if ctx.Err() != nil || !yield(id, nil) {
					return
				}
			}
			select {
			case <-w.signal:
			case <-ctx.Done():
				return
			}
		}
	}
}
