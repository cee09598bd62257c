package perdure

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// checkBody holds the fields of a body against each other: what the schema cannot say.
func checkBody(e *Entry) error {
	switch b := e.content.(type) {
	case Genesis:
		return checkGenesis(e, &b)
	case Advice:
		if err := atMost(e, "$.body.content.advice", list{"actions", len(b.Actions), maxActions},
			list{"seen", len(b.Seen), maxSeen}); err != nil {
			return err
		}
		for i, act := range b.Actions {
			if err := checkAction(e, fmt.Sprintf("$.body.content.advice.actions[%d]", i), act); err != nil {
				return err
			}
		}
		if u := b.Usage; u != nil && min(u.In, u.Out, u.Cached, u.Cost) < 0 {
			return negative(e, "$.body.content.advice.usage")
		}
		if b.RetryAfter < 0 || b.Took < 0 || b.Epoch < 0 {
			return negative(e, "$.body.content.advice.retry_after_ms")
		}
		return checkBasis(e, b.Basis)
	case Decision:
		return checkDecision(e, &b)
	case Outcome:
		if b.Latency < 0 || b.Took < 0 || b.RetryAfter < 0 || (b.Spend != nil && b.Spend.negative()) {
			return negative(e, "$.body.content.outcome")
		}
		return atMost(e, "$.body.content.outcome", list{"set", len(b.Set), maxSet})
	case Event:
		return checkEvent(e, &b)
	case Snapshot:
		if b.Fold.Spent.negative() || b.Fold.Granted.negative() ||
			slices.ContainsFunc(b.Fold.Inbox, func(m Message) bool { return m.Gone < 0 }) {
			return negative(e, "$.body.content.snapshot.fold")
		}
		if name := b.Fold.full(); name != "" {
			return reject(predFoldSize, e, "$.body.content.snapshot.fold."+name, "more than a fold holds",
				"what its limit allows", "do not resume from it")
		}
		return checkKeys(e, "$.body.content.snapshot.fold.charter", &b.Fold.Charter)
	}
	return nil
}

// checkBasis holds what advice rests on to the bounds of what a sleep looks at again.
func checkBasis(e *Entry, b *Basis) error {
	const at = "$.body.content.advice.basis"
	if b == nil {
		return nil
	}
	if b.Stale < 0 {
		return negative(e, at+".stale_ms")
	}
	for i := range b.Reads {
		if b.Reads[i].Read.Deadline < 0 {
			return negative(e, fmt.Sprintf("%s.reads[%d].read.deadline_ms", at, i))
		}
	}
	return atMost(e, at, list{"reads", len(b.Reads), maxRecheck})
}

func checkGenesis(e *Entry, g *Genesis) error {
	const at = "$.body.content.genesis"
	if err := CheckScope(g.Charter.Scope); err != nil {
		return reject(predScope, e, at+".charter.scope", fmt.Sprintf("%q", g.Charter.Scope), "words joined by slashes",
			"name a scope such as acme/ops")
	}
	if g.Lineage == nil && g.Charter.Owner != e.Origin {
		return reject(predOwner, e, at+".charter.owner", g.Charter.Owner.Short(), e.Origin.Short(),
			"an agent is created by its owner, or descends from one that was")
	}
	if err := atMost(e, at+".charter", list{"policies", len(g.Charter.Policies), maxPolicies},
		list{"approvers", len(g.Charter.Approvers), maxApprovers},
		list{"delegates", len(g.Charter.Delegates), maxApprovers}); err != nil {
		return err
	}
	if err := checkKeys(e, at+".charter", &g.Charter); err != nil {
		return err
	}
	return checkIntent(e, at+".intent", &g.Intent, g.Charter.Depth)
}

// list is how long a list is, and may be.
type list struct {
	name    string
	n, most int
}

// atMost refuses a list that is too long: whoever folds it would have to go through it at every entry after.
func atMost(e *Entry, at string, lists ...list) error {
	for _, l := range lists {
		if l.n > l.most {
			return reject(predLists, e, at+"."+l.name, fmt.Sprint(l.n), fmt.Sprint("at most ", l.most), "split it")
		}
	}
	return nil
}

// checkKeys refuses keys that anyone can sign for: an owner, an approver or a delegate of that kind is everybody.
func checkKeys(e *Entry, at string, c *Charter) error {
	if err := c.Owner.check(e, at+".owner"); err != nil {
		return err
	}
	for i, k := range c.Approvers {
		if err := k.check(e, fmt.Sprintf("%s.approvers[%d]", at, i)); err != nil {
			return err
		}
	}
	for i, k := range c.Delegates {
		if err := k.check(e, fmt.Sprintf("%s.delegates[%d]", at, i)); err != nil {
			return err
		}
	}
	return nil
}

// checkKeyChange refuses a change to or of a key that anyone can sign for. The zero key stands for none.
func checkKeyChange(e *Entry, at string, k *KeyChange) error {
	if !k.Revoke.IsZero() {
		if err := k.Revoke.check(e, at+".revoke"); err != nil {
			return err
		}
	}
	if k.Owner.IsZero() {
		return nil
	}
	return k.Owner.check(e, at+".owner")
}

func checkIntent(e *Entry, at string, i *Intent, depth int64) error {
	if i.Budget.negative() || i.TTL < 0 || i.Deadline < 0 || depth < 0 {
		return negative(e, at)
	}
	return atMost(e, at, list{"tools", len(i.Tools), maxToolNames}, list{"labels", len(i.Labels), maxLabels})
}

func checkAction(e *Entry, at string, act Action) error {
	switch a := act.(type) {
	case Execute:
		if a.Deadline < 0 {
			return negative(e, at+".execute.deadline_ms")
		}
	case Mutate:
		if a.Budget.negative() || a.Deadline < 0 || (a.Depth != nil && *a.Depth < 0) {
			return negative(e, at+".mutate")
		}
		if a.Scope != nil && CheckScope(*a.Scope) != nil {
			return reject(predScope, e, at+".mutate.scope", fmt.Sprintf("%q", *a.Scope), "words joined by slashes", "")
		}
		return atMost(e, at+".mutate", list{"tools", len(a.Tools), maxToolNames},
			list{"labels", len(a.Labels), maxLabels})
	case Delegate:
		if a.Scope != "" && CheckScope(a.Scope) != nil {
			return reject(predScope, e, at+".delegate.scope", fmt.Sprintf("%q", a.Scope), "words joined by slashes", "")
		}
		if err := atMost(e, at+".delegate", list{"policies", len(a.Policies), maxPolicies}); err != nil {
			return err
		}
		return checkIntent(e, at+".delegate.intent", &a.Intent, a.Depth)
	case Sleep:
		if a.Stale < 0 {
			return negative(e, at+".sleep.stale_ms")
		}
		if err := atMost(e, at+".sleep", list{"recheck", len(a.Recheck), maxRecheck}); err != nil {
			return err
		}
		for i := range a.Recheck {
			if a.Recheck[i].Deadline < 0 {
				return negative(e, fmt.Sprintf("%s.sleep.recheck[%d].deadline_ms", at, i))
			}
		}
		var size triggerSize
		if size.add(a.Trigger, 1); size.parts > maxTriggers || size.depth > maxTriggerDepth ||
			size.bytes > maxConditionBytes {
			return reject(predTriggerSize, e, at+".sleep.trigger",
				fmt.Sprintf("%d parts, %d deep, conditions of %d bytes", size.parts, size.depth, size.bytes),
				fmt.Sprintf("at most %d, %d and %d", maxTriggers, maxTriggerDepth, maxConditionBytes),
				"wait for less at a time")
		}
		return checkTrigger(e, at+".sleep.trigger", a.Trigger)
	case Wake:
		return atMost(e, at+".wake", list{"by", len(a.By), maxSeen})
	case End:
	}
	return nil
}

func checkDecision(e *Entry, d *Decision) error {
	const at = "$.body.content.decision"
	if d.Advice.IsZero() && d.Action == nil {
		return reject(predProposal, e, at, "neither advice nor action", "one of them",
			"name the proposal or state the action")
	}
	if d.Index < 0 || d.Verdict.Quorum < 0 || (d.Reserve != nil && d.Reserve.negative()) {
		return negative(e, at)
	}
	if d.Action != nil {
		if err := checkAction(e, at+".action", d.Action); err != nil {
			return err
		}
	}
	if d.Deadline < 0 || d.Verdict.Expires < 0 || slices.ContainsFunc(d.Verdict.Escalate, func(s Escalation) bool {
		return s.At < 0
	}) {
		return negative(e, at)
	}
	lists := []list{{"approvals", len(d.Approvals), maxApprovals}, {"verdict.rules", len(d.Verdict.Rules), maxRules},
		{"verdict.asked", len(d.Verdict.Asked), maxAsked},
		{"verdict.escalate", len(d.Verdict.Escalate), maxEscalate}}
	for i := range d.Verdict.Escalate {
		lists = append(lists, list{"verdict.escalate", len(d.Verdict.Escalate[i].Asked), maxAsked})
	}
	if err := atMost(e, at, lists...); err != nil {
		return err
	}
	_, delegates := d.Action.(Delegate)
	switch {
	case len(d.Child) == 0 && delegates && d.Verdict.Answer == Allow:
		return reject(predChild, e, at+".child", "absent", "the child's genesis entry", "")
	case len(d.Child) == 0:
		return nil
	case d.Verdict.Answer != Allow || (d.Action != nil && !delegates):
		return reject(predChild, e, at+".child", "a child", "none", "only an allowed delegation has a child")
	}
	child, err := DecodeEntry(d.Child, Limits{})
	if err != nil || child.Kind != KindGenesis || child.content == nil || !child.Signed() {
		return reject(predChild, e, at+".child", "something else", "a signed genesis entry",
			"the delegation was changed or forged")
	}
	return nil
}

func checkEvent(e *Entry, ev *Event) error {
	const at = "$.body.content.event.notice"
	if err := atMost(e, "$.body.content.event", list{"set", len(ev.Set), maxSet}); err != nil {
		return err
	}
	switch n := ev.Notice.(type) {
	case Grant:
		if n.Amount.negative() {
			return negative(e, at+".grant.amount")
		}
	case ChildEnded:
		if n.Spend != nil && n.Spend.negative() {
			return negative(e, at+".child-ended.spend")
		}
	case Pruned:
		if n.Entries < 0 || n.Bytes < 0 {
			return negative(e, at+".pruned")
		}
		return atMost(e, at+".pruned", list{"events", len(n.Events), maxInbox})
	case Escalated:
		if n.Stage < 0 {
			return negative(e, at+".escalated.stage")
		}
	case Edit:
		return checkAction(e, at+".edit", n.Mutate)
	case KeyChange:
		return checkKeyChange(e, at+".key-change", &n)
	case Joined:
		if n.Heads < 0 {
			return negative(e, at+".joined.heads")
		}
	case SeatTaken:
		return atMost(e, at+".seat-taken", list{"of", len(n.Of), maxSeats})
	case SeatGiven:
		return atMost(e, at+".seat-given", list{"of", len(n.Of), maxSeats})
	case Document:
		return checkDocument(e, at+".document", &n)
	case Resume:
		return atMost(e, at+".resume", list{"of", len(n.Of), maxPaused})
	case nil, Approval, Pause, Settle, Cancel, Doubt, Erased, Enclosed, Admitted, Doubled:
	}
	return nil
}

// triggerSize is how large a trigger is.
type triggerSize struct{ parts, depth, bytes int }

// add counts a trigger and its parts, no deeper than is allowed.
func (s *triggerSize) add(t Trigger, depth int) {
	s.parts, s.depth = s.parts+1, max(s.depth, depth)
	var of []Trigger
	switch t := t.(type) {
	case On:
		s.bytes += len(t.Filter)
	case When:
		s.bytes += len(t.Condition)
	case Every:
		s.bytes += len(t.Until)
	case Any:
		of = t.Of
	case All:
		of = t.Of
	case At, After, Done, Gather:
	}
	for _, t := range of {
		if s.parts > maxTriggers || s.depth > maxTriggerDepth {
			return
		}
		s.add(t, depth+1)
	}
}

// checkTrigger refuses a trigger that is not one. Whether its conditions compile is not a question of form, or readers
// of memory would have to agree on a version of CEL: a node asks CheckTrigger before it decides, and a condition that
// cannot be evaluated is never met.
func checkTrigger(e *Entry, at string, t Trigger) error {
	bad := func(path, got, want, hint string) error { return reject(predTrigger, e, at+path, got, want, hint) }
	switch t := t.(type) {
	case At:
		if t.Time <= 0 {
			return bad(".at.time", fmt.Sprint(int64(t.Time)), "a time", "")
		}
	case After:
		if t.Millis < 0 {
			return bad(".after.ms", fmt.Sprint(t.Millis), "not negative", "")
		}
	case Done:
		if t.Child.IsZero() == t.Decision.IsZero() {
			return bad(".done", "both or neither", "a child or a decision", "")
		}
	case Gather:
		if t.OK < 0 || t.Failed < 0 {
			return bad(".gather", "a negative number", "zero or more", "")
		}
		return atMost(e, at+".gather", list{"of", len(t.Of), maxGather})
	case Every:
		if t.Millis < 1 {
			return bad(".every.ms", fmt.Sprint(t.Millis), "at least 1", "")
		}
	case Any:
		return checkTriggers(e, at+".any.of", t.Of, bad)
	case All:
		return checkTriggers(e, at+".all.of", t.Of, bad)
	case On, When:
	}
	return nil
}

func checkTriggers(e *Entry, at string, of []Trigger, bad func(path, got, want, hint string) error) error {
	if len(of) == 0 {
		return bad("", "no triggers", "at least one", "")
	}
	for i, t := range of {
		if err := checkTrigger(e, fmt.Sprintf("%s[%d]", at, i), t); err != nil {
			return err
		}
	}
	return nil
}

func (s Spend) negative() bool { return min(s.Cost, s.Tokens, s.Calls) < 0 }

func (b *Budget) negative() bool { return b != nil && b.amounts().negative() }

func negative(e *Entry, at string) error {
	return reject(predAmount, e, at, "a negative amount", "zero or more", "")
}

// verifySignature refuses a signature that is not the author's.
func (e *Entry) verifySignature() error {
	if e.Signature == nil || atomic.LoadUint32(&e.verified) != 0 {
		return nil
	}
	if err := e.Origin.Verify(e.Name, e.Signature); err != nil {
		if r, ok := err.(*Rejection); ok {
			r.Entry = e.Name.String()
		}
		return err
	}
	e.markVerified()
	return nil
}

func (e *Entry) markVerified() { atomic.StoreUint32(&e.verified, 1) }
