package perdure

import (
	"slices"

	"github.com/perdure/perdure/phase"
)

// step folds one entry into f, which the caller owns; slices inside f may be shared with other folds and are replaced,
// never written. It is total: an entry that does not go with what is there becomes a Conflict, and the most restrictive
// reading wins. A void entry (of a revoked key) takes its place in memory and changes nothing else. An entry without
// its body changes nothing either; only a memory that a snapshot resumes is folded with such.
func (f *Fold) step(e *Entry, void bool, past Head) {
	f.work++
	f.Count++
	f.Seq = max(f.Seq, e.Seq)
	f.Updated = e.Time
	f.advanceHeads(e, past)
	if e.Kind == KindGenesis {
		f.Agent, f.Created = AgentID(e.Name), e.Time
	} else if f.Created == 0 && f.Count == 2 { // a genesis without a time, see Node.CreateOnce
		f.Created = e.Time
	}
	if void {
		f.conflict(e, conflictVoid)
		return
	}
	switch b := e.content.(type) {
	case Genesis:
		f.Intent, f.Charter, f.Lineage, f.Edited = b.Intent, b.Charter, b.Lineage, e.Name
		f.follow(e)
		if e.Origin != b.Charter.Owner {
			f.Begun = e.Origin
		}
		if b.Taint {
			f.Taint = e.Name
		}
		if !b.Seat.IsZero() {
			f.Seats = []Seat{{Claim: e.Name, At: b.Seat, Epoch: 1, By: e.Origin}}
		}
	case Advice:
		f.stepAdvice(e, &b)
	case Decision:
		f.stepDecision(e, &b)
	case Outcome:
		f.close(e, &b, false)
	case Event:
		f.stepEvent(e, &b)
	case Snapshot:
		f.unsay(leftOut(b.Fold.Inbox))
		f.Snapshot = f.Count
	case nil: // dropped
	}
}

// conflict records what did not go together.
func (f *Fold) conflict(e *Entry, what string) {
	f.Conflicts = extended(f, f.Conflicts, Conflict{Entry: e.Name, What: what}, maxConflicts, &f.rooms.conflicts)
}

// stepDecision folds what authority decided.
func (f *Fold) stepDecision(e *Entry, d *Decision) {
	f.decides(d)
	action := f.decide(e, d)
	if action == nil {
		f.conflict(e, "decision about a proposal this memory no longer offers")
		if !d.acts() {
			return // it changed the agent itself, as it was on another branch
		}
		action = Execute{Tool: unknownTool}
	}
	if len(d.Approvals) > 0 && !f.useApprovals(e, d, action) {
		if x, ok := action.(Execute); ok && d.Verdict.Answer == Allow && !d.Effect.Repeatable() {
			f.acted(e, f.whatOf(d, &x), Hash{}, 0) // it does not count, and may have happened all the same
			f.unmake(e.Name, &x, Denied)
		}
		return
	}
	if x, ok := action.(Execute); ok && d.Advice.IsZero() && len(d.Approvals) == 0 && !f.owes(d.Key) &&
		len(f.Recheck) > 0 && isRecheck(x.Call) {
		f.Recheck = f.Recheck[1:] // whatever the verdict, or it would be asked for ever
	}
	f.decideRead(d, action)
	if f.Ended != nil {
		if _, isEnd := action.(End); !isEnd {
			f.conflict(e, "decision beside or after the end: the end stands")
		}
	}
	switch d.Verdict.Answer {
	case Deny:
		f.Denials++
		f.refuse(e, action)
		f.dropOwed(d.Key)
	case Ask:
		f.ask(e, d, action)
	case Allow:
		f.Denials = 0
		f.allow(e, d, action)
	}
}

// acts reports whether the decision lets something happen outside the agent, as far as it says itself.
func (d *Decision) acts() bool {
	return d.Effect != 0 || d.Deadline != 0 || d.Reserve != nil || len(d.Child) > 0
}

// decide marks the proposal decided and returns the action the decision is about.
func (f *Fold) decide(e *Entry, d *Decision) Action {
	i := slices.IndexFunc(f.Proposals, func(p proposals) bool { return p.Advice == d.Advice })
	if i < 0 || d.Index >= int64(len(f.Proposals[i].Actions)) || d.Index < 0 {
		return d.Action
	}
	p := f.Proposals[i]
	action := d.Action
	if action == nil {
		action = p.Actions[d.Index]
	}
	if len(d.Approvals) == 0 && p.Decided[d.Index] {
		f.conflict(e, "a second decision about one proposal")
	}
	p.Decided = slices.Clone(p.Decided)
	p.Decided[d.Index] = true
	f.Proposals = replaced(f.Proposals, i, p)
	return action
}

// findOpen is the index of the effect a decision allowed, or -1.
func (f *Fold) findOpen(decision Hash) int {
	return find(f, f.Open, func(o *Open) bool { return o.Decision == decision })
}

// allow folds an allowed action.
func (f *Fold) allow(e *Entry, d *Decision, action Action) {
	switch a := action.(type) {
	case Execute:
		if f.open(e, d, a) {
			f.Did = phase.Execution
			if !d.Effect.Repeatable() {
				f.acted(e, f.whatOf(d, &a), d.Advice, d.Index)
			}
		}
	case Delegate:
		f.delegate(e, d, a)
		if what, ok := f.whatIs(a); ok {
			f.acted(e, what, d.Advice, d.Index)
		}
		f.Did = phase.Delegation
	case Mutate:
		f.mutate(e, &a)
		f.Did = phase.Mutation
	case Sleep:
		if f.Ended == nil {
			f.resleep(d)
			f.Sleep = &Sleeping{Decision: e.Name, Since: e.Time, Sleep: a}
			f.Recheck = nil
		}
		f.Did = phase.Evaluation
	case Wake:
		f.wake(e, &a)
	case End:
		f.end(e, a.Signal, a.Result, a.Note)
	}
}

// open records an effect under way, and reports whether there was room for it: else it does not count, and nobody
// performs it.
func (f *Fold) open(e *Entry, d *Decision, action Action) bool {
	o := Open{Decision: e.Name, Key: e.Name, Action: action, Effect: d.Effect, Since: e.Time, Deadline: d.Deadline,
		Origin: e.Origin, Attempt: 1, Child: d.Child}
	if d.Reserve != nil {
		o.Reserve = *d.Reserve
	}
	if !d.Key.IsZero() {
		o.Key = d.Key
		if i := f.findOwed(d.Key); i >= 0 {
			o.Attempt = f.Owed[i].Attempt + 1
			f.dropOwedAt(i)
		}
	}
	w, more := f.weigh(), o.weight()
	if len(f.Open) >= maxOpen || w.actions+more > maxActionBytes {
		f.conflict(e, "more effects under way than an agent has: this one does not count")
		return false
	}
	w.actions += more
	f.Open = append(mine(f, f.Open, &f.own.open), o)
	return true
}

// wake ends the sleep the decision names.
func (f *Fold) wake(e *Entry, w *Wake) {
	f.Did = phase.Reentry
	f.follow(e)
	if f.Sleep == nil || f.Sleep.Decision != w.Sleep {
		f.conflict(e, "wake from a sleep that is not this one")
		return
	}
	if w.Stale {
		f.Recheck = f.Sleep.Sleep.Recheck
	}
	f.Sleep = nil
	if len(w.By) > 0 && len(f.fallen) > 0 {
		is := oneOf(w.By)
		f.refall(func(m *Message) bool {
			m.Spent = m.Spent || is(m.Event)
			return true
		})
	}
	if len(w.By) > 0 && len(f.Inbox) > 0 {
		is := oneOf(w.By)
		f.ownInbox()
		f.work += int64(len(f.Inbox))
		for i := range f.Inbox {
			f.Inbox[i].Spent = f.Inbox[i].Spent || is(f.Inbox[i].Event)
		}
	}
	if len(w.By) > 0 && len(f.marks)+len(f.twins) > 0 {
		f.wakes(oneOf(w.By))
	}
}

// end ends the agent. The first end in fold order stands; its effects under way still get their outcomes.
func (f *Fold) end(e *Entry, s Signal, result Data, note string) {
	if f.Ended != nil {
		return
	}
	for i := range f.Proposals {
		f.offered(f.Proposals[i].Advice, f.Proposals[i].Actions) // a copy may have decided them
	}
	f.Ended = &Ending{Entry: e.Name, Signal: s, Result: result, Note: note, Time: e.Time}
	f.Sleep, f.Recheck, f.Owed, f.Asks, f.Proposals, f.Basis = nil, nil, nil, nil, nil, nil
	f.weights.known = false
}

// pushed returns a new slice with v at its end and at most limit elements, the oldest going first.
func pushed[T any](s []T, v T, limit int) []T {
	if over := len(s) + 1 - limit; over > 0 {
		s = s[over:]
	}
	out := make([]T, len(s), len(s)+1)
	copy(out, s)
	return append(out, v)
}

// replaced returns a new slice with element i replaced.
func replaced[T any](s []T, i int, v T) []T {
	out := slices.Clone(s)
	out[i] = v
	return out
}
