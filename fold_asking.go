package perdure

import "slices"

// Bound reports whether the digest of a question is that of its own action, for this agent and decision: an approval of
// the digest then permits the action that is shown, and no other. A fold taken over from a snapshot could say
// otherwise.
func (q *Asking) Bound(id AgentID) bool {
	digest, err := effectDigest(id, q.Decision, q.Action)
	return err == nil && digest == q.Digest
}

// lapsed reports whether nobody's answer is waited for any more at a time.
func (q *Asking) lapsed(t Time) bool { return q.Verdict.Expires != 0 && t >= q.Verdict.Expires }

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
	f.askedBeside(e, action)
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
	s := q.tally(e.Time, func(v *Vote) bool { return v.Approve == named(v.Event) }, key)
	digest, err := effectDigest(f.Agent, q.Decision, action)
	switch {
	case s.Refused: // the approvals are used up all the same: whoever decided may have acted
		f.conflict(e, "a person refused what this decision allows: the refusal stands")
		asks := mine(f, f.Asks, &f.own.asks)
		asks[i].Votes = slices.DeleteFunc(slices.Clone(q.Votes), func(v Vote) bool { return v.Approve })
		f.Asks = asks
		return false
	case err != nil || digest != q.Digest:
		f.conflict(e, "approval used for something else than was asked: the decision does not count")
		return false
	case s.Lacks > 0:
		f.conflict(e, "decision with fewer approvals than were asked for: it does not count")
		return false
	}
	f.dropAsk(i)
	return true
}
