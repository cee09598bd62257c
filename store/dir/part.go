package dir

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
)

// Replace implements perdure.Parter.
func (s *Store) Replace(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, d perdure.Depth,
	entries iter.Seq2[*perdure.Entry, error]) error {
	if s.looks {
		return fmt.Errorf("replace agent %s: %w", id.Short(), errLooks)
	}
	existing := func(l *capsule.Log) error {
		if !slices.Equal(l.LockedHeads(), slices.SortedFunc(slices.Values(heads), perdure.Hash.Compare)) {
			return perdure.ErrConflict
		}
		return l.Replace(d, entries)
	}
	err := s.with(ctx, "replace", id, true, existing)
	if err == nil {
		return s.unlist(ctx, id)
	}
	if !errors.Is(err, perdure.ErrNotFound) {
		return err
	}
	if err = nil; len(heads) > 0 {
		err = perdure.ErrConflict
	}
	made := false
	if err == nil {
		made, err = s.stage(ctx, id, d, entries)
	}
	if err != nil {
		return fmt.Errorf("replace agent %s: %w", id.Short(), err)
	}
	if !made { // another process was first
		err = s.with(ctx, "replace", id, true, existing)
	}
	if err != nil {
		return err
	}
	return s.unlist(ctx, id)
}

// unlist forgets how an agent was listed: what has taken its place may be shorter.
func (s *Store) unlist(ctx context.Context, id perdure.AgentID) error {
	return s.with(ctx, "unlist", id, false, func(*capsule.Log) error {
		return s.journal.update(id, func(r *row) error {
			r.Listing = nil
			return nil
		})
	})
}

// Depth implements perdure.Parter.
func (s *Store) Depth(ctx context.Context, id perdure.AgentID) (d perdure.Depth, err error) {
	err = s.with(ctx, "depth of", id, false, func(l *capsule.Log) (err error) {
		d, err = l.Depth(s.trust)
		return err
	})
	return d, err
}
