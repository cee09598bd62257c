package perdure

import "slices"

// stepEvent folds something the agent was told.
func (f *Fold) stepEvent(e *Entry, ev *Event) {
	if ev.ID != "" && ev.repeatable() {
		id := ev.By + "\x00" + ev.ID
		if slices.Contains(f.Dedupe, id) {
			return
		}
		f.Dedupe = extended(f.Dedupe, id, maxDedupe, &f.own.dedupe)
	}
	if ev.Taint {
		f.Taint = e.Name
	}
	if _, ok := ev.Notice.(Settle); !ok {
		f.setVars(ev.Set)
	}
	data := ev.Data
	switch n := ev.Notice.(type) {
	case nil:
	case ChildEnded:
		f.childEnded(e, &n)
		data = n.Result
	case Approval:
		f.vote(e, &n)
		return
	case Settle:
		f.close(e, &Outcome{Decision: n.Decision, Signal: n.Signal, Result: n.Result, Note: n.Note, Set: ev.Set, Reconciled: true})
	case Pause:
		f.Paused = pushed(f.Paused, e.Name, len(f.Paused)+1)
		return
	case Resume:
		if f.Paused = slices.DeleteFunc(slices.Clone(f.Paused), func(p Hash) bool { return slices.Contains(n.Of, p) }); len(f.Paused) == 0 {
			f.Paused = nil
		}
		return
	case KeyChange:
		f.changeKey(e, &n)
		return
	case Grant:
		if f.byOwner(e) {
			f.Granted = f.Granted.Plus(n.Amount)
		}
		return
	case Cancel:
		f.end(e, Denied, nil, n.Note)
		return
	case Doubt:
		if i := slices.IndexFunc(f.Open, func(o Open) bool { return o.Decision == n.Decision }); i >= 0 {
			o := f.Open[i]
			o.Doubt = true
			f.Open = replaced(f.Open, i, o)
		}
		return
	case Escalated:
		f.escalate(&n)
		return
	case Enclosed:
		if !slices.Contains(f.Enclosed, n.Of) {
			f.Enclosed = pushed(f.Enclosed, n.Of, maxEnclosed)
		}
		return
	case Pruned, Erased: // a matter of record
		return
	case Edit:
		f.mutate(e, &n.Mutate)
	}
	if f.Ended == nil {
		f.Inbox = extended(f.Inbox, Message{Event: e.Name, Name: ev.Name, By: ev.By, Data: data, Time: e.Time}, maxInbox, &f.own.inbox)
		f.Inbox = bounded(f.Inbox)
	}
}

// bounded is the newest messages that fit into maxInboxBytes, at least one.
func bounded(inbox []Message) []Message {
	size := 0
	for i := len(inbox) - 1; i >= 0; i-- {
		if size += len(inbox[i].Data); size > maxInboxBytes && i < len(inbox)-1 {
			return inbox[i+1:]
		}
	}
	return inbox
}

// repeatable reports whether a second event with the same id is to change nothing. That does not hold for notices that bound the agent: an
// id that somebody used before must not keep a revocation, a pause or a refusal from counting. Those do the same however often they come.
func (ev *Event) repeatable() bool {
	switch ev.Notice.(type) {
	case nil, ChildEnded, Grant:
		return true
	case Approval, KeyChange, Pause, Resume, Settle, Cancel, Doubt, Edit, Pruned, Erased, Escalated, Enclosed:
	}
	return false
}

// vote counts a person's answer to an ask. A refusal stands, whatever else is said; an approval of another digest is not one of this.
func (f *Fold) vote(e *Entry, a *Approval) {
	i := slices.IndexFunc(f.Asks, func(q Asking) bool { return q.Decision == a.Decision })
	switch {
	case i < 0:
		f.conflict(e, "answer to a question that is not open")
		return
	case f.Asks[i].Digest != a.Digest:
		f.conflict(e, "approval of something else than was asked: it does not count")
		return
	case f.Asks[i].Verdict.Expires != 0 && e.Time >= f.Asks[i].Verdict.Expires:
		f.conflict(e, "answer after the question lapsed: it does not count")
		return
	case f.Asks[i].byCharter() && len(f.Charter.Approvers) > 0 && !slices.Contains(f.Charter.Approvers, e.Origin):
		f.conflict(e, "approval by somebody the charter does not name: it does not count")
		return
	}
	q := f.Asks[i]
	q.Votes = slices.DeleteFunc(slices.Clone(q.Votes), func(v Vote) bool { return v.Origin == e.Origin && v.Approve == a.Approve })
	q.Votes = append(q.Votes, Vote{Event: e.Name, Origin: e.Origin, Approve: a.Approve, Expires: a.Expires})
	f.Asks = replaced(f.Asks, i, q)
}

// byCharter reports whether a question goes to nobody but those the charter names: whoever else is asked by a name, only a node can tell who
// that is.
func (q *Asking) byCharter() bool {
	return !slices.ContainsFunc(q.Asked(), func(who string) bool { return who != AskedOwner })
}

// escalate moves a question on to more people. A stage that came already changes nothing.
func (f *Fold) escalate(n *Escalated) {
	i := slices.IndexFunc(f.Asks, func(q Asking) bool { return q.Decision == n.Decision })
	if i < 0 || f.Asks[i].Stage >= n.Stage || n.Stage > int64(len(f.Asks[i].Verdict.Escalate)) {
		return
	}
	q := f.Asks[i]
	q.Stage = n.Stage
	f.Asks = replaced(f.Asks, i, q)
}

// changeKey changes whose entries count. That the owner hands the agent on twice, neither time having seen the other, is a sign of a stolen
// key: nobody can tell which is right, so the agent stays still for good. A revocation absorbs: it counts even then.
func (f *Fold) changeKey(e *Entry, k *KeyChange) {
	if !f.byOwner(e) {
		return
	}
	h := f.head(e.Name) // of e, made by this step
	if !k.Revoke.IsZero() {
		h.Knows = withKey(h.Knows, k.Revoke)
		if !slices.Contains(f.Revoked, k.Revoke) {
			f.Revoked = pushed(f.Revoked, k.Revoke, len(f.Revoked)+1)
		}
	}
	if k.Owner.IsZero() || k.Owner == e.Origin {
		return
	}
	if slices.Contains(h.Owners, k.Owner) || slices.Contains(h.Handed, k.Owner) {
		f.conflict(e, "handed on to somebody who owned the agent before: that takes a new key")
		return
	}
	h.Owners, h.Handed = withKey(h.Owners, k.Owner), withKey(h.Handed, e.Origin)
	if e.Origin != f.Charter.Owner {
		f.Contested = true
		f.conflict(e, "handed on on two branches: the agent stays still until a person decides")
		return
	}
	f.Former = pushed(f.Former, f.Charter.Owner, len(f.Former)+1)
	f.Charter.Owner = k.Owner
}

// byOwner reports whether e is by the owner as its author knew it, and records that somebody else tried. What is not in the past of e has
// no say in it: whoever folds a part of this memory only must come to the same.
func (f *Fold) byOwner(e *Entry) bool {
	first := f.Charter.Owner
	if len(f.Former) > 0 {
		first = f.Former[0]
	}
	h := f.head(e.Name)
	if (e.Origin == first || slices.Contains(h.Owners, e.Origin)) && !slices.Contains(h.Handed, e.Origin) {
		return true
	}
	f.conflict(e, "only the owner may do this: it does not count")
	return false
}

// childEnded settles a child's budget.
func (f *Fold) childEnded(e *Entry, n *ChildEnded) {
	i := slices.IndexFunc(f.Children, func(c ChildInfo) bool { return c.Agent == n.Child })
	if n.Spend != nil && (i < 0 || !f.Children[i].Ended) {
		f.Spent = f.Spent.Plus(*n.Spend) // also of a child of another branch that this fold has not taken on
	}
	if i < 0 || f.Children[i].Ended {
		f.conflict(e, "end of a child that is not there or has ended")
		return
	}
	c := f.Children[i]
	c.Ended, c.Signal, c.Head, c.Result = true, n.Signal, n.Head, n.Result
	f.Children = replaced(f.Children, i, c)
	ended := 0
	for j := range f.Children {
		if f.Children[j].Ended {
			ended++
		}
	}
	if ended > maxEndedChildren {
		oldest := slices.IndexFunc(f.Children, func(c ChildInfo) bool { return c.Ended })
		f.Children = removed(f.Children, oldest)
	}
}
