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
