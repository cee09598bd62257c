package perdure

import "slices"

// repeat is a question about what was decided where whoever asked had not seen it: in another copy of the agent. If it
// is the same proposal, the question lapses (see done). Else a person may want both, and must know. It is remembered
// with the fold in memory only.
type repeat struct {
	asked Hash     // the decision that asks
	act   Position // the one that let the same happen
}

// wanted is an open question by what it is about.
type wanted struct{ decision, what Hash }

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
	what, ok := f.whatIs(action)
	if !ok {
		return
	}
	if f.wanted == nil {
		f.questioned() // with this one
	} else {
		f.wanted = append(f.stillOpen(), wanted{e.Name, what})
	}
	h := f.head(e.Name)
	if len(h.missed) == 0 {
		return
	}
	missed := oneOf(h.missed)
	f.work += int64(len(f.acts))
	for i := range f.acts {
		if a := &f.acts[i]; a.what == what && a.of.IsZero() && missed(a.at.Name) {
			f.doubling = pushed(f.doubling, repeat{e.Name, a.at}, maxActs)
		}
	}
}

// questioned is what the open questions are about: worked out once, as each may be as large as an entry. Some may have
// been answered since.
func (f *Fold) questioned() []wanted {
	if f.wanted != nil {
		return f.wanted
	}
	f.wanted = make([]wanted, 0, len(f.Asks))
	for i := range f.Asks {
		q := &f.Asks[i]
		f.work += int64(q.weight())
		if what, ok := f.whatIs(q.Action); ok {
			f.wanted = append(f.wanted, wanted{q.Decision, what})
		}
	}
	return f.wanted
}

// stillOpen is a copy of the questions without those that were answered, of which there are some if they are too many.
func (f *Fold) stillOpen() []wanted {
	f.work += int64(len(f.wanted))
	all := slices.Clone(f.wanted)
	if len(all) < 2*maxAsks {
		return all
	}
	open := make([]Hash, len(f.Asks))
	for i := range f.Asks {
		open[i] = f.Asks[i].Decision
	}
	is := oneOf(open)
	return slices.DeleteFunc(all, func(q wanted) bool { return !is(q.decision) })
}

// actedBeside remembers the open questions about an act that is folded after them, and may not have seen them.
func (f *Fold) actedBeside(e *Entry, what Hash) {
	if len(f.Heads) < 2 {
		return
	}
	of := f.questioned()
	f.work += int64(len(of))
	for _, q := range of {
		if q.what == what && f.findAsk(q.decision) >= 0 {
			f.doubling = pushed(f.doubling, repeat{q.decision, e.Position()}, maxActs)
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
