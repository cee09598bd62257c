package perdure

import "slices"

// Act is a decision that lets something happen which must not happen twice: a once effect, or a child. What names it by what is done.
type Act struct {
	Decision Hash  `canon:"1,decision"`
	Seq      int64 `canon:"2,seq"`
	What     Hash  `canon:"3,what"`
}

// Doubled is the same act decided on two branches, neither having seen the other: it may have happened twice. Nobody but a person can tell
// what to make of that; Settle of either decision says that somebody has looked.
type Doubled struct {
	First  Hash `canon:"1,first"` // the decisions, in fold order
	Second Hash `canon:"2,second"`
	Time   Time `canon:"3,time"` // of the second
}

func (a *Act) position() Position { return Position{Seq: a.Seq, Name: a.Decision} }

// act remembers an allowed act, and says if it was decided on another branch as well.
func (f *Fold) act(e *Entry, what Hash) {
	if len(f.Heads) > 1 {
		missed := oneOf(f.head(e.Name).Missed)
		f.work += int64(len(f.recentActs()))
		for _, a := range f.recentActs() {
			if a.What == what && missed(a.Decision) {
				f.Doubled = pushed(f.Doubled, Doubled{First: a.Decision, Second: e.Name, Time: e.Time}, maxDoubled)
				f.conflict(e, "decided on two branches, and may have happened twice: look, and settle either decision")
			}
		}
	}
	a := Act{Decision: e.Name, Seq: e.Seq, What: what}
	f.lately = extended(f.recentActs(), a, maxActs, &f.own.lately)
	if len(f.Heads) > 1 {
		f.Acts = pushed(f.Acts, a, maxActs)
	}
}

// recentActs are the acts decided last: those since the fold was begun with, and those it was begun with.
func (f *Fold) recentActs() []Act {
	if f.lately == nil {
		return f.Acts
	}
	return f.lately
}

// unact forgets an act that surely did not happen.
func (f *Fold) unact(decision Hash) {
	is := func(a Act) bool { return a.Decision == decision }
	if i := slices.IndexFunc(f.lately, is); i >= 0 {
		f.lately, f.own.lately = slices.Delete(slices.Clone(f.lately), i, i+1), true
	}
	if i := slices.IndexFunc(f.Acts, is); i >= 0 {
		f.Acts = slices.Delete(slices.Clone(f.Acts), i, i+1)
	}
	f.settleDoubled(decision)
}

// settleDoubled forgets that a decision was doubled, and reports whether it was.
func (f *Fold) settleDoubled(decision Hash) bool {
	left := slices.DeleteFunc(slices.Clone(f.Doubled), func(d Doubled) bool { return d.First == decision || d.Second == decision })
	if len(left) == len(f.Doubled) {
		return false
	}
	if f.Doubled = left; len(left) == 0 {
		f.Doubled = nil
	}
	return true
}

// parent is what is to be known of a parent of an entry to tell which acts are not in its past.
type parent struct {
	at     Position
	missed []Hash
}

// has reports whether an act is in the past of the parent. Whatever was folded after the parent is not.
func (p *parent) has(a *Act) bool {
	return a.position().Compare(p.at) <= 0 && !slices.Contains(p.missed, a.Decision)
}

// missed are the acts folded so far that are not in the past of e: of none of its parents.
func (f *Fold) missed(e *Entry, parentOf func(Hash) (parent, bool)) []Hash {
	acts := f.recentActs()
	if len(acts) == 0 || f.onTop(e) {
		return nil
	}
	var parents []parent
	for _, name := range e.Parents {
		if p, ok := parentOf(name); ok {
			parents = append(parents, p)
		}
	}
	f.work += int64(len(acts) * len(parents))
	var missed []Hash
	for i := range acts {
		if !slices.ContainsFunc(parents, func(p parent) bool { return p.has(&acts[i]) }) {
			missed = append(missed, acts[i].Decision)
		}
	}
	return missed
}

// keepActs keeps with the fold what later entries of any head are to be compared with, now that there is one more head.
func (f *Fold) keepActs(missed []Hash) {
	if len(f.Heads) == 1 {
		f.Acts = nil // everything is in the past of whatever comes
		return
	}
	if len(missed) == 0 || slices.ContainsFunc(f.Acts, func(a Act) bool { return a.Decision == missed[0] }) {
		return
	}
	acts := f.recentActs()
	i := slices.IndexFunc(acts, func(a Act) bool { return a.Decision == missed[0] })
	f.Acts = slices.Clone(acts[i:])
}

// parentOf is what is known of a head.
func (f *Fold) parentOf(name Hash) (parent, bool) {
	if h := f.head(name); h != nil {
		return parent{Position{h.Seq, h.Name}, h.Missed}, true
	}
	return parent{}, false
}

// parentOf is what is known of a head, or of an entry that is still held.
func (a *Agent) parentOf(name Hash) (parent, bool) {
	if p, ok := a.fold.parentOf(name); ok {
		return p, true
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
