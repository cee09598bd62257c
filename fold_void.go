package perdure

import (
	"iter"
	"slices"
)

// An entry of a revoked key that the author of the revocation had not seen is void: it keeps its place in memory and
// counts for nothing. Whoever reads a memory entry by entry, instead of its fold, reads what counts, by Counting or a
// Reader, or takes what a stolen key says for what came of an effect. The conflicts of a fold tell of void entries,
// too, but they are for people: of many, only the latest are there.

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

// voidable reports whether an entry may be void. Key changes never are: see voidUnseen.
func (f *Fold) voidable(e *Entry) bool {
	_, change := e.keyChange()
	return !change && slices.Contains(f.Revoked, e.Origin)
}

// straight reports whether the memory never branched: see Agent.Straight. Nothing in it is void: who revoked a key had
// seen all that the key had written, and what it wrote after that was refused.
func (f *Fold) straight() bool { return len(f.Heads) == 1 && f.Heads[0].Seq+1 == f.Count }

// voidAmong finds the void ones among all the entries there are of a memory, which are in fold order. F is its fold.
//
// Where bodies of events are gone, one of them may have handed the agent on or revoked a key. Then a snapshot stands
// for what they said, as in resume: the oldest that comes to the keys that f has.
func (f *Fold) voidAmong(entries []*Entry) map[Hash]bool {
	if f.straight() || !slices.ContainsFunc(entries, f.voidable) {
		return nil
	}
	silent := func(e *Entry) bool { return e.content == nil && (e.Kind == KindEvent || e.Kind == KindGenesis) }
	if entries[0].Kind == KindGenesis && !slices.ContainsFunc(entries, silent) {
		void, k := f.voidAfter(nil, entries)
		for _, e := range entries { // the revocation is not here, and what came before it may not be either
			if f.voidable(e) && !slices.Contains(k.fold.Revoked, e.Origin) {
				void[e.Name] = true
			}
		}
		return void
	}
	var void map[Hash]bool
	tried := 0
	for _, s := range slices.Backward(resumable(entries)) {
		if found, ok := f.voidSince(s, entries); ok && !found[s.Name] {
			return found
		} else if ok && void == nil {
			void = found
		}
		if tried++; tried == maxResumes {
			break
		}
	}
	if void != nil {
		return void // only void ones are left, and the fold goes by one of them, too
	}
	void = map[Hash]bool{} // nobody can tell any more
	for _, e := range entries {
		if f.voidable(e) {
			void[e.Name] = true
		}
	}
	return void
}

// voidSince is voidAmong for entries whose past begins with a snapshot: which of them are void, on its word. It is not
// to be believed if it does not come to the keys that f has, or if some entry was written neither on top of it nor
// beside it.
func (f *Fold) voidSince(s *Entry, entries []*Entry) (void map[Hash]bool, ok bool) {
	if snap, ok := s.content.(Snapshot); !ok || snap.Fold.Agent != f.Agent {
		return nil, false
	}
	void, k := f.voidAfter(s, entries)
	return void, void != nil && k.fold.Charter.Owner == f.Charter.Owner &&
		len(k.fold.Revoked) == len(f.Revoked) && !slices.ContainsFunc(f.Revoked, func(key Key) bool {
		return !slices.Contains(k.fold.Revoked, key)
	})
}

// voidAfter finds the void ones among entries on the word of a snapshot, which is one of them; nil: they begin with
// genesis. It returns nil where it cannot tell.
//
// Of the keys that were revoked before the snapshot, what they wrote counts if every revocation by somebody who has
// owned the agent had seen it, and one of these is still there.
func (f *Fold) voidAfter(s *Entry, entries []*Entry) (map[Hash]bool, *keys) {
	k, before := newKeys(s), map[Hash]bool{}
	if s != nil {
		for _, e := range byName(entries).past(s.Name) {
			before[e.Name] = true
		}
	}
	revoked := slices.Clone(k.fold.Revoked)
	var revocations []revocation
	for i, e := range entries {
		change, _ := e.keyChange()
		switch {
		case before[e.Name]:
			if slices.Contains(revoked, change.Revoke) && f.owned(e.Origin) {
				revocations = append(revocations, revocation{i, change.Revoke})
			}
		case s != nil && !k.follows(e):
			return nil, k
		case k.add(e):
			revocations = append(revocations, revocation{i, change.Revoke})
		}
	}
	void := map[Hash]bool{}
	_ = (&Agent{fold: new(Fold)}).voidUnseen(entries, revocations, nil, void) // without a base it is never behind
	for _, r := range revocations {
		revoked = slices.DeleteFunc(revoked, func(key Key) bool { return key == r.key })
	}
	for _, e := range entries {
		if _, change := e.keyChange(); !change && slices.Contains(revoked, e.Origin) {
			void[e.Name] = true
		}
	}
	return void, k
}

// owned reports whether a key owns the agent, or did.
func (f *Fold) owned(k Key) bool { return k == f.Charter.Owner || slices.Contains(f.Former, k) }

// keys follows through a memory, in fold order, what key changes come to, and nothing else: they depend on each other
// alone.
type keys struct {
	fold  *Fold
	known map[Hash]Head // of entries whose past knows anything
	there map[Hash]bool // what entries may be written on, if the memory begins with a snapshot
}

// newKeys begins after a snapshot; nil: with genesis.
func newKeys(s *Entry) *keys {
	k := &keys{fold: new(Fold), known: map[Hash]Head{}, there: map[Hash]bool{}}
	if s == nil {
		return k
	}
	of := s.content.(Snapshot).Fold
	k.fold.Charter.Owner, k.fold.Former, k.fold.Revoked = of.Charter.Owner, of.Former, of.Revoked
	past := Head{}
	for _, h := range of.Heads {
		k.known[h.Name], k.there[h.Name] = h, true
		k.fold.learn(&past, &h)
	}
	k.known[s.Name], k.there[s.Name] = past, true
	return k
}

// follows reports whether what is to be known of the past of an entry is known.
func (k *keys) follows(e *Entry) bool {
	return !slices.ContainsFunc(e.Parents, func(p Hash) bool { return !k.there[p] })
}

// add takes the next entry, and reports whether it revokes a key that its past has not.
func (k *keys) add(e *Entry) bool {
	k.there[e.Name] = true
	var past Head
	for _, p := range e.Parents {
		if h, ok := k.known[p]; ok {
			k.fold.learn(&past, &h)
		}
	}
	knew := len(past.Knows)
	if g, ok := e.content.(Genesis); ok {
		k.fold.Charter.Owner = g.Charter.Owner
	}
	if change, ok := e.keyChange(); ok {
		past.Name = e.Name
		k.fold.Heads = []Head{past}
		k.fold.changeKey(e, &change)
		past = k.fold.Heads[0]
	}
	if len(past.Knows)+len(past.Handed) > 0 {
		k.known[e.Name] = past
	}
	return len(past.Knows) > knew
}
