package perdure

// An entry says in its header when a node should look next, which is known only once it is folded; and it is folded
// under its name, which is known only once its header is. What a node writes all the time is folded once all the same:
// without its name, which is then put where the fold says it.

// ahead is the agent with e folded, which is written on top of everything and has no name yet; nil if that is not to be
// had, because the fold of such an entry may say its name in many places. It is to be named before anybody sees it.
func (a *Agent) ahead(e *Entry) *Agent {
	f := a.fold
	if len(a.early) > 0 || len(f.Heads) != 1 || !f.onTop(e) || len(f.Revoked)+len(f.Former) > 0 || e.Seq <= a.top.Seq {
		return nil
	}
	switch b := e.content.(type) {
	case Advice:
		if b.Summary != "" || b.Basis != nil || b.Apart {
			return nil
		}
	case Decision:
		if b.Verdict.Answer != Allow || !b.Effect.Repeatable() || len(b.Approvals) > 0 {
			return nil
		}
	case Outcome:
		if b.Taint {
			return nil
		}
	default:
		return nil
	}
	next := a.next()
	next.fold = f.clone()
	next.turn()
	next.fold.step(e, false, Head{})
	if !next.fold.nameable(f, e.Kind) {
		f.takeBack(next.fold)
		return nil
	}
	return next
}

// nameable reports whether f, which is before with one more entry of a kind that ahead takes, says the name of that
// entry only where named puts it.
func (f *Fold) nameable(before *Fold, kind Kind) bool {
	if n := len(f.Conflicts); n != len(before.Conflicts) || n > 0 && &f.Conflicts[n-1] != &before.Conflicts[n-1] {
		return false
	}
	if kind != KindDecision {
		return true
	}
	n := len(f.Open)
	if n != len(before.Open)+1 {
		return false
	}
	_, calls := f.Open[n-1].Action.(Execute)
	return calls
}

// named puts the name of the last entry, e, where the fold says it, and e among those the agent holds. Before is the
// agent without it.
func (a *Agent) named(before *Agent, e *Entry) {
	f := a.fold
	f.Heads[0].Name = e.Name
	switch b := e.content.(type) {
	case Advice:
		if b.Signal == 0 && f.Ended == nil {
			f.Proposals[len(f.Proposals)-1].Advice = e.Name
			f.sighted(e.Name)
		}
	case Decision:
		o := &f.Open[len(f.Open)-1]
		if o.Decision = e.Name; o.Key.IsZero() {
			o.Key = e.Name
		}
	case Outcome:
		if n := len(f.made); n > 0 && f.made[n-1].at.Name.IsZero() {
			f.made[n-1].at.Name = e.Name
		}
	}
	a.hold(e, unseen{})
	a.authors = before.wrote(e, false)
}
