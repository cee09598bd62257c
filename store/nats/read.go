package nats

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/perdure/perdure"
)

// Heads implements perdure.Store. It asks the leader of the log. One that was cut off from the other servers may
// answer with heads of a moment ago, until it notices; what is written on those is refused.
func (s *Store) Heads(ctx context.Context, id perdure.AgentID) ([]perdure.Hash, error) {
	c, err := s.held(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("heads of agent %s: %w", id.Short(), err)
	}
	return c.heads, nil
}

// Entries implements perdure.Store.
func (s *Store) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		fail := func(err error) { yield(perdure.Item{}, fmt.Errorf("read agent %s: %w", id.Short(), err)) }
		after := max(after, 0)
		for { // what arrives meanwhile is read, too
			tip, err := s.held(ctx, id)
			if err != nil {
				fail(err)
				return
			}
			if seqOf(after) > tip.seq || seqOf(after) == tip.seq && int(after&(maxEntries-1))+1 >= tip.total {
				return
			}
			for c, err := range s.commits(ctx, id, tip, seqOf(after)) {
				if err != nil {
					fail(err)
					return
				}
				from := 0
				if c.seq == seqOf(after) {
					from = int(after&(maxEntries-1)) + 1
				}
				for i, e := range s.content(ctx, id, c, from) {
					if e.err != nil {
						fail(e.err)
						return
					}
					after = cursor(c.seq, i)
					if !yield(perdure.Item{Entry: e.Entry, Cursor: after}, nil) {
						return
					}
				}
			}
			if seqOf(after) < tip.seq {
				after = cursor(tip.seq, maxEntries-1) // it has no entries of its own
			}
		}
	}
}

// commits yields the commits of the memory that ends with tip, from a place on, oldest first. Each is the one that the
// next names: one that is missing is found in what pruning left, or the servers have lost it.
func (s *Store) commits(ctx context.Context, id perdure.AgentID, tip *commit, from uint64) iter.Seq2[*commit, error] {
	return func(yield func(*commit, error) bool) {
		root := tip.root()
		from := max(from, root)
		if from == tip.seq || tip.prev < from && from > root {
			yield(tip, nil) // as it is mostly
			return
		}
		last := uint64(0) // what was yielded
		give := func(c *commit) (more bool, err error) {
			var gap []*commit
			for at := c; last > 0 && at.prev != last || last == 0 && at.seq > from; {
				if at.seq == root || at.prev < from { // all that was asked for
					break
				}
				if at, err = s.at(ctx, id, at.prev); err != nil {
					return false, err
				}
				gap = append(gap, at)
			}
			for _, g := range slices.Backward(gap) {
				if last = g.seq; !yield(g, nil) {
					return false, nil
				}
			}
			last = c.seq
			return yield(c, nil), nil
		}
		for m, err := range s.between(ctx, s.streams.logs(id), from, tip.seq) {
			var c *commit
			if err == nil {
				c, err = decodeCommit(id, m.Seq, m.Data)
			}
			if err == nil && c.root() != root {
				err = errors.New("its memory was written anew meanwhile: read it again")
			}
			more := false
			if err == nil {
				more, err = give(c)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			if !more {
				return
			}
		}
		if last < tip.seq { // a server that cannot be read from, though the leader has it
			if _, err := give(tip); err != nil {
				yield(nil, err)
			}
		}
	}
}

// Snapshots implements perdure.Store.
func (s *Store) Snapshots(ctx context.Context, id perdure.AgentID) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		err := s.snapshots(ctx, id, func(c *commit, i int) (bool, error) {
			e, err := s.entry(ctx, id, c, i)
			if err != nil || e.Kind != perdure.KindSnapshot || e.BodyBytes() == nil {
				return true, err
			}
			return yield(perdure.Item{Entry: e, Cursor: cursor(c.seq, i)}, nil), nil
		})
		if err != nil {
			yield(perdure.Item{}, err)
		}
	}
}

// NameSnapshots names the snapshots to resume from, newest first, and says where they stand, until yield returns false.
func (s *Store) NameSnapshots(ctx context.Context, id perdure.AgentID,
	yield func(perdure.Hash, perdure.Cursor) bool) error {
	return s.snapshots(ctx, id, func(c *commit, i int) (bool, error) {
		if i == c.total-1 && len(c.heads) == 1 { // as it is mostly: it named every head, and nothing came after it
			return yield(c.heads[0], cursor(c.seq, i)), nil
		}
		e, err := s.entry(ctx, id, c, i)
		return err == nil && yield(e.Name, cursor(c.seq, i)), err
	})
}

// snapshots finds the snapshots to resume from, newest first, until found returns false. A commit names the one before
// it that has a snapshot, so that it costs no more in a long memory than in a short one.
func (s *Store) snapshots(ctx context.Context, id perdure.AgentID, found func(c *commit, i int) (bool, error)) error {
	fail := func(err error) error { return fmt.Errorf("snapshots of agent %s: %w", id.Short(), err) }
	c, err := s.held(ctx, id)
	if err != nil {
		return fail(err)
	}
	for next := c.lastSnap(); next > 0; next = c.snap {
		if next != c.seq {
			if c, err = s.at(ctx, id, next); err != nil {
				return fail(err)
			}
		}
		for _, i := range slices.Backward(c.snaps) {
			if more, err := found(c, i); err != nil {
				return fail(err)
			} else if !more {
				return nil
			}
		}
	}
	return nil
}

// entry reads one entry of a commit.
func (s *Store) entry(ctx context.Context, id perdure.AgentID, c *commit, i int) (*perdure.Entry, error) {
	for _, e := range s.content(ctx, id, c, i) {
		return e.Entry, e.err
	}
	return nil, errCommit
}
