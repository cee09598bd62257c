package perdure

import "slices"

// stepEvent folds something the agent was told.
func (f *Fold) stepEvent(e *Entry, ev *Event) {
	f.heard(ev)
	_, grants := ev.Notice.(Grant)
	counts := !grants || f.byOwner(e) // a grant that does not count uses up no id
	if ev.ID != "" && ev.repeatable() && counts {
		if id := ev.dedupeID(); f.repeated(e.Name, id) && !f.news(ev) {
			f.pair(e, id)
			return
		}
	}
	f.follow(e)
	if ev.Taint {
		f.Taint = e.Name
	}
	if _, ok := ev.Notice.(Settle); !ok {
		f.setVars(e, ev.Set)
	}
	if data, told := f.notice(e, ev, counts); told && f.Ended == nil {
		f.deliver(e, ev, data)
	}
}

// notice folds what the runtime itself understands of an event; a grant only if it counts. It reports whether the event
// is one for the advisor, too, and the data it has.
func (f *Fold) notice(e *Entry, ev *Event, counts bool) (data Data, told bool) {
	switch n := ev.Notice.(type) {
	case nil:
		return ev.Data, true
	case ChildEnded:
		f.childEnded(e, &n)
		return n.Result, true
	case Settle:
		f.settle(e, ev, &n)
		return ev.Data, true
	case Edit:
		f.mutate(e, &n.Mutate)
		return ev.Data, true
	case Approval:
		f.vote(e, &n)
	case Escalated:
		f.escalate(&n)
	case Grant:
		if counts {
			f.Granted = f.Granted.plus(n.Amount)
		}
	case Pause:
		f.pause(e)
	case Resume:
		f.Paused = slices.DeleteFunc(mine(f, f.Paused, &f.own.paused), oneOf(n.Of))
	case Cancel:
		f.end(e, Denied, nil, n.Note)
	case KeyChange:
		f.changeKey(e, &n)
	case Admitted:
		if len(f.Admitted) < maxKeys {
			f.Admitted = withKey(f.Admitted, e.Origin)
		}
	case Doubt:
		if i := f.findOpen(n.Decision); i >= 0 {
			f.doubt(i)
		}
	case Doubled:
		f.record(e, &n)
	case SeatTaken:
		f.takeSeat(e, &n)
	case SeatGiven:
		f.giveSeat(e, &n)
	case Lacks:
		f.recordIncapable(Incapability{Node: e.Origin, What: n.What, Note: n.Note, Since: e.Time, Times: 1,
			Missing: true})
	case Enclosed:
		if !slices.Contains(f.Enclosed, n.Of) {
			f.Enclosed = pushed(f.Enclosed, n.Of, maxEnclosed)
		}
	case Pruned:
		f.blank(n.Events)
	case Erased, Joined, Document: // a matter of record
	}
	return nil, false
}

// settle takes a person's word for what came of an effect, unless that is known already.
func (f *Fold) settle(e *Entry, ev *Event, n *Settle) {
	if f.settled(n.Decision) && f.findOpen(n.Decision) < 0 {
		return
	}
	f.close(e, &Outcome{Decision: n.Decision, Signal: n.Signal, Result: n.Result, Note: n.Note, Set: ev.Set,
		Reconciled: true}, true)
}

// deliver puts an event into the inbox. Of too many the oldest leave it; the newest stays. See drop.
func (f *Fold) deliver(e *Entry, ev *Event, data Data) {
	if f.Sleep != nil && f.Sleep.Refused {
		s := *f.Sleep
		s.Refused = false
		f.Sleep = &s
	}
	w := f.weigh()
	w.inbox += len(data)
	for len(f.Inbox) > 0 && (len(f.Inbox) >= maxInbox || w.inbox > maxInboxBytes) {
		w.inbox -= f.Inbox[0].weight()
		f.drop()
	}
	m := Message{Event: e.Name, Name: ev.Name, By: ev.By, Data: data, Time: e.Time}
	f.Inbox = extended(f, f.Inbox, m, maxInbox, &f.rooms.inbox)
}

// blank takes what events said out of the inbox. That they came stays: a sleep may wait for them.
func (f *Fold) blank(events []Hash) {
	if len(events) == 0 || !f.unheard() {
		return
	}
	is := oneOf(events)
	f.refall(func(m *Message) bool {
		if is(m.Event) {
			m.Data = nil
		}
		return true
	})
	if len(f.Inbox) == 0 {
		return
	}
	w := f.weigh()
	f.ownInbox()
	f.work += int64(len(f.Inbox))
	for i := range f.Inbox {
		if m := &f.Inbox[i]; is(m.Event) {
			w.inbox -= len(m.Data)
			m.Data = nil
		}
	}
}

// pause remembers that the agent is to stay still. A pause too many is joined with the last one: only a resume that
// names what the two hash to, so one whose author has seen both, ends them.
func (f *Fold) pause(e *Entry) {
	f.Paused = mine(f, f.Paused, &f.own.paused)
	if len(f.Paused) < maxPaused {
		f.Paused = append(f.Paused, e.Name)
		return
	}
	last := &f.Paused[maxPaused-1]
	*last = HashOf(append(last[:len(last):len(last)], e.Name[:]...))
	f.conflict(e, "more pauses than are named one by one: it is joined with the last")
}

// repeatable reports whether a second event with the same id is to change nothing. That does not hold for notices that
// bound the agent: an id that somebody used before must not keep a revocation, a pause or a refusal from counting.
// Those do the same however often they come.
func (ev *Event) repeatable() bool {
	switch ev.Notice.(type) {
	case nil, ChildEnded, Grant, Document:
		return true
	case Approval, KeyChange, Pause, Resume, Settle, Cancel, Doubt, Edit, Pruned, Erased, Escalated, Enclosed, Admitted,
		Joined, SeatTaken, SeatGiven, Doubled, Lacks:
	}
	return false
}

// news reports whether an event counts although its id was used before: who sent it is only its author's word, and that
// word must not keep a parent from hearing of a child's end. A child ends once.
func (f *Fold) news(ev *Event) bool {
	n, ok := ev.Notice.(ChildEnded)
	return ok && slices.ContainsFunc(f.Children, func(c ChildInfo) bool { return c.Agent == n.Child && !c.Ended })
}

// vote counts a person's answer to an ask. A refusal stands, whatever else is said; an approval of another digest is
// not one of this.
func (f *Fold) vote(e *Entry, a *Approval) {
	i := f.findAsk(a.Decision)
	switch {
	case i < 0:
		f.conflict(e, "answer to a question that is not open")
		return
	case f.Asks[i].Digest != a.Digest:
		f.conflict(e, "approval of something else than was asked: it does not count")
		return
	case f.Asks[i].lapsed(e.Time):
		f.conflict(e, "answer after the question lapsed: it does not count")
		return
	case !f.hears(&f.Asks[i], e.Origin):
		f.conflict(e, "approval by somebody the charter does not name: it does not count")
		return
	}
	votes := slices.Clone(f.Asks[i].Votes)
	// a repetition does not replace what was said first: a decision on another branch may have used that
	if len(votes) >= maxVotes {
		votes = slices.DeleteFunc(votes, func(v Vote) bool { return v.Origin == e.Origin && v.Approve == a.Approve })
	}
	f.work += int64(len(votes))
	if len(votes) >= maxVotes {
		if a.Approve || slices.ContainsFunc(votes, func(v Vote) bool { return !v.Approve }) {
			f.conflict(e, "more answers than a question takes: it does not count")
			return
		}
		votes = votes[:maxVotes-1] // a refusal counts, whatever else was said
	}
	f.Asks = mine(f, f.Asks, &f.own.asks)
	f.Asks[i].Votes = append(votes, Vote{Event: e.Name, Origin: e.Origin, Approve: a.Approve, Expires: a.Expires})
}

// hears reports whether a key's answer to a question is taken: where the charter names approvers, and nobody else is
// asked, only theirs are.
func (f *Fold) hears(q *Asking, k Key) bool {
	return !q.byCharter() || len(f.Charter.Approvers) == 0 || slices.Contains(f.Charter.Approvers, k)
}

// byCharter reports whether a question goes to nobody but those the charter names: whoever else is asked by a name,
// only a node can tell who that is.
func (q *Asking) byCharter() bool {
	return !slices.ContainsFunc(q.Asked(), func(who string) bool { return who != askedOwner })
}

// escalate moves a question on to more people. A stage that came already changes nothing.
func (f *Fold) escalate(n *Escalated) {
	i := f.findAsk(n.Decision)
	if i < 0 || f.Asks[i].Stage >= n.Stage || n.Stage > int64(len(f.Asks[i].Verdict.Escalate)) {
		return
	}
	f.Asks = mine(f, f.Asks, &f.own.asks)
	f.Asks[i].Stage = n.Stage
}

// changeKey changes whose entries count. That the owner hands the agent on twice, neither time having seen the other,
// is a sign of a stolen key: nobody can tell which is right, so the agent stays still for good. A revocation absorbs:
// it counts even then.
func (f *Fold) changeKey(e *Entry, k *KeyChange) {
	if !f.byOwner(e) {
		return
	}
	h := f.head(e.Name) // of e, made by this step
	if !k.Revoke.IsZero() {
		if !f.revoke(k.Revoke) {
			f.Contested = true
			f.conflict(e, "more keys revoked than can be followed: the agent stays still until a person decides")
		} else {
			h.Knows = withKey(h.Knows, k.Revoke)
		}
	}
	if k.Owner.IsZero() || k.Owner == e.Origin {
		return
	}
	if slices.Contains(h.Owners, k.Owner) || slices.Contains(h.Handed, k.Owner) {
		f.conflict(e, "handed on to somebody who owned the agent before: that takes a new key")
		return
	}
	if len(f.Former) >= maxKeys || max(len(h.Owners), len(h.Handed)) >= maxKeys {
		f.Contested = true
		f.conflict(e, "handed on more often than can be followed: the agent stays still until a person decides")
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

// revoke adds a key to those revoked, and reports whether there was room.
func (f *Fold) revoke(k Key) bool {
	if slices.Contains(f.Revoked, k) {
		return true
	}
	if len(f.Revoked) >= maxKeys {
		return false
	}
	f.Revoked = pushed(f.Revoked, k, maxKeys)
	return true
}

// byOwner reports whether e is by the owner as its author knew it, and records that somebody else tried. What is not in
// the past of e has no say in it: whoever folds a part of this memory only must come to the same.
func (f *Fold) byOwner(e *Entry) bool {
	h := f.head(e.Name)
	if (e.Origin == f.firstOwner() || slices.Contains(h.Owners, e.Origin)) && !slices.Contains(h.Handed, e.Origin) {
		return true
	}
	f.conflict(e, "only the owner may do this: it does not count")
	return false
}

// firstOwner is the owner the genesis names.
func (f *Fold) firstOwner() Key {
	if len(f.Former) > 0 {
		return f.Former[0]
	}
	return f.Charter.Owner
}

// childEnded settles a child's budget.
func (f *Fold) childEnded(e *Entry, n *ChildEnded) {
	i := find(f, f.Children, func(c *ChildInfo) bool { return c.Agent == n.Child })
	if n.Spend != nil && (i < 0 || !f.Children[i].Ended) {
		f.Spent = f.Spent.plus(*n.Spend) // also of a child of another branch that this fold has not taken on
	}
	if i < 0 || f.Children[i].Ended {
		f.conflict(e, "end of a child that is not there or has ended")
		return
	}
	c := f.Children[i]
	c.Signal, c.Head, c.Result = n.Signal, n.Head, n.Result
	f.endChild(i, c)
}
