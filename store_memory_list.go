package perdure

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/ordered"
)

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
func (s *MemStore) Index(ctx context.Context, heads []Hash, l Listing) error {
	return s.held(ctx, "index", l.Agent, func(a *memAgent) error {
		if l.Behind = !sameHeads(a.heads, heads); !l.Behind || l.Entries >= a.listing.Entries {
			l.Labels = maps.Clone(l.Labels)
			if l.Name != a.listing.Name {
				s.placed(l)
			}
			a.listing = l
		}
		return nil
	})
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
