package perdure

import "slices"

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
		w.inbox -= m.weight()
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

// weight is what a message counts against maxInboxBytes.
func (m *Message) weight() int { return len(m.Data) + int(m.Gone) }

// leftOut are the events of messages whose data a snapshot has left out.
func leftOut(inbox []Message) (events []Hash) {
	for i := range inbox {
		if inbox[i].Gone > 0 {
			events = append(events, inbox[i].Event)
		}
	}
	return events
}

// unsay takes what events said out of the inbox, as a snapshot does that leaves it out: how much it was stays.
func (f *Fold) unsay(events []Hash) {
	if len(events) == 0 {
		return
	}
	is := oneOf(events)
	said := func(m *Message) bool { return len(m.Data) > 0 && is(m.Event) }
	f.refall(func(m *Message) bool {
		if said(m) {
			m.Data, m.Gone = nil, int64(len(m.Data))
		}
		return true
	})
	if find(f, f.Inbox, said) < 0 {
		return
	}
	f.ownInbox()
	f.work += int64(len(f.Inbox))
	for i := range f.Inbox {
		if m := &f.Inbox[i]; said(m) {
			m.Data, m.Gone = nil, int64(len(m.Data))
		}
	}
}

// unsaid is the fold with what events said left out.
func (f *Fold) unsaid(events []Hash) *Fold {
	if len(events) > 0 {
		f = f.clone()
		f.unsay(events)
	}
	return f
}
