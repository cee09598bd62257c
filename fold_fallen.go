package perdure

import "slices"

// An event leaves the inbox when an advice names it as seen, and when there is no room. A sender is refused before
// that (see roomFor), but copies that were told apart may come to more together than an inbox holds, and no one of them
// could have refused. What leaves it then has still not been seen: it is remembered with the fold in memory, put before
// the advisor ahead of the rest, and may wake the agent. The advice that names it as seen settles it on every node. No
// snapshot is written before (see hides): whoever resumed from it would not know.

// Unseen are the events that the advisor has not seen, the oldest first: the inbox, and before it those for which it
// had no room, as far as they are among the entries at hand. A message that repeats what it has seen is none of them.
func (f *Fold) Unseen() []Message {
	if len(f.fallen)+len(f.echoes)+len(f.marks) == 0 {
		return f.Inbox
	}
	all := slices.Concat(f.fallen, f.Inbox)
	if len(f.marks) > 0 {
		woke := f.woken()
		for i := len(f.fallen); i < len(all); i++ {
			all[i].Spent = woke(&all[i])
		}
	}
	if len(f.echoes) > 0 {
		heard := oneOf(f.echoes)
		all = slices.DeleteFunc(all, func(m Message) bool { return heard(m.Event) })
	}
	return all
}

// unheard reports whether there is anything that the advisor has not seen.
func (f *Fold) unheard() bool { return len(f.Inbox)+len(f.fallen) > len(f.echoes) }

// drop takes the oldest message out of the inbox, for which there is no room.
func (f *Fold) drop() {
	m := f.Inbox[0]
	f.Inbox = f.Inbox[1:]
	if f.echoed(&m) {
		f.forget(func(h Hash) bool { return h == m.Event })
		return
	}
	if i := find(f, f.marks, func(w *wakeMark) bool { return w.event == m.Event }); i >= 0 {
		m.Spent = f.marks[i].spent
	}
	f.unmark(func(h Hash) bool { return h == m.Event })
	f.fall(m)
}

// fall remembers a message that has left the inbox unseen.
func (f *Fold) fall(m Message) {
	for f.fallenBytes += len(m.Data); len(f.fallen) > 0 && f.fallenBytes > maxFallenBytes; f.fallen = f.fallen[1:] {
		f.fallenBytes -= len(f.fallen[0].Data)
	}
	if len(f.fallen) == maxFallen {
		f.fallenBytes -= len(f.fallen[0].Data)
	}
	f.fallen = extended(f, f.fallen, m, maxFallen, &f.rooms.fallen)
}

// refall changes the messages for which the inbox had no room; those that change refuses are no longer there.
func (f *Fold) refall(change func(*Message) bool) {
	if len(f.fallen) == 0 {
		return
	}
	f.work += int64(len(f.fallen))
	var kept []Message // of those that are changed, once there is one
	size, same := 0, true
	for i, m := range f.fallen {
		spent, said := m.Spent, len(m.Data)
		ok := change(&m)
		if same && (!ok || m.Spent != spent || len(m.Data) != said) {
			same, kept = false, append(make([]Message, 0, len(f.fallen)), f.fallen[:i]...)
		}
		if ok {
			size += len(m.Data)
			if !same {
				kept = append(kept, m)
			}
		}
	}
	if same {
		return
	}
	f.fallenBytes = size
	f.fallen, f.rooms.fallen = kept, roomBehind(kept)
	if len(f.drifted) > 0 {
		is := oneOf(eventsOf(kept))
		f.drifted = slices.DeleteFunc(slices.Clone(f.drifted), func(h Hash) bool { return !is(h) })
	}
}

// hides reports whether a snapshot would keep events from the advisor that it has not seen, or show it again what it
// has: a fold that is read from its bytes does not know. After so many entries it is written all the same, since
// reading all of them each time costs too much.
func (f *Fold) hides() bool {
	hold := int64(fallenHold)
	if len(f.fallen)+len(f.echoes) == len(f.drifted) { // there was room for all of them
		hold = driftHold
	}
	return len(f.fallen)+len(f.echoes)+len(f.marks) > 0 && f.Ended == nil && f.Count-f.Snapshot < hold
}

// shown is the agent as an advisor is to see it: with what it has not seen in the inbox. One that takes events one by
// one gets them all, another as many as an advice can name.
func (a Agent) shown(all bool) *Agent {
	if len(a.fold.fallen)+len(a.fold.echoes)+len(a.fold.marks) == 0 {
		return &a
	}
	f := a.fold.clone()
	f.Inbox, f.fallen, f.echoes, f.fallenBytes, f.weights = f.Unseen(), nil, nil, 0, weights{}
	f.sights, f.drifted, f.marks = nil, nil, nil
	for size, i := 0, 0; i < len(f.Inbox) && !all; i++ {
		if size += len(f.Inbox[i].Data); i > 0 && (i == maxSeen || size > maxInboxBytes) {
			f.Inbox = f.Inbox[:i:i]
		}
	}
	f.rooms.inbox = nil
	a.fold = f
	return &a
}
