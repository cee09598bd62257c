package perdure

import (
	"fmt"
	"slices"
)

// authored is a right that writing an entry took, where it was used first, and those used before it: a list that is
// only added to, so that agents can share it.
type authored struct {
	key    Key // zero: one of more authors than are told apart
	right  Right
	scope  string // in force there
	entry  Hash
	to     string // the scope the entry moved the agent to; "": it did not
	let    []Key  // those who approved that: with the right of a person, their word does as well as the author's own
	here   bool   // it overrules somebody else: a charter that has no say here gives nobody that right
	vouch  bool   // the entry stands on top of everything before it, and vouches for that if its author may
	count  int64  // entries there are with it
	before *authored
	n      int // how long the list is
}

// wrote is the authors of an agent and what writing e took, which is about to be folded and is the last of the window.
// Here is whether it overrules somebody.
func (a *Agent) wrote(e *Entry, here bool) *authored {
	authors, f := a.authors, a.fold
	scope, right := f.Charter.Scope, rightFor(e)
	switch e.Kind {
	case KindGenesis:
		if g, ok := e.content.(Genesis); ok {
			scope = g.Charter.Scope
			authors = used(authors, authored{key: g.Charter.Owner, right: MayOwn, scope: scope, entry: e.Name})
			if e.Origin != g.Charter.Owner {
				right = MayOwn
				if g.Lineage != nil && g.Lineage.Relation == Child {
					right = MayBegin
				}
			}
		}
	case KindSnapshot:
		if e.content != nil {
			return a.vouchedBy(authored{key: e.Origin, right: MayAuthor, scope: scope, entry: e.Name,
				count: f.Count + 1}, e)
		}
	case KindEvent:
		ev, _ := e.content.(Event)
		switch n := ev.Notice.(type) {
		case KeyChange:
			if e.Origin == f.Charter.Owner && !n.Owner.IsZero() {
				authors = used(authors, authored{key: n.Owner, right: MayOwn, scope: scope, entry: e.Name})
			}
		case Admitted:
			return a.vouchedBy(authored{key: e.Origin, right: MayOwn, scope: scope, entry: e.Name,
				count: f.Count + 1}, e)
		}
	case KindAdvice, KindDecision, KindOutcome:
	}
	return used(authors, authored{key: e.Origin, right: right, scope: scope, entry: e.Name, here: here})
}

// overrules reports whether an entry ends a pause, says for sure what came of somebody else's effect, or lets the agent
// spend more. The fold tells, so that it is the same however the agent was loaded: it does not know who paused it.
func (a *Agent) overrules(e *Entry) bool {
	others := func(decision Hash) bool {
		i := a.fold.findOpen(decision)
		return i >= 0 && a.fold.Open[i].Origin != e.Origin
	}
	switch c := e.content.(type) {
	case Outcome:
		return c.Reconciled && others(c.Decision)
	case Event:
		switch n := c.Notice.(type) {
		case Resume: // but for one that only lets go of what is none of this place's
			return slices.ContainsFunc(a.fold.Paused, oneOf(n.Of)) && !c.LetsGo()
		case Grant:
			return true
		case Settle:
			return a.fold.findOpen(n.Decision) < 0 || others(n.Decision)
		}
	}
	return false
}

// let is who approved that the agent moves to another scope, if a decision uses that.
func (f *Fold) let(e *Entry) (by []Key) {
	d, _ := e.content.(Decision)
	if len(d.Approvals) == 0 {
		return nil
	}
	used := oneOf(d.Approvals)
	for i := range f.Asks {
		if m, ok := f.Asks[i].Action.(Mutate); !ok || m.Scope == nil {
			continue
		}
		for _, v := range f.Asks[i].Votes {
			if v.Approve && used(v.Event) {
				by = append(by, v.Origin)
			}
		}
	}
	return by
}

// vouchedBy is the authors of an agent and an entry that vouches for everything in its past. What was written beside
// it, unseen by its author, is judged by itself. Where that cannot be told from the entries at hand, it vouches for
// nothing.
func (a *Agent) vouchedBy(by authored, e *Entry) *authored {
	if a.fold.onTop(e) {
		return vouched(a.authors, by)
	}
	past := map[Hash]bool{}
	for _, p := range e.Parents {
		past[p] = true
	}
	w := a.window()
	var beside []*link
	for _, l := range slices.Backward(w.links) {
		switch {
		case l.Entry == e:
		case !past[l.Name]:
			if !l.void { // that takes no right: it counts for nothing
				beside = append(beside, l)
			}
		default:
			for _, p := range l.Parents {
				past[p] = true
			}
		}
	}
	if w.base != nil && slices.ContainsFunc(w.base.Heads, func(h Head) bool { return !past[h.Name] }) {
		return used(a.authors, by)
	}
	authors := vouched(a.authors, by)
	for _, b := range slices.Backward(beside) {
		authors = used(authors, authored{key: b.Origin, right: rightFor(b.Entry), scope: by.scope, entry: b.Name,
			here: b.here})
		if b.moved != nil {
			authors = used(authors, *b.moved)
		}
	}
	return authors
}

// used is authors and one use of a right. A use before the last entry that vouches is not this one: that entry may make
// it count. Two rights are two uses: each may come from elsewhere.
func used(authors *authored, u authored) *authored {
	if u.right == MayAuthor|MayApprove {
		u.right = MayApprove
		authors, u.right, u.here = used(authors, u), MayAuthor, false
	}
	for w := authors; w != nil; w = w.before {
		if w.key == u.key && w.right == u.right && w.here == u.here && w.let == nil &&
			(w.scope == u.scope || InScope(u.scope, w.scope)) {
			return authors
		}
		if w.vouch {
			break
		}
	}
	u.vouch, u.count = false, 0
	return pushAuthor(authors, u)
}

// vouched is authors and an entry that vouches for them. Of entries that vouch only the last of each author is kept, so
// the list does not grow with the memory. What is older than the one that goes stays as it is, and is shared.
func vouched(authors *authored, by authored) *authored {
	by.vouch = true
	var newer []*authored
	kept := authors
	for kept != nil && !(kept.vouch && kept.key == by.key) {
		newer, kept = append(newer, kept), kept.before
	}
	if kept == nil {
		return pushAuthor(authors, by)
	}
	kept = used(kept.before, *kept)
	for _, w := range slices.Backward(newer) {
		if w.vouch {
			kept = pushAuthor(kept, *w)
		} else {
			kept = used(kept, *w)
		}
	}
	return pushAuthor(kept, by)
}

// pushAuthor is authors and one more. Of too many, nobody can tell who they are.
func pushAuthor(authors *authored, w authored) *authored {
	w.before, w.n = authors, 1
	if authors != nil {
		w.n = authors.n + 1
	}
	switch {
	case w.n > maxAuthors+1:
		return authors
	case w.n > maxAuthors:
		w.key, w.vouch = Key{}, false
	}
	return &w
}

// rightFor is the right that writing e takes. Of an event without its body nobody can tell: any right will do.
func rightFor(e *Entry) Right {
	if e.Kind != KindEvent {
		return MayAuthor
	}
	ev, ok := e.content.(Event)
	if !ok {
		return 0
	}
	switch n := ev.Notice.(type) {
	case SeatTaken:
		if n.Lost {
			return MayOwn
		}
	case SeatGiven:
		if n.Owned {
			return MayOwn
		}
	case Approval: // to let an agent go on, or something happen again, is a person's word
		return ev.word("approval")
	case Resume:
		if ev.LetsGo() {
			return MayAuthor // what arrives is held again where the hold was put
		}
		return ev.word("resume", takenBack)
	case Settle:
		return ev.word("settle")
	case KeyChange, Admitted:
		return MayOwn
	case nil, ChildEnded, Pause, Grant, Cancel, Doubt, Edit, Pruned, Erased, Escalated, Enclosed, Joined, Doubled,
		Lacks, Document:
	}
	return MayAuthor
}

// word is the right to say what only a person can, as the verbs here write it by one of these names. An event is judged
// by everything it carries: with state, data, a name that wakes somebody or a word that stands for somebody else, it
// takes the right of an author, too. By is otherwise its author's own claim, as it is everywhere.
func (ev *Event) word(names ...string) Right {
	if len(ev.Set) > 0 || ev.Data != nil || reserved(ev.By) || !slices.Contains(names, ev.Name) {
		return MayAuthor | MayApprove
	}
	return MayApprove
}

// untrusted says that an author had no right to write an entry. Lacks is what they would have to be trusted with for
// all they wrote there.
func untrusted(w *authored, lacks Right) *Rejection {
	want := w.right.String()
	if want == "" {
		want = "any right"
	}
	r := reject(predTrusted, nil, "$.header.origin", w.key.Short()+", who is not trusted with it",
		want+" in scope "+w.scope, "")
	r.Entry = w.entry.String()
	if w.to != "" {
		r.Got = fmt.Sprintf("%s, who is not trusted to move it to %s", w.key.Short(), w.to)
	}
	if w.key.IsZero() {
		r.Got, r.Hint = fmt.Sprint("more than ", maxAuthors, " authors"),
			"nobody can tell them apart: fork it from before"
		return r
	}
	r.Hint = "if you trust this key: " + w.trustCommand(lacks)
	return r
}

// trustCommand is what to type to trust an author with what they lack.
func (w *authored) trustCommand(lacks Right) string {
	rights := lacks.String()
	if lacks == 0 {
		rights = MayAuthor.String()
	} else if lacks.has(MayOwn) {
		rights = MayOwn.String()
	}
	scope := w.scope
	if scope == AnyScope {
		scope = "'*'" // as a shell takes it
	}
	return fmt.Sprintf("perdure key trust %s --rights %s --scope %s", w.key, rights, scope)
}
