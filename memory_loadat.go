package perdure

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sort"
)

// Straight reports whether the memory never branched: each entry but the last has one child, and seq counts them.
func (a *Agent) Straight() bool {
	return a.fold.straight()
}

// LoadAt is Load of an agent as it was at one of its entries: the fold of that entry and everything in its past. Now is
// the agent as it is.
//
// Of a memory that never branched it reads what lies between the nearest snapshot it may believe and the entry; of
// another one everything, once for the links and once for what is in the past. It holds no more of it than Load does,
// unless branches lie far apart or bodies are gone.
func (t *Trust) LoadAt(ctx context.Context, s Store, now *Agent, at *Entry) (*Agent, error) {
	a, err := t.loadAt(ctx, s, now, at)
	if behind(err) {
		a, err = AgentAt(Memory(ctx, s, now.ID()), at.Name)
	}
	if err != nil {
		return nil, fmt.Errorf("load agent %s at %s: %w", now.ID().Short(), at.Name.Short(), err)
	}
	return a, nil
}

func (t *Trust) loadAt(ctx context.Context, s Store, now *Agent, at *Entry) (*Agent, error) {
	if !now.Straight() {
		past, err := pastOf(Memory(ctx, s, now.ID()), at.Name)
		if err != nil {
			return nil, err
		}
		return new(Agent).takeAll(only(Memory(ctx, s, now.ID()), past))
	}
	vouch := t.vouch(ctx, s, now.ID())
	for snap, err := range SnapshotsUpTo(ctx, s, now.ID(), at.Seq) {
		if err != nil {
			return nil, err
		}
		if !vouch(snap.Entry) {
			continue
		}
		a, err := FromSnapshot(snap.Entry)
		if err != nil || snap.Name == at.Name {
			return a, err
		}
		return a.takeAll(upTo(s.Entries(ctx, now.ID(), snap.Cursor), at.Name))
	}
	return new(Agent).takeAll(upTo(s.Entries(ctx, now.ID(), 0), at.Name))
}

// SnapshotsUpTo yields what Store.Snapshots does of a memory that never branched, but for snapshots later than a seq. A
// store that can say where its snapshots stand is asked for a few of the later ones, any other for all of them.
func SnapshotsUpTo(ctx context.Context, s Store, id AgentID, seq int64) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		all := s.Snapshots(ctx, id)
		if earlier, ok := seekSnapshots(ctx, s, id, seq); ok {
			all = earlier
		}
		for snap, err := range all {
			if (err != nil || snap.Seq <= seq) && !yield(snap, err) {
				return
			}
		}
	}
}

// snapshotPlacer is a store that says where the snapshots may stand that Snapshots yields, newest first, without
// reading them: one may have lost its body.
type snapshotPlacer interface {
	SnapshotCursors(ctx context.Context, id AgentID) ([]Cursor, error)
}

// seekSnapshots yields snapshots from about the newest one up to a seq on, newest first. It is false if they are not
// all found where the store says: Snapshots may know more, or what is wrong.
func seekSnapshots(ctx context.Context, s Store, id AgentID, seq int64) (iter.Seq2[Item, error], bool) {
	p, ok := s.(snapshotPlacer)
	if !ok {
		return nil, false
	}
	places, err := p.SnapshotCursors(ctx, id)
	found := err == nil
	first := sort.Search(len(places), func(i int) bool {
		item, there, err := snapshotAt(ctx, s, id, places[i])
		found = found && there && err == nil
		return !found || item.Seq <= seq
	})
	return func(yield func(Item, error) bool) {
		for _, c := range places[first:] {
			item, there, err := snapshotAt(ctx, s, id, c)
			if errors.Is(err, ErrNotFound) || err == nil && (!there || item.body == nil) {
				continue // it has been dropped meanwhile
			}
			if !yield(item, err) {
				return
			}
		}
	}, found
}

// snapshotAt is the snapshot at a cursor, if it is there.
func snapshotAt(ctx context.Context, s Store, id AgentID, at Cursor) (snap Item, there bool, err error) {
	for item, err := range s.Entries(ctx, id, at-1) {
		return item, err == nil && item.Cursor == at && item.Kind == KindSnapshot, err
	}
	return Item{}, false, nil
}

// takeAll folds entries of a memory that was folded before, so that which signatures cover them is not asked: it may
// end inside a commit. The caller owns a.
func (a *Agent) takeAll(entries iter.Seq2[*Entry, error]) (*Agent, error) {
	var asked seals
	for e, err := range covered(entries) {
		if err != nil {
			return nil, err
		}
		if a, err = a.take(e, &asked); err != nil {
			return nil, err
		}
	}
	return a.complete()
}

// upTo yields entries up to one, or an error if that is not among them.
func upTo(items iter.Seq2[Item, error], last Hash) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for item, err := range items {
			if !yield(item.Entry, err) || err != nil || item.Name == last {
				return
			}
		}
		yield(nil, fmt.Errorf("entry %s: %w", last.Short(), ErrNotFound))
	}
}

// only yields the entries of these names.
func only(entries iter.Seq2[*Entry, error], names map[Hash]bool) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for e, err := range entries {
			if (err != nil || names[e.Name]) && !yield(e, err) {
				return
			}
		}
	}
}

// pastOf is the names of an entry and everything it descends from.
func pastOf(entries iter.Seq2[*Entry, error], at Hash) (map[Hash]bool, error) {
	parents := map[Hash][]Hash{}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if parents[e.Name] = e.Parents; e.Name == at {
			break // parents come before children
		}
	}
	if _, found := parents[at]; !found {
		return nil, fmt.Errorf("entry %s: %w", at.Short(), ErrNotFound)
	}
	past := map[Hash]bool{at: true}
	for todo := []Hash{at}; len(todo) > 0; {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, p := range parents[name] {
			if _, there := parents[p]; there && !past[p] {
				past[p] = true
				todo = append(todo, p)
			}
		}
	}
	return past, nil
}
