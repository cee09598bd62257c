package perdure

import "slices"

// Apply folds entries into the agent and returns the result; a itself does not change. Entries may come in any order
// and more than once: those whose parents or whose covering signature have not arrived are held until they
// do. The cost is that of the new entries, unless some belong before entries already folded; then also that of the ones
// after them. ErrBehind says that they belong before what the agent still holds: fold the memory again.
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
	from, let := a.fold.Charter.Scope, a.fold.let(e)
	if !void {
		a.cur.last.here = a.overrules(e)
		a.authors = a.wrote(e, a.cur.last.here)
	}
	a.fold.step(e, void, past)
	if to := a.fold.Charter.Scope; to != from && e.Kind != KindGenesis { // where it is decides what it may
		moved := authored{key: e.Origin, right: MayOwn, scope: from, entry: e.Name, to: to, let: let}
		a.cur.last.moved, a.authors = &moved, used(a.authors, moved)
	}
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
