package perdure

import "slices"

// repeat is a question about what was decided where whoever asked had not seen it: in another copy of the agent. If it
// is the same proposal, the question lapses (see done). Else a person may want both, and must know. It
// It is remembered with the fold in memory only.
type repeat struct {
	asked Hash     // the decision that asks
	act   Position // the one that let the same happen
}

// Repeats are the decisions that let happen what an open question asks about, and that were not known when it was
// asked: approved, it happens again. As far as the entries at hand tell.
func (f *Fold) Repeats(q *Asking) (acts []Position) {
	for _, r := range f.doubling {
		if r.asked == q.Decision {
			acts = append(acts, r.act)
		}
	}
	return acts
}

// askedBeside remembers which acts, folded before a question about the same, were not in its past.
func (f *Fold) askedBeside(e *Entry, action Action) {
	h := f.head(e.Name)
	if len(h.missed) == 0 {
		return
	}
	what, ok := f.whatIs(action)
	missed := oneOf(h.missed)
	f.work += int64(len(f.acts))
	for i := range f.acts {
		if a := &f.acts[i]; ok && a.what == what && a.of.IsZero() && missed(a.at.Name) {
			f.doubling = pushed(f.doubling, repeat{e.Name, a.at}, maxActs)
		}
	}
}

// actedBeside remembers the open questions about an act that is folded after them, and may not have seen them.
func (f *Fold) actedBeside(e *Entry, what Hash) {
	if len(f.Heads) < 2 {
		return
	}
	f.work += int64(len(f.Asks))
	for i := range f.Asks {
		q := &f.Asks[i]
		if is, ok := f.whatIs(q.Action); ok && is == what {
			f.doubling = pushed(f.doubling, repeat{q.Decision, e.Position()}, maxActs)
		}
	}
}

// notRepeated forgets an act that surely did not happen.
func (f *Fold) notRepeated(decision Hash) {
	is := func(r repeat) bool { return r.act.Name == decision }
	if slices.ContainsFunc(f.doubling, is) {
		f.doubling = slices.DeleteFunc(slices.Clone(f.doubling), is)
	}
}
