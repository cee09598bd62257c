package perdure

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"sync"

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
func (s *MemStore) Place(context.Context) (Place, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.place.IsZero() {
		if _, err := io.ReadFull(entropy.Reader, s.place[:]); err != nil {
			return Place{}, err
		}
	}
	return Place{ID: s.place}, nil
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
	a.listing.Behind = len(a.entries) > 1
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

// SnapshotCursors says where the snapshots stand that Snapshots yields, newest first.
func (s *MemStore) SnapshotCursors(ctx context.Context, id AgentID) (places []Cursor, err error) {
	err = s.held(ctx, "snapshots of", id, func(a *memAgent) error {
		for _, at := range slices.Backward(a.snapshots) {
			if a.entries[at-1].body != nil {
				places = append(places, at)
			}
		}
		return nil
	})
	return places, err
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

// Prune implements Pruner.
func (s *MemStore) Prune(ctx context.Context, id AgentID, heads, names []Hash, entries ...*Entry) (gone int64,
	err error) {
	err = s.held(ctx, "prune", id, func(a *memAgent) error {
		if !sameHeads(a.heads, heads) {
			return ErrConflict
		}
		for _, name := range names {
			if _, held := a.at[name]; !held {
				return fmt.Errorf("entry %s: %w", name.Short(), ErrNotFound)
			}
		}
		if err := s.arrive(a, id, entries); err != nil {
			return err
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
