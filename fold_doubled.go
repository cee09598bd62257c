package perdure

import (
	"cmp"
	"slices"
)

// Doubled tells that the same act, a once effect or a child, was decided on two branches of a memory, neither decision
// having seen the other: it may have happened twice. The node that finds it out records it. Nobody but a person can
// tell what to make of it; Settle of either decision says that somebody has.
type Doubled struct {
	First  Hash `canon:"1,first"`  // the decisions, in fold order
	Second Hash `canon:"2,second"` // the other one
	Time   Time `canon:"3,time"`   // of the second
}

// act is a decision that lets something happen which must not happen twice. What names it by what is done. So is the
// word that it happened, where another branch has it that it did not; see mislead.
type act struct {
	at    Position // of the decision, or of the word
	what  Hash
	of    Hash // the decision that the word is of; zero: it is a decision
	by    Hash // the advice that proposed it, if one did and the decision counts
	index int64
}

// decision is the decision that an act is, or is of.
func (a *act) decision() Hash { return cmp.Or(a.of, a.at.Name) }

// flagStep says that something was decided twice, and is to be recorded.
type flagStep struct{ Doubled Doubled }

// Doubles are the acts decided twice that nobody has settled: those on record, and those found in the entries at hand.
func (f *Fold) Doubles() []Doubled { return slices.Concat(f.Doubled, f.doubled) }

// acted remembers an allowed act, and whether it was decided on another branch as well. It is remembered with the fold
// in memory only: branches that part before the fold was begun with are folded again from before. Of more acts than are
// remembered the oldest are forgotten; an act whose author had not seen one of those may be the same, so a person is
// asked about the two.
func (f *Fold) acted(e *Entry, what, advice Hash, index int64) {
	h := f.head(e.Name)
	if len(h.missed) > 0 { // few acts have others beside them
		missed := oneOf(h.missed)
		f.work += int64(len(f.acts))
		for i := range f.acts {
			if a := &f.acts[i]; a.what == what && missed(a.at.Name) {
				f.double(Doubled{First: a.decision(), Second: e.Name, Time: e.Time})
			}
		}
	}
	if h.beyond {
		f.double(Doubled{First: f.forgot.Name, Second: e.Name, Time: e.Time})
	}
	f.actedBeside(e, what)
	f.remember(act{at: e.Position(), what: what, by: advice, index: index})
}

// done reports whether what a question proposes was decided, and as far as anybody knows done: the question was asked
// in a copy that had not seen it.
func (f *Fold) done(q *Asking) bool {
	if q.Advice.IsZero() {
		return false
	}
	is := func(a act) bool { return a.by == q.Advice && a.index == q.Index }
	i := slices.IndexFunc(f.acts, is)
	if i < 0 {
		return false
	}
	what, ok := f.whatIs(q.Action)
	return ok && slices.ContainsFunc(f.acts[i:], func(a act) bool { return a.what == what && is(a) })
}

// lapse is what to write of a question about what was done already.
func (q *Asking) lapse() Outcome {
	return Outcome{Decision: q.Decision, Signal: Denied, Note: doneAlready}
}

// unknownTool stands for what a decision lets happen when the fold has no proposals left that say what it is (frozen).
const unknownTool = "unknown"

// offered remembers what advice proposes that no fold keeps: it has ended. A copy that had not heard of the end may
// have decided it, and that may be what was done here.
func (f *Fold) offered(advice Hash, actions []Action) {
	for i, a := range actions {
		if what, ok := f.whatIs(a); ok {
			f.beside = extended(f, f.beside, act{what: what, by: advice, index: int64(i)}, maxActs, &f.rooms.beside)
		}
	}
}

// whatOf names what a decision lets happen, also where the fold does not offer it any more: then it was offered beside
// the end, or decided in another copy.
func (f *Fold) whatOf(d *Decision, x *Execute) Hash {
	if x.Tool == unknownTool && d.Action == nil {
		for _, all := range [][]act{f.beside, f.acts} {
			if i := find(f, all, func(a *act) bool { return a.by == d.Advice && a.index == d.Index }); i >= 0 {
				return all[i].what
			}
		}
	}
	return callKey(x)
}

// whatIs names an action that must not happen twice by what is done.
func (f *Fold) whatIs(a Action) (what Hash, ok bool) {
	switch a := a.(type) {
	case Execute:
		return callKey(&a), true
	case Delegate:
		what, err := effectDigest(f.Agent, Hash{}, a)
		return what, err == nil
	}
	return what, false
}

// remember keeps an act to compare others with.
func (f *Fold) remember(a act) {
	if len(f.acts) >= maxActs && f.forgot.Compare(f.acts[0].at) < 0 {
		f.forgot = f.acts[0].at
	}
	f.acts = extended(f, f.acts, a, maxActs, &f.rooms.acts)
}

// double remembers that something was decided twice. Of too many the first stay.
func (f *Fold) double(d Doubled) {
	if len(f.doubled) < maxActs {
		f.doubled = pushed(f.doubled, d, maxActs)
	}
}

// unrecorded are those that were found and are to be on record: as many as a fold holds, or the first would leave it
// before somebody has looked. The others follow as these are settled.
func (f *Fold) unrecorded() []Doubled {
	return f.doubled[:max(0, min(len(f.doubled), maxDoubled-len(f.Doubled)))]
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

// settled forgets that a decision was doubled, and reports whether that was on record: what is only known from the
// entries at hand must not change what they come to.
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
	f.acts, f.doubled, f.forgot, f.fallen, f.fallenBytes = nil, nil, Position{}, nil, 0
	f.unmade, f.happened, f.made, f.tellers, f.twins, f.echoes = nil, nil, nil, nil, nil, nil
	f.sights, f.drifted, f.marks, f.beside, f.doubling, f.wanted = nil, nil, nil, nil, nil, nil
	if slices.ContainsFunc(f.Heads, func(h Head) bool { return h.missed != nil || h.beyond }) {
		f.Heads = slices.Clone(f.Heads)
		for i := range f.Heads {
			f.Heads[i].missed, f.Heads[i].beyond = nil, false
		}
	}
	return f
}

// undone forgets an act that surely did not happen.
func (f *Fold) undone(decision Hash) {
	is := func(a act) bool { return a.decision() == decision }
	if slices.ContainsFunc(f.acts, is) {
		f.acts = slices.DeleteFunc(slices.Clone(f.acts), is)
		f.rooms.acts = roomBehind(f.acts)
	}
	f.notRepeated(decision)
	f.settled(decision)
}

// parent is what is to be known of a parent of an entry to tell which acts are not in its past.
type parent struct {
	at Position
	unseen
}

// unseen is what an entry has not in its past of the acts folded before it.
type unseen struct {
	missed []Hash
	beyond bool // some that are not remembered any more, as far as can be told
}

// unseen is what of the acts folded so far is not in the past of e: of none of its parents. Whatever was folded after a
// parent is not in the past of that.
func (f *Fold) unseen(e *Entry, parentOf func(Hash) (parent, bool)) (u unseen) {
	if len(f.acts) == 0 || f.onTop(e) {
		return u
	}
	left := make([]Position, len(f.acts))
	for i := range f.acts {
		left[i] = f.acts[i].at
	}
	u.beyond = f.forgot != Position{}
	for _, name := range e.Parents {
		p, ok := parentOf(name)
		if !ok {
			continue
		}
		f.work += int64(len(left) + len(p.missed))
		missed, known := oneOf(p.missed), 0
		for i := range f.acts {
			if missed(f.acts[i].at.Name) {
				known++
			}
		}
		left = slices.DeleteFunc(left, func(at Position) bool { return at.Compare(p.at) <= 0 && !missed(at.Name) })
		u.beyond = u.beyond && (p.beyond || p.at.Compare(f.forgot) < 0 || known < len(p.missed))
	}
	if len(left) > 0 {
		u.missed = make([]Hash, len(left))
	}
	for i := range left {
		u.missed[i] = left[i].Name
	}
	return u
}

// parentOf is what is known of a head, or of an entry that is still held.
func (a *Agent) parentOf(name Hash) (parent, bool) {
	if h := a.fold.head(name); h != nil {
		return parent{Position{h.Seq, h.Name}, h.unseen}, true
	}
	for _, s := range []segment{a.cur, a.prev} {
		for l := s.last; l != nil; l = l.before {
			a.fold.work++
			if l.Name == name {
				return parent{l.Position(), l.unseen}, true
			}
		}
	}
	return parent{}, false
}

// parents is parentOf for a run of entries that are folded from a base on, whose heads are known: as long as the memory
// is wide, what is held is too long to be looked through for each.
func (a *Agent) parents(entries []*Entry, known map[Hash]Head) func(Hash) (parent, bool) {
	var seqs map[Hash]int64
	return func(name Hash) (parent, bool) {
		if h := a.fold.head(name); h != nil {
			return parent{Position{h.Seq, h.Name}, h.unseen}, true
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
		return parent{Position{seq, name}, h.unseen}, known
	}
}

// flags is what to write before a snapshot, which would forget it: what was found decided twice, what happened though
// it is on record as not done, and which questions are about what was done already.
func (a *Agent) flags(policy Hash) []Draft {
	var drafts []Draft
	for _, d := range a.fold.unrecorded() {
		drafts = append(drafts, Draft{Body: Event{Name: "doubled", By: runtimeName, Notice: d}, Policy: policy})
	}
	for i := range a.fold.happened {
		if a.fold.Ended == nil {
			drafts = append(drafts, Draft{Body: a.fold.telling(&a.fold.happened[i]), Policy: policy})
		}
	}
	for i := range a.fold.Asks {
		if q := &a.fold.Asks[i]; a.fold.done(q) {
			drafts = append(drafts, Draft{Body: q.lapse(), Policy: policy})
		}
	}
	return drafts
}
