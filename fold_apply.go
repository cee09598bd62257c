package perdure

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/perdure/perdure/internal/ordered"
)

// Apply folds entries into the agent and returns the result; a itself does not change. Entries may come in any order
// and more than once: those whose parents or whose covering signature have not arrived are held until they do, see
// Missing. The cost is that of the new entries, unless some belong before entries already folded; then also that of the
// ones after them. ErrBehind says that they belong before what the agent still holds: fold the memory again.
//
// A *Rejection says what is wrong with an entry; nothing was folded then.
func (a *Agent) Apply(entries ...*Entry) (*Agent, error) { return a.apply(entries, false) }

// apply is Apply; with unsealed set, entries need no signature.
func (a *Agent) apply(entries []*Entry, unsealed bool) (*Agent, error) {
	if next, ok, err := a.extend(entries, unsealed); ok || err != nil {
		return next, err
	}
	w := a.window()
	fresh := w.candidates(a.early, entries)
	admitted, early, err := w.admit(fresh, unsealed, a.bare)
	if err != nil {
		return nil, err
	}
	next := a.next()
	next.early = early
	if len(admitted) == 0 {
		return next, nil
	}
	return next.insert(w, admitted)
}

// extend is the common case: runs on top of the heads, each sealed at its end.
func (a *Agent) extend(entries []*Entry, unsealed bool) (*Agent, bool, error) {
	if len(a.early) > 0 || a.fold == nil || len(entries) == 0 {
		return nil, false, nil
	}
	next := a.next()
	next.fold = a.fold.clone()
	for i, e := range entries {
		if !unsealed && e.Signature == nil && (i+1 == len(entries) || !entries[i+1].seals(e)) {
			return nil, false, nil
		}
		if ok, err := next.push(e); !ok || err != nil {
			return nil, false, err
		}
	}
	return next, true, nil
}

// push folds e in place if it links to what is held and comes after everything folded, and reports whether it did. The
// caller owns a.
func (a *Agent) push(e *Entry) (bool, error) {
	f := a.fold
	if e.Kind == KindGenesis {
		return false, nil
	}
	highest, onHeads := f.highest(e.Parents)
	if !onHeads {
		known := false
		if len(f.Revoked)+len(f.Former) == 0 { // nothing is to be known of the past
			highest, known = a.highest(e.Parents)
		}
		if !known {
			return false, nil
		}
	}
	if e.Agent != f.Agent {
		return false, wrongAgent(e, f.Agent)
	}
	if e.Seq != highest+1 {
		return false, wrongSeq(e, highest)
	}
	if err := e.verifySignature(); err != nil {
		return false, err
	}
	if e.content == nil && !a.bare {
		return false, noBody(e)
	}
	if e.Position().Compare(a.top) <= 0 {
		return false, nil
	}
	_, change := e.keyChange()
	if change && (!onHeads || len(f.Heads) > len(e.Parents)) {
		return false, nil // not everything is in its past: entries of the key may have to be voided
	}
	past := f.known(e.Parents)
	revoked := slices.Contains(f.Revoked, e.Origin)
	if revoked && slices.Contains(past.Knows, e.Origin) {
		return false, revokedAuthor(e)
	}
	past.unseen = f.unseen(e, a.parentOf)
	a.link(e, revoked && !change, past)
	return true, nil
}

// link puts e at the end of the window and folds it. The caller owns a.
func (a *Agent) link(e *Entry, void bool, past Head) {
	a.turn()
	a.hold(e, past.unseen)
	a.cur.last.void = void
	if !void {
		a.authors = a.wrote(e)
	}
	a.fold.step(e, void, past)
	if h := a.fold.head(e.Name); h != nil && len(h.missed) > len(past.missed) { // see mislead
		a.cur.last.unseen = h.unseen
	}
}

// turn begins a new segment of the window where the last is full.
func (a *Agent) turn() {
	// Each segment has a base of its own, with all the heads: many heads make it longer, so that copying them costs an
	// entry no more.
	if (a.cur.n >= max(tailWindow, len(a.fold.Heads)/4) || a.cur.size >= tailBytes) && !a.full {
		a.prev, a.cur = a.cur, segment{base: a.fold.clone(), authors: a.authors}
		a.fold.own.alone = alone{} // base has them too
	}
}

// hold puts e at the end of the window.
func (a *Agent) hold(e *Entry, u unseen) {
	a.cur.last = &link{Entry: e, before: a.cur.last, unseen: u}
	a.cur.n, a.cur.size = a.cur.n+1, a.cur.size+int64(len(e.body))
	a.top = e.Position()
}

// highest is the highest seq of the parents, if all of them are heads.
func (f *Fold) highest(parents []Hash) (int64, bool) {
	highest := int64(-1)
	for _, p := range parents {
		h := f.head(p)
		if h == nil {
			return 0, false
		}
		highest = max(highest, h.Seq)
	}
	return highest, true
}

// highest is the highest seq of the parents, if all of them are held.
func (a *Agent) highest(parents []Hash) (int64, bool) {
	highest, found := int64(-1), 0
	for e := range a.Recent() {
		if slices.Contains(parents, e.Name) {
			highest = max(highest, e.Seq)
			if found++; found == len(parents) {
				return highest, true
			}
		}
	}
	return 0, false
}

// headIndex is where in the heads this name is, or would be.
func (f *Fold) headIndex(name Hash) (int, bool) {
	return slices.BinarySearchFunc(f.Heads, name, func(h Head, n Hash) int { return h.Name.Compare(n) })
}

// head is the head of this name, or nil.
func (f *Fold) head(name Hash) *Head {
	if i, found := f.headIndex(name); found {
		return &f.Heads[i]
	}
	return nil
}

// known is what is known to those of the parents that are heads, as the head of an entry without a name yet.
func (f *Fold) known(parents []Hash) Head {
	var past Head
	if len(f.Revoked)+len(f.Former) == 0 {
		return past
	}
	for _, p := range parents {
		if h := f.head(p); h != nil {
			f.learn(&past, h)
		}
	}
	return past
}

// learn adds to a past what another head knows. Where branches handed the agent on more often than can be followed,
// nobody is its owner any more: it is contested, and what its owners do there does not count.
func (f *Fold) learn(past, from *Head) {
	f.work += int64(len(from.Knows) + len(from.Owners) + len(from.Handed))
	past.Knows = united(past.Knows, from.Knows)
	past.Owners, past.Handed = united(past.Owners, from.Owners), united(past.Handed, from.Handed)
	if max(len(past.Owners), len(past.Handed)) > maxKeys {
		past.Owners, past.Handed = nil, []Key{f.firstOwner()}
	}
}

// united is the union of two sorted sets: one of them, where it holds the other.
func united(a, b []Key) []Key {
	if len(b) > len(a) {
		a, b = b, a
	}
	if len(b) == 0 || &a[0] == &b[0] && len(a) == len(b) {
		return a
	}
	if holds(a, b) {
		return a
	}
	return ordered.Merge(a, b, func(x, y Key) int { return Hash(x).Compare(Hash(y)) })
}

// holds reports whether every key of b is in a; both are sorted.
func holds(a, b []Key) bool {
	for len(b) > 0 {
		for len(a) > len(b) && Hash(a[0]).Compare(Hash(b[0])) < 0 {
			a = a[1:]
		}
		if len(a) < len(b) || a[0] != b[0] {
			return false
		}
		a, b = a[1:], b[1:]
	}
	return true
}

// withKey adds a key to a sorted set, in a new slice.
func withKey(keys []Key, k Key) []Key {
	i, found := slices.BinarySearchFunc(keys, k, func(a, b Key) int { return Hash(a).Compare(Hash(b)) })
	if found {
		return keys
	}
	return slices.Insert(slices.Clone(keys), i, k)
}

// keyChange is the key change e carries, if it does.
func (e *Entry) keyChange() (KeyChange, bool) {
	if e.Kind != KindEvent {
		return KeyChange{}, false
	}
	ev, _ := e.content.(Event)
	k, ok := ev.Notice.(KeyChange)
	return k, ok
}

// window is the recent entries of an agent, by name and in fold order.
type window struct {
	links   []*link
	byName  map[Hash]*link
	base    *Fold // before links; nil when they begin with genesis
	authors *authored
	id      AgentID
}

func (a *Agent) window() *window {
	w := &window{byName: map[Hash]*link{}, base: a.cur.base, authors: a.cur.authors}
	if a.prev.last != nil || a.prev.base != nil {
		w.base, w.authors = a.prev.base, a.prev.authors
	}
	for _, s := range []segment{a.cur, a.prev} {
		for l := s.last; l != nil; l = l.before {
			w.links = append(w.links, l)
			w.byName[l.Name] = l
		}
	}
	slices.Reverse(w.links)
	if a.fold != nil {
		w.id = a.fold.Agent
	}
	return w
}

// candidates are the held and the new entries that are not folded yet, each once, in fold order.
func (w *window) candidates(early, entries []*Entry) []*Entry {
	fresh := map[Hash]*Entry{}
	for _, list := range [][]*Entry{early, entries} {
		for _, e := range list {
			if w.byName[e.Name] == nil {
				fresh[e.Name] = e.joined(fresh[e.Name])
			}
		}
	}
	out := slices.Collect(maps.Values(fresh))
	slices.SortFunc(out, func(a, b *Entry) int { return a.Position().Compare(b.Position()) })
	return out
}

// admit sorts out which entries can be folded now: all parents are there and a signature covers them. The rest is
// early.
func (w *window) admit(fresh []*Entry, unsealed, bare bool) (admitted, early []*Entry, err error) {
	byName := make(map[Hash]*Entry, len(fresh))
	for _, e := range fresh {
		byName[e.Name] = e
	}
	sealed := make(map[Hash]bool, len(fresh))
	for _, e := range slices.Backward(fresh) {
		if e.Signature == nil && !unsealed && !sealed[e.Name] {
			continue
		}
		sealed[e.Name] = true
		for _, p := range e.Parents {
			if before := byName[p]; before != nil && before.Origin == e.Origin {
				sealed[p] = true
			}
		}
	}
	seqs := make(map[Hash]int64, len(fresh))
	for _, e := range fresh {
		if err := e.verifySignature(); err != nil {
			return nil, nil, err
		}
		highest, known := w.parents(e, seqs)
		switch {
		case e.Kind == KindGenesis:
			if !w.id.IsZero() && w.id != e.ID() {
				return nil, nil, reject(predGenesisFirst, e, "$.header", "a second genesis", "one",
					"two memories are mixed here")
			}
			w.id = e.ID()
		case !w.id.IsZero() && e.Agent != w.id:
			return nil, nil, wrongAgent(e, w.id)
		case !known && w.base != nil:
			return nil, nil, ErrBehind
		case !known:
			early = append(early, e)
			continue
		case e.Seq != highest+1:
			return nil, nil, wrongSeq(e, highest)
		}
		if !sealed[e.Name] {
			early = append(early, e)
			continue
		}
		if e.content == nil && !bare {
			return nil, nil, noBody(e)
		}
		seqs[e.Name] = e.Seq
		admitted = append(admitted, e)
	}
	return admitted, early, nil
}

// parents finds the highest seq among the parents of e, and whether all of them are there.
func (w *window) parents(e *Entry, admitted map[Hash]int64) (highest int64, known bool) {
	for _, p := range e.Parents {
		seq, ok := admitted[p]
		if l := w.byName[p]; l != nil {
			seq, ok = l.Seq, true
		}
		if !ok && w.base != nil {
			if i := slices.IndexFunc(w.base.Heads, func(h Head) bool { return h.Name == p }); i >= 0 {
				seq, ok = w.base.Heads[i].Seq, true
			}
		}
		if !ok {
			return 0, false
		}
		highest = max(highest, seq)
	}
	return highest, true
}

// insert folds admitted entries where they belong, and everything after them again.
func (a *Agent) insert(w *window, admitted []*Entry) (*Agent, error) {
	if w.base != nil && admitted[0].Seq <= w.base.Seq {
		return nil, ErrBehind
	}
	entries := make([]*Entry, 0, len(w.links)+len(admitted))
	for _, l := range w.links {
		entries = append(entries, l.Entry)
	}
	entries = append(entries, admitted...)
	slices.SortFunc(entries, func(x, y *Entry) int { return x.Position().Compare(y.Position()) })
	// What a key change does depends on key changes alone, so the first pass finds every entry that one of them voids.
	var void map[Hash]bool
	work := int64(0)
	if a.fold != nil {
		work = a.fold.work
	}
	for {
		next := &Agent{fold: new(Fold), cur: segment{base: w.base, authors: w.authors}, authors: w.authors,
			early: a.early, full: a.full, bare: a.bare}
		if w.base != nil {
			next.fold = w.base.clone()
		}
		next.fold.judged = new(judged) // the inbox may have another order
		next.fold.work = work
		found, err := next.refold(entries, void, w.base)
		if err != nil {
			return nil, err
		}
		if void != nil || len(found) == 0 {
			return next, nil
		}
		void, work = found, next.fold.work
	}
}

// refold folds entries in order, the void ones as void, and returns the ones that the revocations it met make void. The
// caller owns a.
func (a *Agent) refold(entries []*Entry, void map[Hash]bool, base *Fold) (map[Hash]bool, error) {
	found := map[Hash]bool{}
	known := map[Hash]Head{} // of the entries whose past knows anything
	if base != nil {
		for _, h := range base.Heads {
			known[h.Name] = h
		}
	}
	parentOf := a.parents(entries, known)
	var revocations []revocation
	for i, e := range entries {
		var past Head
		for _, p := range e.Parents {
			if h, ok := known[p]; ok {
				a.fold.learn(&past, &h)
			}
		}
		revoked := slices.Contains(a.fold.Revoked, e.Origin)
		if revoked && slices.Contains(past.Knows, e.Origin) {
			return nil, revokedAuthor(e)
		}
		k, change := e.keyChange()
		if revoked && !change {
			found[e.Name] = true
		}
		past.unseen = a.fold.unseen(e, parentOf)
		a.link(e, found[e.Name] || void[e.Name], past)
		h := a.fold.head(e.Name)
		if len(h.Knows)+len(h.Handed)+len(h.missed) > 0 || h.beyond {
			known[e.Name] = *h
		}
		if len(h.Knows) > len(past.Knows) {
			revocations = append(revocations, revocation{i, k.Revoke})
		}
	}
	if void == nil && len(revocations) > 0 {
		return found, a.voidUnseen(entries, revocations, base, found)
	}
	return found, nil
}

// revocation is the place of an entry that revokes a key its past has not.
type revocation struct {
	at  int
	key Key
}

// voidUnseen finds the entries of revoked keys that the author of a revocation had not seen. Key changes are never
// void: whoever could make one was the owner, and of two that exclude each other nobody can tell which is right. It
// follows 64 revocations at a time, so that a memory in which one key is revoked on every branch costs no more than
// others. ErrBehind says that there may be more before base.
func (a *Agent) voidUnseen(entries []*Entry, revocations []revocation, base *Fold, found map[Hash]bool) error {
	place := make(map[Hash]int, len(entries))
	for i, e := range entries {
		place[e.Name] = i
	}
	n := len(entries)
	if base != nil {
		for i := range base.Heads {
			place[base.Heads[i].Name] = n + i
		}
	}
	parents := make([][]int, n)
	for i, e := range entries {
		for _, p := range e.Parents {
			if at, ok := place[p]; ok {
				parents[i] = append(parents[i], at)
			}
		}
	}
	behind := false
	past := make([]uint64, len(place)) // which revocations of the batch have the entry in their past
	for batch := range slices.Chunk(revocations, 64) {
		a.fold.work += int64(len(past))
		clear(past)
		of := map[Key]uint64{}
		for bit, r := range batch {
			of[r.key] |= 1 << bit
			for _, p := range parents[r.at] {
				past[p] |= 1 << bit
			}
		}
		for i, e := range slices.Backward(entries) {
			for _, p := range parents[i] {
				past[p] |= past[i]
			}
			if of[e.Origin]&^past[i] == 0 {
				continue
			}
			if _, change := e.keyChange(); !change {
				found[e.Name] = true
			}
		}
		all := uint64(1)<<len(batch) - 1
		behind = behind || slices.ContainsFunc(past[n:], func(bits uint64) bool { return bits != all })
	}
	if behind {
		return ErrBehind
	}
	return nil
}

// verifySignature refuses a signature that is not the author's.
func (e *Entry) verifySignature() error {
	if e.Signature == nil || atomic.LoadUint32(&e.verified) != 0 {
		return nil
	}
	if err := e.Origin.Verify(e.Name, e.Signature); err != nil {
		if r, ok := err.(*Rejection); ok {
			r.Entry = e.Name.String()
		}
		return err
	}
	e.markVerified()
	return nil
}

func (e *Entry) markVerified() { atomic.StoreUint32(&e.verified, 1) }

func wrongAgent(e *Entry, want AgentID) error {
	return reject(predAgent, e, "$.header.agent", e.Agent.String(), want.String(), "the entry belongs to another agent")
}

func noBody(e *Entry) error {
	return reject(predBodyPresent, e, "$.body", "absent", "the body",
		"what it says is not known: resume from a snapshot after it, or get the body from another copy")
}

func wrongSeq(e *Entry, highest int64) error {
	return reject(predSeq, e, "$.header.seq", fmt.Sprint(e.Seq), fmt.Sprint(highest+1),
		"seq is one more than the highest of the parents")
}

func revokedAuthor(e *Entry) error {
	return reject(predRevoked, e, "$.header.origin", e.Origin.Short(), "a key not revoked in the entry's own past",
		"the key was revoked before this entry was written")
}
