package perdure

import (
	"errors"
	"iter"
	"slices"
)

// An entry of a revoked key that the author of the revocation had not seen is void: it keeps its place in memory and
// counts for nothing. Whoever reads a memory entry by entry, instead of its fold, reads it through Counting, or takes
// what a stolen key says for what came of an effect. The conflicts of a fold tell of void entries, too, but they are
// for people: of many, only the latest are there.

// Counting yields the entries still held that count, newest first: Recent without the void ones.
func (a *Agent) Counting() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for _, s := range []segment{a.cur, a.prev} {
			for l := s.last; l != nil; l = l.before {
				if !l.void && !yield(l.Entry) {
					return
				}
			}
		}
	}
}

// Counting yields the entries of a memory that count. F is the fold of the memory. Where no key was revoked it is the
// memory itself, as it comes; else it holds all of it, and yields it in fold order.
//
// It takes the whole memory, or as much of it as there is. Where that lacks the revocation of a key, because bodies are
// gone, nothing that the key wrote counts: what came before the revocation is gone as well.
func (f *Fold) Counting(memory iter.Seq2[*Entry, error]) iter.Seq2[*Entry, error] {
	if len(f.Revoked) == 0 {
		return memory
	}
	return func(yield func(*Entry, error) bool) {
		var entries []*Entry
		for e, err := range memory {
			if err != nil {
				yield(nil, err)
				return
			}
			entries = append(entries, e)
		}
		slices.SortFunc(entries, func(x, y *Entry) int { return x.Position().Compare(y.Position()) })
		void, err := f.voidAmong(entries)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, e := range entries {
			if !void[e.Name] && !yield(e, nil) {
				return
			}
		}
	}
}

// voidAmong finds the void ones among the entries of a memory, in fold order, as folding them does.
func (f *Fold) voidAmong(entries []*Entry) (map[Hash]bool, error) {
	if len(entries) == 0 {
		return nil, nil
	}
	a, rest := &Agent{fold: new(Fold), bare: true}, entries
	var base *Fold
	if first, err := FromSnapshot(entries[0]); err == nil { // a memory of which only the end is here
		base, rest = first.fold, entries[1:]
		a.fold = base.clone()
	}
	a.fold.judged = new(judged)
	void, err := a.refold(rest, nil, base)
	if err != nil && !errors.Is(err, ErrBehind) {
		return nil, err
	}
	for _, e := range entries {
		if _, change := e.keyChange(); !change && slices.Contains(f.Revoked, e.Origin) &&
			!slices.Contains(a.fold.Revoked, e.Origin) {
			void[e.Name] = true
		}
	}
	return void, nil
}
