package perdure

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
)

// Reader reads the entries of an agent that count, in fold order: those that the agent holds, then no more of the store
// than it is asked for, from the newest back. What a store got since the agent was loaded is not of its past, and left
// out. Every advisor, durable function and page that tells what came of something reads it here, see also Ledger.
//
// A Reader is for one goroutine.
type Reader struct {
	fold  *Fold
	store Store
	held  map[Hash]bool // what the agent holds, and whether it is void
	found map[Hash]*Entry
	read  int    // how many entries of the store
	end   Cursor // what came up to here has not been read
	first *Entry // the snapshot there; nil: none yet
	whole bool   // there is no more to read

	past []*Entry      // of those found, in fold order; nil: to be made
	void map[Hash]bool // of those; nil: not known
}

// Reader reads the memory of an agent. Without a store it reads what the agent holds, and refuses to go further back,
// with an error that wraps ErrIncapable.
func (a *Agent) Reader(s Store) *Reader {
	r := a.fold.Reader(s)
	for _, seg := range []segment{a.cur, a.prev} {
		for l := seg.last; l != nil; l = l.before {
			r.held[l.Name], r.found[l.Name] = l.void, l.Entry
			r.whole = r.whole || l.Kind == KindGenesis
		}
	}
	return r
}

// Reader is Agent.Reader for who has the fold alone.
func (f *Fold) Reader(s Store) *Reader {
	return &Reader{fold: f, store: s, held: map[Hash]bool{}, found: map[Hash]*Entry{}, end: math.MaxInt64}
}

// All yields all entries there are that count. Of a memory that never branched it holds none but those the agent does.
func (r *Reader) All(ctx context.Context) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		if r.fold.straight() && !r.whole && r.store != nil {
			r.stream(ctx, yield)
			return
		}
		entries, err := r.Since(ctx, 0)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// stream yields a memory that never branched: what the store has from before the entries that the agent holds, and
// these. Of two entries of one seq the second came since.
func (r *Reader) stream(ctx context.Context, yield func(*Entry, error) bool) {
	next, held := int64(-1), r.sorted()
	for item, err := range r.store.Entries(ctx, r.fold.Agent, 0) {
		if err != nil {
			yield(nil, r.unread(err))
			return
		}
		if len(held) > 0 && item.Seq >= held[0].Seq || item.Seq > r.fold.Seq {
			break
		}
		if item.Seq >= next && !yield(item.Entry, nil) {
			return
		}
		next = max(next, item.Seq+1)
	}
	for _, e := range held {
		if !yield(e, nil) {
			return
		}
	}
}

// Since is the entries that count, back to those of a seq at least; zero: all there are.
func (r *Reader) Since(ctx context.Context, seq int64) ([]*Entry, error) {
	for {
		entries := r.sorted()
		if r.reaches(seq) && r.judge() {
			return slices.DeleteFunc(slices.Clone(entries), func(e *Entry) bool { return r.void[e.Name] }), nil
		}
		if err := r.more(ctx); err != nil {
			return nil, err
		}
	}
}

// Read is everything read so far, the void entries, too, in fold order: they link what comes after them to what came
// before.
func (r *Reader) Read() []*Entry { return r.sorted() }

// Find is an entry of this name, void or not; nil: it is not here.
func (r *Reader) Find(ctx context.Context, name Hash) (*Entry, error) {
	for {
		if e := r.found[name]; e != nil || r.whole {
			return e, nil
		}
		if err := r.more(ctx); err != nil {
			return nil, err
		}
	}
}

// Held is an entry of this name that the agent holds, void or not; nil: it holds none. Whatever it does not hold comes
// before all that it does.
func (r *Reader) Held(name Hash) *Entry {
	if _, held := r.held[name]; !held {
		return nil
	}
	return r.found[name]
}

// Counts reports whether an entry of the agent's past counts. Only of what a revoked key wrote, further back than what
// the agent holds, it takes more of the memory to tell: back to a snapshot before it.
func (r *Reader) Counts(ctx context.Context, e *Entry) (bool, error) {
	if void, held := r.held[e.Name]; held || r.fold.straight() || !r.fold.voidable(e) {
		return !void, nil
	}
	for r.found[e.Name] == nil && !r.whole || !r.judge() {
		if err := r.more(ctx); err != nil {
			return false, err
		}
	}
	return !r.void[e.Name], nil
}

// more reads on, at least as much as was read before, so that whoever goes back far does not ask often.
func (r *Reader) more(ctx context.Context) error {
	if r.store == nil {
		return fmt.Errorf("what is needed is further back than what agent %s holds, and there is no store to read it "+
			"from: set the Store of its advisor: %w", r.fold.Agent.Short(), ErrIncapable)
	}
	enough := 2 * r.read
	for snap, err := range r.store.Snapshots(ctx, r.fold.Agent) {
		if err != nil {
			return r.unread(err)
		}
		if snap.Cursor >= r.end {
			continue
		}
		if err := r.part(ctx, snap.Cursor); err != nil {
			return err
		}
		if r.first = snap.Entry; r.read >= enough {
			return nil
		}
	}
	if err := r.part(ctx, 0); err != nil {
		return err
	}
	r.first, r.whole = nil, true
	return nil
}

// part reads what lies between a cursor and what was read.
func (r *Reader) part(ctx context.Context, after Cursor) error {
	for item, err := range r.store.Entries(ctx, r.fold.Agent, after) {
		if err != nil {
			return r.unread(err)
		}
		if item.Cursor > r.end {
			break
		}
		if r.read++; r.found[item.Name] == nil {
			r.found[item.Name] = item.Entry
		}
	}
	r.end, r.past, r.void = after, nil, nil
	return nil
}

func (r *Reader) unread(err error) error {
	return fmt.Errorf("read memory of %s: %w", r.fold.Agent.Short(), err)
}

// sorted is what was found of the agent's past, in fold order. Where the store does not have the newest entries yet, as
// who has the fold alone may find, that is everything.
func (r *Reader) sorted() []*Entry {
	if r.past == nil {
		heads := make([]Hash, 0, len(r.fold.Heads))
		all := false
		for _, h := range r.fold.Heads {
			heads = append(heads, h.Name)
			all = all || r.found[h.Name] == nil
		}
		past := named(r.found).past(heads...)
		if all {
			past = slices.Collect(maps.Values(r.found))
		}
		r.past = sorted(past)
	}
	return r.past
}

// reaches reports whether everything from a seq on was read.
func (r *Reader) reaches(seq int64) bool {
	if r.whole {
		return true
	}
	for _, e := range r.sorted() {
		if e.Seq > seq && len(r.lacks(e)) > 0 {
			return false
		}
	}
	return !slices.ContainsFunc(r.fold.Heads, func(h Head) bool { return r.found[h.Name] == nil })
}

// lacks are the parents of an entry that were not read.
func (r *Reader) lacks(e *Entry) (names []Hash) {
	for _, p := range e.Parents {
		if r.found[p] == nil {
			names = append(names, p)
		}
	}
	return names
}

// judge finds out which of the entries read are void, and reports whether it could. Where not all of the memory was
// read, it takes a snapshot by somebody who can know that everything before it is in the past of.
func (r *Reader) judge() bool {
	f := r.fold
	if r.void != nil {
		return true
	}
	entries, void := r.sorted(), map[Hash]bool{}
	switch unknown := func(e *Entry) bool { return r.Held(e.Name) == nil && f.voidable(e) }; {
	case f.straight() || !slices.ContainsFunc(entries, unknown):
	case r.whole:
		void = f.voidAmong(entries)
	default:
		s := r.first
		if s == nil || !f.owned(s.Origin) && !slices.Contains(f.Charter.Delegates, s.Origin) {
			return false
		}
		for _, e := range entries {
			for _, p := range r.lacks(e) {
				if p != s.Name && !slices.Contains(s.Parents, p) {
					return false
				}
			}
		}
		if r.found[s.Name] == nil {
			entries = sorted(append([]*Entry{s}, entries...))
		}
		var ok bool
		if void, ok = f.voidSince(s, entries); !ok || void[s.Name] {
			return false
		}
	}
	if r.void = void; void == nil {
		r.void = map[Hash]bool{}
	}
	for name, is := range r.held {
		if delete(r.void, name); is {
			r.void[name] = true
		}
	}
	return true
}
