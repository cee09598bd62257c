package perdure

import (
	"context"
	"slices"
)

// Doubled tells that the same act, a once effect or a child, was decided on two branches of a memory, neither decision having seen the other: it
// may have happened twice. The node that finds it out records it. Nobody but a person can tell what to make of it; Settle of either
// decision says that somebody has.
type Doubled struct {
	First  Hash `canon:"1,first"`  // the decisions, in fold order
	Second Hash `canon:"2,second"` // the other one
	Time   Time `canon:"3,time"`   // of the second
}

// act is a decision that lets something happen which must not happen twice. What names it by what is done.
type act struct {
	at   Position // of the decision
	what Hash
}

// flagStep says that something was decided twice, and is to be recorded.
type flagStep struct{ Doubled Doubled }

// Doubles are the acts decided twice that nobody has settled: those on record, and those found in the entries at hand.
func (f *Fold) Doubles() []Doubled { return slices.Concat(f.Doubled, f.doubled) }

// acted remembers an allowed act, and whether it was decided on another branch as well. It is remembered with the fold in memory only: branches
// that part before the fold was begun with are folded again from before.
func (f *Fold) acted(e *Entry, what Hash) {
	missed := oneOf(f.head(e.Name).missed)
	f.work += int64(len(f.acts))
	for i := range f.acts {
		if a := &f.acts[i]; a.what == what && missed(a.at.Name) {
			f.doubled = pushed(f.doubled, Doubled{First: a.at.Name, Second: e.Name, Time: e.Time}, maxDoubled)
		}
	}
	f.acts = extended(f, f.acts, act{e.Position(), what}, maxActs, &f.rooms.acts)
}

// record folds that somebody found something decided twice.
func (f *Fold) record(e *Entry, n *Doubled) {
	is := func(d Doubled) bool { return d.First == n.First && d.Second == n.Second }
	f.doubled = slices.DeleteFunc(slices.Clone(f.doubled), is)
	if !slices.ContainsFunc(f.Doubled, is) {
		f.Doubled = pushed(f.Doubled, *n, maxDoubled)
		f.conflict(e, "decided on two branches, and may have happened twice: look, and settle either decision")
	}
}

// settled forgets that a decision was doubled, and reports whether that was on record: what is only known from the entries at hand must not
// change what they come to.
func (f *Fold) settled(decision Hash) bool {
	n := len(f.Doubled)
	if n+len(f.doubled) == 0 {
		return false
	}
	is := func(d Doubled) bool { return d.First == decision || d.Second == decision }
	f.doubled = slices.DeleteFunc(slices.Clone(f.doubled), is)
	if f.Doubled = slices.DeleteFunc(slices.Clone(f.Doubled), is); len(f.Doubled) == 0 {
		f.Doubled = nil
	}
	return len(f.Doubled) < n
}

// forgetful is f as whoever reads its bytes has it: without what is only known from entries at hand.
func (f *Fold) forgetful() *Fold {
	f.acts, f.doubled = nil, nil
	if slices.ContainsFunc(f.Heads, func(h Head) bool { return h.missed != nil }) {
		f.Heads = slices.Clone(f.Heads)
		for i := range f.Heads {
			f.Heads[i].missed = nil
		}
	}
	return f
}

// undone forgets an act that surely did not happen.
func (f *Fold) undone(decision Hash) {
	if i := slices.IndexFunc(f.acts, func(a act) bool { return a.at.Name == decision }); i >= 0 {
		f.acts = slices.Delete(slices.Clone(f.acts), i, i+1)
		f.rooms.acts = roomBehind(f.acts)
	}
	f.settled(decision)
}

// parent is what is to be known of a parent of an entry to tell which acts are not in its past.
type parent struct {
	at     Position
	missed []Hash
}

// has reports whether an act is in the past of the parent. Whatever was folded after the parent is not.
func (p *parent) has(a *act) bool {
	return a.at.Compare(p.at) <= 0 && !slices.Contains(p.missed, a.at.Name)
}

// missed are the acts folded so far that are not in the past of e: of none of its parents.
func (f *Fold) missed(e *Entry, parentOf func(Hash) (parent, bool)) []Hash {
	if len(f.acts) == 0 || f.onTop(e) {
		return nil
	}
	var parents []parent
	for _, name := range e.Parents {
		if p, ok := parentOf(name); ok {
			parents = append(parents, p)
		}
	}
	f.work += int64(len(f.acts) * len(parents))
	var missed []Hash
	for i := range f.acts {
		if a := &f.acts[i]; !slices.ContainsFunc(parents, func(p parent) bool { return p.has(a) }) {
			missed = append(missed, a.at.Name)
		}
	}
	return missed
}

// parentOf is what is known of a head, or of an entry that is still held.
func (a *Agent) parentOf(name Hash) (parent, bool) {
	if h := a.fold.head(name); h != nil {
		return parent{Position{h.Seq, h.Name}, h.missed}, true
	}
	for _, s := range []segment{a.cur, a.prev} {
		for l := s.last; l != nil; l = l.before {
			if l.Name == name {
				return parent{l.Position(), l.missed}, true
			}
		}
	}
	return parent{}, false
}

// parents is parentOf for a run of entries that is longer than what is held.
func (a *Agent) parents(entries []*Entry, known map[Hash]Head) func(Hash) (parent, bool) {
	var seqs map[Hash]int64
	return func(name Hash) (parent, bool) {
		if p, ok := a.parentOf(name); ok {
			return p, true
		}
		if seqs == nil { // few memories need it
			seqs = make(map[Hash]int64, len(entries))
			for _, e := range entries {
				seqs[e.Name] = e.Seq
			}
		}
		h, seen := known[name]
		seq, known := seqs[name]
		if !known {
			seq, known = h.Seq, seen // a head of what came before
		}
		return parent{Position{seq, name}, h.missed}, known
	}
}

// flags is what to write before a snapshot, which would forget it: what was found decided twice.
func (a *Agent) flags(policy Hash) []Draft {
	var drafts []Draft
	for _, d := range a.fold.doubled {
		drafts = append(drafts, Draft{Body: Event{Name: "doubled", By: "runtime", Notice: d}, Policy: policy})
	}
	return drafts
}

// flag records that something was decided twice.
func (w *work) flag(ctx context.Context, s flagStep) error {
	w.n.Log.Warn("decided in two copies: it may have happened twice", "agent", w.a.ID().Short(), "first", s.Doubled.First.Short(), "second", s.Doubled.Second.Short())
	return w.addFlushed(ctx, Event{Name: "doubled", By: "runtime", Notice: s.Doubled})
}
