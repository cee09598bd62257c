package perdure

import (
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
)

// Apply folds entries into the agent and returns the result; a itself does not change. Entries may come in any order and more than once:
// those whose parents or whose covering signature have not arrived are held until they do, see Missing. The cost is that of the new
// entries, unless some belong before entries already folded; then also that of the ones after them. ErrBehind says that they belong
// before what the agent still holds: fold the memory again.
//
// A *Rejection says what is wrong with an entry; nothing was folded then.
func (a *Agent) Apply(entries ...*Entry) (*Agent, error) { return a.apply(entries, false) }

// apply is Apply; with unsealed set, entries need no signature.
func (a *Agent) apply(entries []*Entry, unsealed bool) (*Agent, error) {
	if next, ok, err := a.extend(entries, unsealed); ok || err != nil {
		return next, err
	}
	w := a.window()
	fresh := w.candidates(a.held, entries)
	admitted, held, err := w.admit(fresh, unsealed, a.bare)
	if err != nil {
		return nil, err
	}
	next := &Agent{fold: a.fold, prev: a.prev, cur: a.cur, top: a.top, held: held, full: a.full, bare: a.bare, watch: a.watch}
	if len(admitted) == 0 {
		return next, nil
	}
	return next.insert(w, admitted)
}

// extend is the common case: runs on top of the heads, each sealed at its end.
func (a *Agent) extend(entries []*Entry, unsealed bool) (*Agent, bool, error) {
	if len(a.held) > 0 || a.fold == nil || len(entries) == 0 {
		return nil, false, nil
	}
	next := &Agent{fold: a.fold.clone(), prev: a.prev, cur: a.cur, top: a.top, full: a.full, bare: a.bare, watch: a.watch}
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

// push folds e in place if it links to what is held and comes after everything folded, and reports whether it did. The caller owns a.
func (a *Agent) push(e *Entry) (bool, error) {
	f := a.fold
	if e.Kind == KindGenesis {
		return false, nil
	}
	highest, onHeads := f.highest(e.Parents)
	if !onHeads {
		held := false
		if len(f.Revoked)+len(f.Former) == 0 { // nothing is to be known of the past
			highest, held = a.highest(e.Parents)
		}
		if !held {
			return false, nil
		}
	}
	if e.Agent != f.Agent {
		return false, wrongAgent(e, f.Agent)
	}
	if err := e.verifySignature(); err != nil {
		return false, err
	}
	if e.Seq != highest+1 {
		return false, wrongSeq(e, highest)
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
	past := f.past(e.Parents)
	revoked := slices.Contains(f.Revoked, e.Origin)
	if revoked && slices.Contains(past.Knows, e.Origin) {
		return false, revokedAuthor(e)
	}
	a.link(e, revoked && !change, past)
	return true, nil
}

// link puts e at the end of the window and folds it. The caller owns a.
func (a *Agent) link(e *Entry, void bool, past Head) {
	if (a.cur.n >= tailWindow || a.cur.size >= tailBytes) && !a.full {
		a.prev, a.cur = a.cur, segment{base: a.fold.clone()}
		a.fold.own.alone = alone{} // base has them too
	}
	a.cur.last = &link{Entry: e, before: a.cur.last}
	a.cur.n, a.cur.size = a.cur.n+1, a.cur.size+int64(len(e.body))
	a.top = e.Position()
	if a.watch != nil {
		a.watch(a.fold, e, void)
	}
	a.fold.step(e, void, past)
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

// past is what is known to those of the parents that are heads, as the head of an entry without a name yet.
func (f *Fold) past(parents []Hash) Head {
	var past Head
	if len(f.Revoked)+len(f.Former) == 0 {
		return past
	}
	for _, p := range parents {
		if h := f.head(p); h != nil {
			past.learn(h)
		}
	}
	return past
}

// learn adds what another head knows.
func (h *Head) learn(from *Head) {
	for _, k := range from.Knows {
		h.Knows = withKey(h.Knows, k)
	}
	for _, k := range from.Owners {
		h.Owners = withKey(h.Owners, k)
	}
	for _, k := range from.Handed {
		h.Handed = withKey(h.Handed, k)
	}
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
	links  []*link
	byName map[Hash]*link
	base   *Fold // before links; nil when they begin with genesis
	id     AgentID
}

func (a *Agent) window() *window {
	w := &window{byName: map[Hash]*link{}, base: a.cur.base}
	if a.prev.last != nil || a.prev.base != nil {
		w.base = a.prev.base
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
func (w *window) candidates(held, entries []*Entry) []*Entry {
	fresh := map[Hash]*Entry{}
	for _, list := range [][]*Entry{held, entries} {
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

// admit sorts out which entries can be folded now: all parents are there and a signature covers them. The rest is held.
func (w *window) admit(fresh []*Entry, unsealed, bare bool) (admitted, held []*Entry, err error) {
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
				return nil, nil, reject(predGenesisFirst, e, "$.header", "a second genesis", "one", "two memories are mixed here")
			}
			w.id = e.ID()
		case !w.id.IsZero() && e.Agent != w.id:
			return nil, nil, wrongAgent(e, w.id)
		case !known && w.base != nil:
			return nil, nil, ErrBehind
		case !known:
			held = append(held, e)
			continue
		case e.Seq != highest+1:
			return nil, nil, wrongSeq(e, highest)
		}
		if !sealed[e.Name] {
			held = append(held, e)
			continue
		}
		if e.content == nil && !bare {
			return nil, nil, noBody(e)
		}
		seqs[e.Name] = e.Seq
		admitted = append(admitted, e)
	}
	return admitted, held, nil
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
	for {
		next := &Agent{fold: new(Fold), cur: segment{base: w.base}, held: a.held, full: a.full, bare: a.bare, watch: a.watch}
		if w.base != nil {
			next.fold = w.base.clone()
		}
		found, err := next.refold(entries, void, w.base)
		if err != nil {
			return nil, err
		}
		if void != nil || len(found) == 0 {
			return next, nil
		}
		void = found
	}
}

// refold folds entries in order, the void ones as void, and returns the ones that the revocations it met make void. The caller owns a.
func (a *Agent) refold(entries []*Entry, void map[Hash]bool, base *Fold) (map[Hash]bool, error) {
	found := map[Hash]bool{}
	known := map[Hash]Head{} // of the entries whose past knows anything
	if base != nil {
		for _, h := range base.Heads {
			known[h.Name] = h
		}
	}
	for i, e := range entries {
		var past Head
		for _, p := range e.Parents {
			if h, ok := known[p]; ok {
				past.learn(&h)
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
		a.link(e, found[e.Name] || void[e.Name], past)
		h := a.fold.head(e.Name)
		if len(h.Knows)+len(h.Handed) > 0 {
			known[e.Name] = *h
		}
		if len(h.Knows) > len(past.Knows) {
			if err := voidUnseen(entries[:i], e, k.Revoke, base, found); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// voidUnseen finds the entries of a revoked key that the author of the revocation had not seen. Key changes are never void: whoever could
// make one was the owner, and of two that exclude each other nobody can tell which is right.
func voidUnseen(before []*Entry, revocation *Entry, key Key, base *Fold, found map[Hash]bool) error {
	past := map[Hash]bool{}
	for _, p := range revocation.Parents {
		past[p] = true
	}
	for _, e := range slices.Backward(before) {
		if past[e.Name] {
			for _, p := range e.Parents {
				past[p] = true
			}
		} else if _, change := e.keyChange(); e.Origin == key && !change {
			found[e.Name] = true
		}
	}
	if base != nil {
		for _, h := range base.Heads {
			if !past[h.Name] {
				return ErrBehind
			}
		}
	}
	return nil
}

// verifySignature refuses a signature that is not the author's.
func (e *Entry) verifySignature() error {
	if e.Signature == nil || atomic.LoadUint32(&e.verified) != 0 {
		return nil
	}
	if !e.Signed() {
		return reject(predSignature, e, "$.signature", "a signature that does not verify", "one by "+e.Origin.Short(), "the entry was changed or forged; get it from another copy")
	}
	e.markVerified()
	return nil
}

func (e *Entry) markVerified() { atomic.StoreUint32(&e.verified, 1) }

func wrongAgent(e *Entry, want AgentID) error {
	return reject(predAgent, e, "$.header.agent", e.Agent.String(), want.String(), "the entry belongs to another agent")
}

func noBody(e *Entry) error {
	return reject(predBodyPresent, e, "$.body", "absent", "the body", "what it says is not known: resume from a snapshot after it, or get the body from another copy")
}

func wrongSeq(e *Entry, highest int64) error {
	return reject(predSeq, e, "$.header.seq", fmt.Sprint(e.Seq), fmt.Sprint(highest+1), "seq is one more than the highest of the parents")
}

func revokedAuthor(e *Entry) error {
	return reject(predRevoked, e, "$.header.origin", e.Origin.Short(), "a key not revoked in the entry's own past", "the key was revoked before this entry was written")
}
