package perdure

import (
	"context"
	"iter"
	"math"
)

// Backwards yields the entries of an agent part by part, the newest part first: parts begin after the snapshots that
// the store offers, and within one parents come before children. Whoever looks for something and stops where it is
// found pays for what came after it, however long the memory.
//
// With until, it ends after a part whose snapshot until accepts: everything that came before that is older.
func Backwards(ctx context.Context, s Store, id AgentID, until func(snapshot *Entry) bool) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		end := Cursor(math.MaxInt64)
		part := func(after Cursor) bool {
			for item, err := range s.Entries(ctx, id, after) {
				if err == nil && item.Cursor > end {
					break
				}
				if !yield(item.Entry, err) || err != nil {
					return false
				}
			}
			end = after
			return true
		}
		for snap, err := range s.Snapshots(ctx, id) {
			if err != nil {
				yield(nil, err)
				return
			}
			if snap.Cursor >= end {
				continue
			}
			if !part(snap.Cursor) || until != nil && until(snap.Entry) {
				return
			}
		}
		part(0)
	}
}

// Find is an entry of the agent in a store that holds it; nil: it has none of that name. What it costs is what came
// after the entry, see Backwards.
func (a *Agent) Find(ctx context.Context, s Store, name Hash) (*Entry, error) {
	if e := a.recent(name); e != nil {
		return e, nil
	}
	for e, err := range Backwards(ctx, s, a.ID(), nil) {
		if err != nil || e.Name == name {
			return e, err
		}
	}
	return nil, nil
}

// stored reports whether a store holds an entry of the agent. It looks no further back than the entry could be: what
// came before a snapshot of everything has a smaller seq.
func (a *Agent) stored(ctx context.Context, s Store, e *Entry) (bool, error) {
	if a.recent(e.Name) != nil {
		return true, nil
	}
	for held, err := range Backwards(ctx, s, a.ID(), func(snapshot *Entry) bool { return snapshot.Seq <= e.Seq }) {
		if err != nil || held.Name == e.Name {
			return err == nil, err
		}
	}
	return false, nil
}
