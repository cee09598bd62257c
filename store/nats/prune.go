package nats

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure"
)

// Prune implements perdure.Pruner. A message cannot be changed: a smaller one is written beside the log, under the
// place of the first, and then that is removed, and overwritten by the server. No transaction spans messages: what is
// added comes first, and the bodies go one commit after the other.
func (s *Store) Prune(ctx context.Context, id perdure.AgentID, heads, names []perdure.Hash,
	entries ...*perdure.Entry) (gone int64, err error) {
	if err = s.writable(ctx); err != nil {
		return 0, s.wrote("prune", id, err)
	}
	places, err := s.find(ctx, id, names)
	if err == nil {
		err = s.add(ctx, id, on(heads), entries)
	}
	if err != nil {
		return 0, s.wrote("prune", id, err)
	}
	done, err := s.turns.Take(ctx, id)
	if err != nil {
		return 0, s.wrote("prune", id, err)
	}
	defer done()
	for seq := range places {
		var n int64
		if err == nil {
			n, err = s.pruneAt(ctx, id, seq, names)
		}
		gone += n
	}
	if err != nil {
		return 0, s.wrote("prune", id, err)
	}
	return gone, nil
}

// find finds the commits that have these entries. It refuses names of which one is not there.
func (s *Store) find(ctx context.Context, id perdure.AgentID, names []perdure.Hash) (map[uint64]bool, error) {
	tip, err := s.held(ctx, id)
	if err != nil {
		return nil, err
	}
	places, left := map[uint64]bool{}, map[perdure.Hash]bool{}
	for _, n := range names {
		left[n] = true
	}
	for c, err := range s.commits(ctx, id, tip, 0) {
		if err != nil {
			return nil, err
		}
		for _, e := range s.content(ctx, id, c, 0) {
			if e.err != nil {
				return nil, e.err
			}
			if left[e.Name] {
				delete(left, e.Name)
				places[c.seq] = true
			}
		}
		if len(left) == 0 {
			break
		}
	}
	for name := range left {
		return nil, fmt.Errorf("entry %s: %w", name.Short(), perdure.ErrNotFound)
	}
	return places, nil
}

// pruneAt drops the bodies of entries in one commit, and returns how many bytes they had.
func (s *Store) pruneAt(ctx context.Context, id perdure.AgentID, seq uint64, names []perdure.Hash) (int64, error) {
	for {
		old, version, err := s.smallest(ctx, id, seq)
		if err != nil {
			return 0, err
		}
		w, gone := &sheet{s: s, id: id}, int64(0)
		for _, e := range s.content(ctx, id, old, 0) {
			if err = e.err; err != nil {
				break
			}
			if slices.Contains(names, e.Name) && e.BodyBytes() != nil {
				gone += int64(len(e.BodyBytes()))
				e.Entry = e.Drop()
			}
			if err = w.add(ctx, e.Entry); err != nil {
				break
			}
		}
		thin := *old
		if err == nil && gone > 0 {
			err = w.finish(ctx, &thin)
		}
		if err == nil && gone > 0 {
			err = s.unlast(ctx, id, seq)
		}
		if err != nil || gone == 0 {
			w.abandon(ctx)
		} else if err = s.thin(ctx, id, &thin, version); errors.Is(err, errMoved) {
			w.abandon(ctx)
			continue // somebody else pruned it meanwhile
		}
		if err == nil && (gone > 0 || version > 0) { // also what was left half done
			err = s.remove(ctx, s.streams.log, seq)
		}
		if err == nil && gone > 0 {
			if version > 0 {
				err = s.remove(ctx, s.streams.row, version)
			}
			s.drop(ctx, old.pages)
		}
		return gone, err
	}
}

// thin writes a commit that was made smaller, if the version it was made from is still the last.
func (s *Store) thin(ctx context.Context, id perdure.AgentID, c *commit, version uint64) error {
	subject, data := s.streams.thin(c.seq, id.String()), c.encode(id)
	_, err := s.store(ctx, subject, data, version)
	if !errors.Is(err, errMoved) {
		return err
	}
	m, failed := s.get(ctx, s.streams.row, query{Last: subject})
	if failed != nil {
		return failed // not known: whatever it refers to stays
	}
	if m != nil && bytes.Equal(m.Data, data) {
		return nil // it was stored, and the answer was lost
	}
	return errMoved
}

// smallest is a commit as pruning left it, and which version of it that is; zero: it was not pruned.
func (s *Store) smallest(ctx context.Context, id perdure.AgentID, seq uint64) (*commit, uint64, error) {
	m, err := s.get(ctx, s.streams.row, query{Last: s.streams.thin(seq, id.String())})
	if err != nil {
		return nil, 0, err
	}
	if m != nil {
		c, err := decodeCommit(id, seq, m.Data)
		return c, m.Seq, err
	}
	c, err := s.at(ctx, id, seq)
	return c, 0, err
}

// unlast writes a commit without entries after one that is the last of its agent: what is compared when the next is
// written must not be taken out.
func (s *Store) unlast(ctx context.Context, id perdure.AgentID, seq uint64) error {
	tip, err := s.tip(ctx, id)
	if err != nil || tip == nil || tip.seq != seq {
		return err
	}
	if err = s.commit(ctx, id, follow(tip)); errors.Is(err, errMoved) {
		err = nil
	}
	return err
}
