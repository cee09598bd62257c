package perdure

import "slices"

// What must happen once: who can say what came of it, and whether it may be tried again. Everything that asks, asks
// here.
//
// That it happened is anybody's to say: then it is not done again, which is the careful way to be wrong. That it did
// not, or only in part, or that nobody knows, lets it happen again. So it takes somebody who can know:
//
//   - whoever began it;
//   - the owner's node, or one the charter names (delegates), that asked the tool to look at the world (Reconciled);
//   - a person who looked, by a Settle, which takes the right to approve.
//
// The word of others, though trusted to write to the agent, only puts it in doubt, and then a person says. An effect is
// tried again by itself on the word of the first two alone.

// believes reports whether an outcome by somebody says what came of an open effect.
//
// In an agent without a seat everybody is believed, as memories of before there were seats have it (frozen). No node
// decides a once effect for such an agent: it takes the seat first.
func (f *Fold) believes(by Key, o *Open, out *Outcome) bool {
	return o.Effect.Repeatable() || out.Signal == OK || f.surely(by, o, out) || len(f.Seats) == 0
}

// surely reports whether an outcome is by somebody who can know that a once effect did not happen.
func (f *Fold) surely(by Key, o *Open, out *Outcome) bool {
	return by == o.Origin || out.Reconciled && (by == f.Charter.Owner || slices.Contains(f.Charter.Delegates, by))
}

// doubt remembers that nobody can tell what came of an open effect.
func (f *Fold) doubt(i int) {
	if !f.Open[i].Doubt {
		f.Open = mine(f, f.Open, &f.own.open)
		f.Open[i].Doubt = true
	}
}

// didNot reports whether an effect with this signal surely did not happen.
func didNot(s Signal) bool { return s == Denied || s == Throttled || s == Incapable }

// retryable reports whether the same effect should be tried again after signal s: it surely did not happen, or may
// happen again.
func (o *Open) retryable(s Signal) bool {
	if o.Attempt >= maxAttempts {
		return false
	}
	switch s {
	case Throttled, Incapable:
		return true
	case TimedOut, Silent:
		return o.Effect.Repeatable()
	case OK, Partial, Failed, Denied:
	}
	return false
}

// again reports whether an effect is to be tried again after an outcome that was believed. Incapable makes a once
// effect of an agent without a seat owed whoever says so (frozen); it is not tried again on that, see mayTry.
func (f *Fold) again(by Key, o *Open, out *Outcome, settled bool) bool {
	if !o.retryable(out.Signal) {
		return false
	}
	return o.Effect.Repeatable() || by == o.Origin || !settled && (f.surely(by, o, out) || out.Signal == Incapable)
}

// closeOwed folds an outcome of an effect that is to be tried again, and reports whether it was one: that it happened
// after all, or what a person found who looked because nobody could tell. It is not tried again then.
func (f *Fold) closeOwed(e *Entry, o *Outcome, settled bool) bool {
	i := find(f, f.Owed, func(w *Owed) bool {
		happened := o.Signal == OK && !w.Effect.Repeatable() && (w.Decision == o.Decision || w.Key == o.Decision)
		return happened || settled && w.Key == o.Decision && w.Decision.IsZero()
	})
	if i < 0 {
		return false
	}
	f.setVars(e, o.Set)
	f.recordSignal(toolOf(f.Owed[i].Action), e, SignalRecord{Signal: o.Signal, Took: o.Took}, o.Note)
	f.dropOwedAt(i)
	return true
}

// mayTry reports whether an effect that is owed may be tried again: it can be repeated, or its last attempt surely did
// not happen.
func (c *Capabilities) mayTry(f *Fold, w *Owed) bool {
	return !w.Decision.IsZero() || c.class(f, w.Action, w.Effect).Repeatable()
}

// Hearsay are once effects that others than those who can know say did not happen, in an agent without a seat: each as
// if it were open and in doubt, by the decision to settle. They are not tried again before that.
func (f *Fold) Hearsay() (open []Open) {
	for i := range f.Owed {
		if w := &f.Owed[i]; !w.Effect.Repeatable() && w.Decision.IsZero() {
			open = append(open, Open{Decision: w.Key, Key: w.Key, Action: w.Action, Effect: w.Effect, Since: w.Since,
				Attempt: w.Attempt, Doubt: true})
		}
	}
	return open
}

// class is the more careful of the class on record and that of the tool itself: whoever wrote the record may have lied.
// What a fork rehearses happens nowhere.
func (c *Capabilities) class(f *Fold, a Action, recorded Effect) Effect {
	spec, known := c.Tools[toolOf(a)]
	switch {
	case !known || f.rehearses():
		return recorded
	case !recorded.Repeatable() || !spec.Effect.Repeatable():
		return Once
	}
	return max(recorded, spec.Effect)
}

// mayRepeat reports whether enough of the memory is here to do again what may have been begun.
func (c *Capabilities) mayRepeat(f *Fold, o *Open, e Effect) bool {
	if _, child := o.Action.(Delegate); child {
		return true // its genesis is in the decision: the same child, however often it is made
	}
	return c.depth.Allows(e) || f.rehearses()
}
