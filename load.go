package perdure

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// Load folds an agent out of a store: from the newest snapshot nothing came before, or from genesis. Its cost is that of the entries since.
func Load(ctx context.Context, s Store, id AgentID) (*Agent, error) {
	for snap, err := range s.Snapshots(ctx, id) {
		if err != nil {
			return nil, fmt.Errorf("load agent %s: %w", id.Short(), err)
		}
		a, err := loadAfter(ctx, s, snap)
		if errors.Is(err, ErrBehind) {
			continue // an entry belongs before this snapshot: an older one may do
		}
		if err != nil {
			return nil, fmt.Errorf("load agent %s: %w", id.Short(), err)
		}
		return a, nil
	}
	a, err := FoldEntries(Memory(ctx, s, id))
	if err != nil {
		return nil, fmt.Errorf("load agent %s: %w", id.Short(), err)
	}
	return a, nil
}

// Memory yields the entries of an agent, parents before children.
func Memory(ctx context.Context, s Store, id AgentID) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for item, err := range s.Entries(ctx, id, 0) {
			if !yield(item.Entry, err) {
				return
			}
		}
	}
}

// loadAfter folds the entries after a snapshot, by loadBytes of their bodies at a time.
func loadAfter(ctx context.Context, s Store, snap Item) (*Agent, error) {
	var a *Agent
	batch, size := []*Entry{snap.Entry}, 0
	fold := func() (err error) {
		cover(batch)
		if a == nil {
			if err := snap.verifySignature(); err != nil {
				return err
			}
			if a, err = FromSnapshot(snap.Entry); err != nil {
				return err
			}
			batch = batch[1:]
		}
		a, err = a.Apply(batch...)
		batch, size = nil, 0
		return err
	}
	for item, err := range s.Entries(ctx, snap.Agent, snap.Cursor) {
		if err != nil {
			return nil, err
		}
		if batch, size = append(batch, item.Entry), size+len(item.body); size >= loadBytes {
			if err := fold(); err != nil {
				return nil, err
			}
		}
	}
	if err := fold(); err != nil {
		return nil, err
	}
	return a.whole()
}

// cover verifies the newest signatures of each author among entries, which come parents first, and marks the signatures they make
// superfluous: an entry in the past of one its own author signed is covered by that signature through the links. It is for entries out of
// a store that verified each when it came in; Verify checks every signature.
func cover(entries []*Entry) {
	covered := make(map[Hash][]Key, len(entries)) // the authors that have signed something after the entry
	for _, e := range slices.Backward(entries) {
		after := covered[e.Name]
		if slices.Contains(after, e.Origin) {
			e.markVerified()
		} else if e.Signature != nil && e.verifySignature() == nil {
			if after = withKey(after, e.Origin); len(after) > maxCovered {
				after = []Key{e.Origin} // the others' earlier signatures are verified one by one
			}
		}
		for _, p := range e.Parents {
			if had := covered[p]; len(had) == 0 {
				covered[p] = after
			} else {
				if had = united(had, after); len(had) > maxCovered {
					had = after
				}
				covered[p] = had
			}
		}
	}
}
