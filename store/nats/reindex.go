package nats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure"
)

const (
	// maxFailed is how many agents that went wrong Reindex names.
	maxFailed = 16
	// orphanAge is how old a page is that nothing refers to before it is removed: until then somebody may be about to
	// write the commit that does.
	orphanAge = time.Hour
)

// Reindex reads and checks every entry, records every listing anew, and removes pages that no commit refers to. Others
// may use the store meanwhile. An agent that cannot be folded keeps the listing it has, and the others are done before
// Reindex says so.
func (s *Store) Reindex(ctx context.Context, progress func(done, total int)) error {
	err := s.writable(ctx)
	if err == nil {
		err = s.restock(ctx, s.streams.list, "list.*")
	}
	if err == nil {
		err = s.restock(ctx, s.streams.claim, "claim.*")
	}
	if err == nil {
		err = s.index.sync(ctx)
	}
	if err != nil {
		return fmt.Errorf("reindex: %w", err)
	}
	var ids []perdure.AgentID
	s.index.mu.Lock()
	for id, l := range s.index.all {
		if l.there() {
			ids = append(ids, id)
		}
	}
	s.index.mu.Unlock()
	var failed []error
	for i, id := range ids {
		if e := s.reindex(ctx, id); e != nil && len(failed) < maxFailed {
			failed = append(failed, fmt.Errorf("agent %s: %w", id.Short(), e))
		}
		if err = s.usable(ctx); err != nil {
			break
		}
		if progress != nil {
			progress(i+1, len(ids))
		}
	}
	if err = errors.Join(append(failed, err)...); err != nil {
		return fmt.Errorf("reindex: %w", err)
	}
	return nil
}

// reindex derives everything about an agent from its entries.
func (s *Store) reindex(ctx context.Context, id perdure.AgentID) error {
	if err := s.sweep(ctx, id); err != nil {
		return err
	}
	a, err := perdure.Load(ctx, s, id)
	if err != nil {
		return err
	}
	return s.list(ctx, a.Heads(), a.Listing(time.Now()), true)
}

// sweep checks the commits of an agent, and removes old pages that none of them refers to.
func (s *Store) sweep(ctx context.Context, id perdure.AgentID) error {
	old := time.Now().Add(-orphanAge)
	tip, err := s.held(ctx, id)
	if errors.Is(err, perdure.ErrNotFound) {
		return nil // it went meanwhile
	}
	if err != nil {
		return err
	}
	used := map[uint64]bool{}
	for c, err := range s.commits(ctx, id, tip, 0) {
		if err != nil {
			return err
		}
		for _, e := range s.content(ctx, id, c, 0) {
			if e.err != nil {
				return e.err
			}
		}
		for _, p := range c.pages {
			used[p.seq] = true
		}
	}
	for next := uint64(1); ; {
		m, err := s.get(ctx, s.streams.row, query{Seq: next, Next: s.streams.pages(id)})
		if err != nil || m == nil || m.Time.After(old) {
			return err
		}
		if next = m.Seq + 1; !used[m.Seq] {
			if err := s.remove(ctx, s.streams.row, m.Seq); err != nil {
				return err
			}
		}
	}
}
