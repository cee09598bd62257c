package nats

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/perdure/perdure"
)

// streamBytes is up to how much of a sequence is kept in memory.
const streamBytes = 4 << 20

// PutAll implements perdure.Parter: pages are written first, and one commit that refers to them, so that a crash leaves
// nothing that is seen. A long sequence is ranged over twice: for what is new of it, and to write that.
func (s *Store) PutAll(ctx context.Context, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) error {
	whole, headers, err := begin(id, entries)
	if err == nil && whole != nil {
		return s.Put(ctx, id, whole...)
	}
	if err == nil {
		err = s.change(ctx, id, func(tip *commit) error {
			fresh, err := s.fresh(ctx, id, tip, headers)
			if err != nil || len(fresh) == 0 {
				return err
			}
			next, w, c := 0, &sheet{s: s, id: id}, follow(tip)
			for e, err := range entries {
				if err == nil && next < len(fresh) && e.Name == fresh[next].Name {
					next++
					c.step(e)
					err = w.add(ctx, e)
				}
				if err != nil {
					w.abandon(ctx)
					return err
				}
			}
			if next < len(fresh) {
				w.abandon(ctx)
				return errors.New("the sequence yields other entries the second time")
			}
			return s.conclude(ctx, id, c, w)
		})
	}
	return s.wrote("put to", id, err)
}

// begin reads a sequence: all of it if it is short, else its entries without bodies.
func begin(id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) (whole, headers []*perdure.Entry, err error) {
	size := 0
	for e, err := range entries {
		if err == nil && e.ID() != id {
			err = e.Foreign(id)
		}
		if err != nil {
			return nil, nil, err
		}
		if size += len(e.HeaderBytes()) + len(e.BodyBytes()); size < streamBytes {
			whole = append(whole, e)
			continue
		}
		for _, w := range whole {
			headers = append(headers, w.Drop())
		}
		whole = nil
		headers = append(headers, e.Drop())
	}
	if len(headers) == 0 && whole == nil {
		whole = []*perdure.Entry{}
	}
	return whole, headers, nil
}

// Replace implements perdure.Parter. It is one commit, as PutAll is, with which another memory begins; what was there
// before is taken out when it is no longer seen.
func (s *Store) Replace(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, d perdure.Depth,
	entries iter.Seq2[*perdure.Entry, error]) error {
	err := s.change(ctx, id, func(tip *commit) error {
		if !sameHeads(tip, heads) {
			return perdure.ErrConflict
		}
		prev := uint64(0)
		if tip != nil {
			prev = tip.seq
		}
		commit, row, err := s.renew(ctx, id, prev, d, entries)
		if err != nil {
			return err
		}
		return s.clear(ctx, id, commit, row)
	})
	return s.wrote("replace", id, err)
}

// renew writes a memory in the place of what there is up to a message, and returns the commit and the first page that
// belong to it: nothing refers to those before.
func (s *Store) renew(ctx context.Context, id perdure.AgentID, prev uint64, d perdure.Depth,
	entries iter.Seq2[*perdure.Entry, error]) (at, row uint64, err error) {
	w, c := &sheet{s: s, id: id}, &commit{prev: prev, depth: d}
	before, err := s.lastOf(ctx, s.streams.row, ">")
	if err != nil {
		return 0, 0, err
	}
	known := map[perdure.Hash]bool{}
	for e, err := range entries {
		if err == nil {
			err = linked(id, d, e, known)
		}
		if err == nil && !known[e.Name] {
			known[e.Name] = true
			c.step(e)
			err = w.add(ctx, e)
		}
		if err != nil {
			w.abandon(ctx)
			return 0, 0, err
		}
	}
	if c.total == 0 {
		return 0, 0, errors.New("no entries")
	}
	if err := s.conclude(ctx, id, c, w); err != nil {
		return 0, 0, err
	}
	err = s.list(ctx, []perdure.Hash{w.begin.Name}, w.begin.Newborn(), true)
	return c.seq, before + 1, err
}

// linked refuses an entry of a memory that has none of its parents, and one that cannot begin a memory of this depth.
func linked(id perdure.AgentID, d perdure.Depth, e *perdure.Entry, known map[perdure.Hash]bool) error {
	if e.ID() != id {
		return e.Foreign(id)
	}
	if len(known) == 0 {
		return d.CheckRoot(e)
	}
	if i := slices.IndexFunc(e.Parents, func(p perdure.Hash) bool { return !known[p] }); i >= 0 {
		return e.Unlinked(e.Parents[i])
	}
	return nil
}

// clear takes out what there is of an agent before a commit, and of the pages before one: nothing refers to those. Who
// wrote pages for a commit before that one was too late with it.
func (s *Store) clear(ctx context.Context, id perdure.AgentID, commit, row uint64) error {
	err := s.purge(ctx, s.streams.log, s.streams.logs(id), commit)
	for _, subject := range []string{s.streams.pages(id), s.streams.prefix + "thin.*." + id.String()} {
		if err == nil {
			err = s.purge(ctx, s.streams.row, subject, row)
		}
	}
	return err
}

// Depth implements perdure.Parter.
func (s *Store) Depth(ctx context.Context, id perdure.AgentID) (d perdure.Depth, err error) {
	c, err := s.held(ctx, id)
	if err != nil {
		return d, fmt.Errorf("depth of agent %s: %w", id.Short(), err)
	}
	return c.depth, nil
}
