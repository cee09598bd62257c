package perdure

// findOwed is the index of the owed effect of a key, or -1.
func (f *Fold) findOwed(key Hash) int {
	return find(f, f.Owed, func(w *Owed) bool { return w.Key == key })
}

// owes reports whether the effect of this key is to be tried again.
func (f *Fold) owes(key Hash) bool {
	return f.findOwed(key) >= 0
}

// dropOwed forgets an effect that will not be tried again.
func (f *Fold) dropOwed(key Hash) {
	if key.IsZero() {
		return
	}
	if i := f.findOwed(key); i >= 0 {
		f.dropOwedAt(i)
	}
}

func (f *Fold) dropOwedAt(i int) {
	f.weigh().actions -= weight(f.Owed[i].Action)
	f.Owed = without(f, f.Owed, i, &f.own.owed)
}

// owe keeps an effect to be tried again. An incapable node costs no attempt: another one has not tried yet.
func (f *Fold) owe(e *Entry, o *Open, out *Outcome) {
	w := Owed{Key: o.Key, Action: o.Action, Effect: o.Effect, Attempt: o.Attempt, Signal: out.Signal, Since: e.Time,
		After: out.RetryAfter}
	if o.Deadline != 0 {
		w.Limit = int64(o.Deadline - o.Since)
	}
	if out.Signal == Incapable {
		w.Attempt--
	}
	if !o.Effect.Repeatable() && f.surely(e.Origin, o, out) {
		w.Decision = o.Decision
	}
	weights, more := f.weigh(), weight(w.Action)
	if len(f.Owed) >= maxOwed || weights.actions+more > maxActionBytes {
		f.conflict(e, "more effects to try again than an agent has: this one is given up")
		return
	}
	weights.actions += more
	f.Owed = append(mine(f, f.Owed, &f.own.owed), w)
}
