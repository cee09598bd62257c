package perdure

import (
	"cmp"
	"errors"
	"iter"
	"slices"

	"github.com/perdure/perdure/internal/keeper"
)

// Counts refuses (key.trusted) an agent with an entry that does not count here: whose author is neither trusted with
// the right it took, nor given it by a charter that has a say. A node does nothing for such an agent, whatever its
// entries say.
//
// A snapshot or an admission on top of all that was there, by somebody trusted to own the agent, vouches for everything
// before it.
func (t *Trust) Counts(a *Agent) error {
	if err := t.Admits(a); err != nil {
		return err
	}
	var first *authored
	for w := a.authors; w != nil && !t.vouches(w); w = w.before {
		if !t.counts(a, w) {
			first = w
		}
	}
	if first == nil {
		return nil
	}
	lacks := first.right // who trusts the key is not to be asked again for the next right it took
	for w := a.authors; w != nil && !t.vouches(w); w = w.before {
		if w.key == first.key && w.scope == first.scope && !t.counts(a, w) {
			lacks |= w.right
		}
	}
	r := untrusted(first, lacks)
	if t.revoked(first.key) {
		r.Got = first.key.Short() + ", which was revoked here"
		r.Hint = "if it was revoked by mistake, and nobody else has it: " + first.trustCommand(lacks)
	}
	return r
}

// Admits refuses (key.trusted) an agent that no admission makes count here: one that keeps documents, unless whoever
// owns it, and whoever began it, was trusted here to own it. A stranger's is nobody's role here, and no place of
// documents, whatever it says of itself.
func (t *Trust) Admits(a *Agent) error {
	f := a.fold
	if !keeper.Is(f.Intent.Kind) {
		return nil
	}
	for _, k := range []Key{f.Charter.Owner, f.Begun} {
		if !k.IsZero() && !t.granted(k, MayOwn, f.Charter.Scope) {
			return untrusted(&authored{key: k, right: MayOwn, scope: f.Charter.Scope, entry: Hash(f.Agent)}, MayOwn)
		}
	}
	return nil
}

// vouches reports whether everything before an entry counts because of its author.
func (t *Trust) vouches(w *authored) bool { return w.vouch && t.Allows(w.key, MayOwn, w.scope) }

// vouchedAt is how many entries an agent had when somebody trusted to own it last vouched for it.
func (t *Trust) vouchedAt(a *Agent) int64 {
	for w := a.authors; w != nil; w = w.before {
		if t.vouches(w) {
			return w.count
		}
	}
	return 0
}

// counts reports whether a right that was used counts.
func (t *Trust) counts(a *Agent, w *authored) bool {
	if w.key.IsZero() {
		return false // there were too many to tell
	}
	f := a.fold
	granted, revoked := t.granted(w.key, w.right, w.scope), t.revoked(w.key)
	switch {
	case granted && (!revoked || t.hadSeen(a, w)) || t.anyLets(f, w):
		return true
	case revoked || w.right.has(MayBegin):
		return false
	case t.owned(f, w.scope):
	case !t.admitted(f, w.scope) || w.here: // who was let in overrules nobody here
		return false
	case w.key == f.Charter.Owner:
		return true
	}
	if w.right == MayApprove {
		return slices.Contains(f.Charter.Approvers, w.key)
	}
	return slices.Contains(f.Charter.Delegates, w.key)
}

// anyLets reports whether somebody who may approve here, by this trust or by a charter that has a say, approved that
// the agent moves to another scope.
func (t *Trust) anyLets(f *Fold, w *authored) bool {
	return slices.ContainsFunc(w.let, func(k Key) bool {
		return t.Allows(k, MayApprove, w.scope) ||
			slices.Contains(f.Charter.Approvers, k) && !t.revoked(k) && t.owned(f, w.scope)
	})
}

// hadSeen reports whether the owner of an agent, trusted here, revoked a key in its memory as well: then what the key
// had written stays good, and the child that it began. A thief of the key can write such a revocation, too, but nothing
// in the name of an owner who has another.
func (t *Trust) hadSeen(a *Agent, w *authored) bool {
	f := a.fold
	if !slices.Contains(f.Revoked, w.key) || !t.Allows(f.Charter.Owner, MayOwn, w.scope) {
		return false
	}
	for u := a.authors; u != nil; u = u.before {
		if u.key == f.Charter.Owner && u.right != MayOwn {
			return true
		}
	}
	return false
}

// owned reports whether the charter is that of an owner trusted here: who signed it, or let somebody trusted to own
// sign it.
func (t *Trust) owned(f *Fold, scope string) bool {
	return t.Allows(f.Charter.Owner, MayOwn, scope) && (f.Begun.IsZero() || t.Allows(f.Begun, MayOwn, scope))
}

// hearsay reports whether somebody who may not own the agent wrote a charter that gives rights in the name of its
// owner: this node would pass them on to a child, which counts by its own signature wherever the owner is trusted.
func (t *Trust) hearsay(f *Fold) bool {
	return !f.Begun.IsZero() && !t.Allows(f.Begun, MayOwn, f.Charter.Scope) &&
		len(f.Charter.Approvers)+len(f.Charter.Delegates) > 0
}

// Ended is how an agent ended, if that counts here; nil: it has not. Of an agent that began with somebody trusted here
// and has entries that do not count, nobody can tell: a stranger may have written the end. A nil Trust believes all.
func (t *Trust) Ended(a *Agent) *Ending {
	f := a.fold
	if t == nil || f.Ended == nil {
		return f.Ended
	}
	scope := f.Charter.Scope
	ours := t.Allows(f.Charter.Owner, MayOwn, scope)
	if !f.Begun.IsZero() {
		ours = t.Allows(f.Begun, MayBegin, scope) || ours && t.admitted(f, scope)
	}
	if ours && t.Counts(a) != nil {
		return nil
	}
	return f.Ended
}

// admitted reports whether somebody trusted to own the agent vouched for its charter.
func (t *Trust) admitted(f *Fold, scope string) bool {
	return slices.ContainsFunc(f.Admitted, func(k Key) bool { return t.Allows(k, MayOwn, scope) })
}

// Joins refuses (key.trusted) entries that are about to join an agent that counts here, if it would not count with
// them. An agent that does not count itself may get more of the same: nothing is done for it. Had is its memory, and
// has tells which entries are in it.
func (t *Trust) Joins(here *Agent, had, more iter.Seq2[*Entry, error], has func(Hash) bool) error {
	if t.Counts(here) != nil {
		return nil
	}
	fresh := lacking(more, has)
	a, err := here.applyAll(fresh)
	if behind(err) { // some belong before what somebody vouched for: then all is judged from the beginning
		a, err = t.Fold(both(had, fresh))
	}
	if err == nil {
		err = t.Counts(a)
	}
	if err == nil {
		err = t.derives(here, had, fresh)
	}
	return err
}

// derives refuses (snapshot.fold) snapshots that are about to join an agent and are not what their past comes to here:
// nobody could verify it any more. Those by somebody trusted to own it are believed. Had is its memory.
//
// What it costs depends on what is new, unless a snapshot is of a branch of its own: then the whole memory is folded.
func (t *Trust) derives(here *Agent, had, fresh iter.Seq2[*Entry, error]) error {
	scope, a := here.fold.Charter.Scope, here
	believed := func(e *Entry) bool {
		return e.Kind != KindSnapshot || e.content == nil || t == nil || t.Allows(e.Origin, MayOwn, scope)
	}
	left, err := count(fresh, believed)
	if err != nil || left == 0 {
		return err
	}
	for e, err := range fresh {
		if err != nil {
			return err
		}
		if !believed(e) {
			if left--; !slices.Equal(a.Heads(), e.Parents) {
				return verifies(had, fresh)
			}
			if err := a.fold.matches(e); err != nil {
				return err
			}
		}
		if left == 0 {
			return nil
		}
		if a, err = a.Apply(e); err != nil {
			return verifies(had, fresh)
		}
	}
	return nil
}

// count is how many of the entries are not as they may be.
func count(entries iter.Seq2[*Entry, error], may func(*Entry) bool) (n int, err error) {
	for e, err := range entries {
		if err != nil {
			return 0, err
		}
		if !may(e) {
			n++
		}
	}
	return n, nil
}

// verifies refuses entries to be added to a memory if one of them keeps it from being verified.
func verifies(had, fresh iter.Seq2[*Entry, error]) error {
	_, err := Verify(both(had, fresh), VerifyOptions{})
	var r *Rejection
	if !errors.As(err, &r) {
		return err
	}
	for e, err := range fresh {
		if err != nil || e.Name.String() == r.Entry {
			return cmp.Or(err, error(r))
		}
	}
	return r // what is wrong was wrong before: nobody can tell what comes after it
}

// both is two runs of entries as one.
func both(first, second iter.Seq2[*Entry, error]) iter.Seq2[*Entry, error] {
	return func(yield func(*Entry, error) bool) {
		for _, part := range []iter.Seq2[*Entry, error]{first, second} {
			for e, err := range part {
				if !yield(e, err) {
					return
				}
			}
		}
	}
}

// applyAll is Apply for more entries than are held at once. Parents come before children.
func (a *Agent) applyAll(entries iter.Seq2[*Entry, error]) (*Agent, error) {
	var batch []*Entry
	size := 0
	flush := func() (err error) {
		a, err = a.Apply(batch...)
		batch, size = nil, 0
		return err
	}
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		if batch, size = append(batch, e), size+len(e.header)+len(e.body); size >= loadBytes {
			if err := flush(); err != nil {
				return nil, err
			}
		}
	}
	if err := flush(); err != nil {
		return nil, err
	}
	return a.complete()
}
