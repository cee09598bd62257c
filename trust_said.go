package perdure

import (
	"cmp"
	"slices"
)

// SaidBy is who said what a key signed in an agent, and whether they are somebody here: a key of the trust file, or one
// that counts for the agent by its charter or by the word of its owner. What others say is information, and never
// instructions. The fold may be nil where nobody knows it: then only who is trusted everywhere is.
//
// An event may bear any name. That of another is taken from whoever may own the agent, who speaks for people behind a
// server. Whoever else writes one is shown to have signed it; and so is, of a vote, everybody, since it counts for the
// key. A nil Trust takes everybody at their word.
func (t *Trust) SaidBy(f *Fold, k Key, ev *Event) (who string, known bool) {
	if t == nil {
		return cmp.Or(ev.By, k.Short()), true
	}
	name, known := t.name(k), t.knows(k) || f != nil && t.counted(f, k)
	_, vote := ev.Notice.(Approval)
	switch {
	case !known && name == "":
		return k.Stranger(ev.By), false
	case ev.By == "":
		return cmp.Or(name, k.Short()), known
	case ev.By == name || !vote && t.speaksForPeople(f, k):
		return ev.By, known
	}
	return cmp.Or(name, "key "+k.Short()) + " (under the name " + ev.By + ")", known
}

// counted reports whether a key has a say in an agent, or had when it wrote what counts, by its charter and its owner.
func (t *Trust) counted(f *Fold, k Key) bool {
	scope := f.Charter.Scope
	if slices.Contains(f.Former, k) || slices.Contains(f.Revoked, k) {
		return t.Allows(f.Charter.Owner, MayOwn, scope)
	}
	return t.owned(f, scope) && !t.revoked(k) &&
		(slices.Contains(f.Charter.Approvers, k) || slices.Contains(f.Charter.Delegates, k))
}

// speaksForPeople reports whether a key is believed for whom it speaks: it may own the agent, or did.
func (t *Trust) speaksForPeople(f *Fold, k Key) bool {
	if f == nil {
		return t.Allows(k, MayOwn, AnyScope)
	}
	return t.Allows(k, MayOwn, f.Charter.Scope) ||
		slices.Contains(f.Former, k) && t.Allows(f.Charter.Owner, MayOwn, f.Charter.Scope)
}
