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
		f.Snapshot = f.Count
	case nil: // dropped
	}
}

// advanceHeads replaces the parents of e by e.
func (f *Fold) advanceHeads(e *Entry, h Head) {
	h.Name, h.Seq = e.Name, e.Seq
	if len(f.Heads) == 1 && len(e.Parents) == 1 && f.Heads[0].Name == e.Parents[0] { // the usual
		if !f.own.heads {
			f.Heads, f.own.heads = make([]Head, 1), true
		}
		f.Heads[0] = h
		return
	}
	f.Heads = mine(f, f.Heads, &f.own.heads)
	var gone [MaxParents]int // the places of the parents that were heads, ascending as their names do
	n := 0
	for _, p := range e.Parents[:min(len(e.Parents), MaxParents)] {
		if i, found := f.headIndex(p); found {
			gone[n], n = i, n+1
		}
	}
	at, _ := f.headIndex(h.Name)
	if n == 0 {
		f.work += int64(len(f.Heads) - at)
		f.Heads = slices.Insert(f.Heads, at, h)
		return
	}
	f.replaceHeads(gone[:n], at, h)
}

// replaceHeads takes the heads at these places away and puts h where it belongs, which is before the one at a place,
// moving each head between once.
func (f *Fold) replaceHeads(gone []int, at int, h Head) {
	// The hole nearest to the place is filled with h; what lies between moves by one. The other holes close in one
	// pass.
	near, _ := slices.BinarySearch(gone, at)
	if near == len(gone) || (near > 0 && at-gone[near-1] < gone[near]-at) {
		near--
	}
	if hole := gone[near]; hole < at {
		f.work += int64(at - hole)
		copy(f.Heads[hole:], f.Heads[hole+1:at])
		f.Heads[at-1] = h
	} else {
		f.work += int64(hole - at)
		copy(f.Heads[at+1:], f.Heads[at:hole])
		f.Heads[at] = h
	}
	if len(gone) == 1 {
		return
	}
	gone = slices.Delete(gone, near, near+1)
	f.work += int64(len(f.Heads) - gone[0])
	to := gone[0]
	for i, from := range gone {
		end := len(f.Heads)
		if i+1 < len(gone) {
			end = gone[i+1]
		}
		to += copy(f.Heads[to:], f.Heads[from+1:end])
	}
	clear(f.Heads[to:])
	f.Heads = f.Heads[:to]
}

// conflict records what did not go together.
func (f *Fold) conflict(e *Entry, what string) {
	f.Conflicts = extended(f, f.Conflicts, Conflict{Entry: e.Name, What: what}, maxConflicts, &f.rooms.conflicts)
}

// stepAdvice makes new proposals the current ones.
func (f *Fold) stepAdvice(e *Entry, a *Advice) {
	f.Turns++
	if a.Usage != nil {
		f.Spent = f.Spent.plus(Spend{Cost: a.Usage.Cost, Tokens: a.Usage.In + a.Usage.Out})
	}
	if a.Signal != 0 {
		f.recordSignal(f.advisorTool(a.Advisor), e, SignalRecord{Signal: a.Signal, After: a.RetryAfter, Took: a.Took},
			a.Text)
		return
	}
	if a.Advisor != "" {
		f.recordSignal(f.advisorTool(a.Advisor), e, SignalRecord{Signal: OK, Took: a.Took}, "")
	}
	if f.Ended != nil {
		return
	}
	f.see(e, a)
	f.setBasis(e, a)
	if a.Summary != "" {
		f.Summary, f.Since = e.Name, e.Seq
	}
	// Advice whose proposals were all decided is behind us; what is left of older advice is kept a while, so that a
	// decision taken on another branch still finds what it decided.
	keep := make([]proposals, 0, 1)
	for _, p := range f.Proposals {
		if slices.Contains(p.Decided, false) {
			keep = append(keep, p)
		}
	}
	keep = keep[max(0, len(keep)+1-maxAdvice):]
	f.Proposals = append(keep, proposals{Advice: e.Name, Actions: a.Actions, Decided: make([]bool, len(a.Actions)),
		Epoch: a.Epoch, Apart: a.Apart})
	for size := 0; len(f.Proposals) > 1; { // the usual: one
		for i := range f.Proposals {
			size += f.Proposals[i].weight()
		}
		if size <= maxActionBytes {
			break
		}
		f.Proposals, size = f.Proposals[1:], 0
	}
	f.Did = phase.Evaluation
}

// leaveInbox takes the messages that were seen out of the inbox.
func (f *Fold) leaveInbox(seen []Hash) {
	if len(seen) == 0 || len(f.Inbox)+len(f.fallen)+len(f.sights) == 0 {
		return
	}
	is := oneOf(seen)
	f.heed(is)
	f.echo(is)
	f.refall(func(m *Message) bool { return !is(m.Event) })
	f.outOfInbox(is)
}

// outOfInbox takes messages out of the inbox.
func (f *Fold) outOfInbox(is func(Hash) bool) {
	f.unmark(is)
	f.forget(is)
	first := find(f, f.Inbox, func(m *Message) bool { return is(m.Event) })
	if first < 0 {
		return
	}
	w := f.weigh()
	f.ownInbox()
	f.Inbox = slices.DeleteFunc(f.Inbox, func(m Message) bool {
		if !is(m.Event) {
			return false
		}
		w.inbox -= len(m.Data)
		return true
	})
	f.rooms.inbox = roomBehind(f.Inbox)
}

// ownInbox makes the inbox one that can be changed in place.
func (f *Fold) ownInbox() {
	if !f.own.messages {
		f.Inbox = mine(f, f.Inbox, &f.own.messages)
		f.rooms.inbox = roomBehind(f.Inbox)
	}
}

// advisorTool is the name under which an advisor's signals are kept.
func advisorTool(advisor string) string { return phase.Advisor(advisor) }

// advisorTool is the same, as the fold has it already, if it does.
func (f *Fold) advisorTool(advisor string) string {
	for i := range f.Tools {
		name := f.Tools[i].Tool
		if of, is := phase.AdvisorIn(name); is && of == advisor {
			return name
		}
	}
	return advisorTool(advisor)
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
		action = Execute{Tool: "unknown"}
	}
	if len(d.Approvals) > 0 && !f.useApprovals(e, d, action) {
		if x, ok := action.(Execute); ok && d.Verdict.Answer == Allow && !d.Effect.Repeatable() {
			f.acted(e, callKey(&x)) // it does not count, and may have happened all the same
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

// offers reports whether a proposal is among those kept, so that a decision need not say what it is about.
func (f *Fold) offers(advice Hash, index int64) bool {
	return slices.ContainsFunc(f.Proposals, func(p proposals) bool {
		return p.Advice == advice && index >= 0 && index < int64(len(p.Actions))
	})
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

// ask records that a person must answer. A retry of an ask keeps its votes out: each ask is a new question.
func (f *Fold) ask(e *Entry, d *Decision, action Action) {
	digest, err := effectDigest(f.Agent, e.Name, action)
	if err != nil || f.Ended != nil {
		return
	}
	q := Asking{Decision: e.Name, Advice: d.Advice, Index: d.Index, Action: action, Digest: digest, Since: e.Time,
		Verdict: d.Verdict}
	if f.findOwed(d.Key) >= 0 {
		q.Key = d.Key // once approved, it is still the same effect
		f.dropOwed(d.Key)
	}
	w, more := f.weigh(), q.weight()
	if len(f.Asks) >= maxAsks || w.actions+more > maxActionBytes {
		f.conflict(e, "more questions than anybody answers: this one is refused")
		f.Denials++
		f.refuse(e, action)
		return
	}
	w.actions += more
	f.Asks = append(mine(f, f.Asks, &f.own.asks), q)
}

// dropAsk takes away a question that has its answer.
func (f *Fold) dropAsk(i int) {
	f.weigh().actions -= f.Asks[i].weight()
	f.Asks = without(f, f.Asks, i, &f.own.asks)
}

// findAsk is the index of the question a decision asked, or -1.
func (f *Fold) findAsk(decision Hash) int {
	return find(f, f.Asks, func(q *Asking) bool { return q.Decision == decision })
}

// findOpen is the index of the effect a decision allowed, or -1.
func (f *Fold) findOpen(decision Hash) int {
	return find(f, f.Open, func(o *Open) bool { return o.Decision == decision })
}

// findOwed is the index of the owed effect of a key, or -1.
func (f *Fold) findOwed(key Hash) int {
	return find(f, f.Owed, func(w *Owed) bool { return w.Key == key })
}

// refuse remembers that a call was denied. A poll counts as answered, so that it is not asked for again before its
// time.
func (f *Fold) refuse(e *Entry, action Action) {
	x, ok := action.(Execute)
	if !ok {
		return
	}
	f.recordSignal(x.Tool, e, SignalRecord{Signal: Denied}, "")
	if poll, ok := pollIndex(x.Call); ok && f.Sleep != nil {
		f.recordPoll(poll, e.Time, &Outcome{Signal: Denied})
	}
}

// useApprovals takes away the ask whose approvals the decision uses, and reports whether they permit it. An approval
// serves once and for exactly what was asked, and one refusal outweighs all approvals: otherwise the decision counts
// for nothing. A refusal that the decision names, too, was by somebody who was not asked.
func (f *Fold) useApprovals(e *Entry, d *Decision, action Action) bool {
	named := oneOf(d.Approvals)
	i := find(f, f.Asks, func(q *Asking) bool {
		return slices.ContainsFunc(q.Votes, func(v Vote) bool { return named(v.Event) })
	})
	if i < 0 {
		f.conflict(e, "approval used that was already used or never given: the decision does not count")
		return false
	}
	q := &f.Asks[i]
	if slices.ContainsFunc(d.Approvals, func(h Hash) bool {
		return !slices.ContainsFunc(q.Votes, func(v Vote) bool { return v.Event == h })
	}) {
		f.conflict(e, "approval used that was already used or never given: the decision does not count")
		return false
	}
	key := func(k Key) Key { return k } // whose it is, only a node can tell
	yes, no := q.count(e.Time, func(v *Vote) bool { return v.Approve == named(v.Event) }, key)
	digest, err := effectDigest(f.Agent, q.Decision, action)
	switch {
	case no: // the approvals are used up all the same: whoever decided may have acted
		f.conflict(e, "a person refused what this decision allows: the refusal stands")
		asks := mine(f, f.Asks, &f.own.asks)
		asks[i].Votes = slices.DeleteFunc(slices.Clone(q.Votes), func(v Vote) bool { return v.Approve })
		f.Asks = asks
		return false
	case err != nil || digest != q.Digest:
		f.conflict(e, "approval used for something else than was asked: the decision does not count")
		return false
	case int64(len(yes)) < max(q.Verdict.Quorum, 1):
		f.conflict(e, "decision with fewer approvals than were asked for: it does not count")
		return false
	}
	f.dropAsk(i)
	return true
}

// allow folds an allowed action.
func (f *Fold) allow(e *Entry, d *Decision, action Action) {
	switch a := action.(type) {
	case Execute:
		if f.open(e, d, a) {
			f.Did = phase.Execution
			if !d.Effect.Repeatable() {
				f.acted(e, callKey(&a))
			}
		}
	case Delegate:
		f.delegate(e, d, a)
		if what, err := effectDigest(f.Agent, Hash{}, a); err == nil {
			f.acted(e, what)
		}
		f.Did = phase.Delegation
	case Mutate:
		f.mutate(e, &a)
		f.Did = phase.Mutation
	case Sleep:
		if f.Ended == nil {
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
	f.Ended = &Ending{Entry: e.Name, Signal: s, Result: result, Note: note, Time: e.Time}
	f.Sleep, f.Recheck, f.Owed, f.Asks, f.Proposals, f.Basis = nil, nil, nil, nil, nil, nil
	f.weights.known = false
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
