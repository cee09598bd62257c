package perdure

import "slices"

// Two copies of an agent may be told the same thing, under one id. Merged, the first in fold order is the event, and
// the other repeats it and changes nothing. But an advice of the other copy has seen that one, and names it, so the
// first stays in the inbox, though the advisor has seen what it says. Such a message is an echo. It is remembered with
// the fold in memory, is not shown, wakes nobody, and the next advice names it as seen: then it leaves every inbox. No
// snapshot is written before (see hides).

// twin is an event that repeats another.
type twin struct{ first, second Hash }

// pair remembers that an event repeats the one that came first under its id, if that is at hand.
func (f *Fold) pair(e *Entry, id string) {
	f.work += int64(len(f.Dedupe))
	i := slices.Index(f.Dedupe, id)
	if i -= len(f.Dedupe) - len(f.tellers); i >= 0 && f.tellers[i] != e.Name {
		f.twins = extended(f, f.twins, twin{f.tellers[i], e.Name}, maxTwins, &f.rooms.twins)
	}
}

// echo finds messages that repeat, in another copy, what an advice has seen there.
func (f *Fold) echo(seen func(Hash) bool) {
	if len(f.twins) == 0 {
		return
	}
	f.work += int64(len(f.twins))
	for _, t := range f.twins {
		if !seen(t.second) || seen(t.first) || slices.Contains(f.echoes, t.first) {
			continue
		}
		is := func(m *Message) bool { return m.Event == t.first }
		f.refall(func(m *Message) bool { return !is(m) })
		if find(f, f.Inbox, is) >= 0 {
			f.echoes = pushed(f.echoes, t.first, maxInbox)
		}
	}
}

// forget forgets echoes that have left the inbox.
func (f *Fold) forget(left func(Hash) bool) {
	if len(f.echoes) > 0 {
		f.echoes = slices.DeleteFunc(slices.Clone(f.echoes), left)
	}
}

// echoed reports whether the advisor has seen what a message says.
func (f *Fold) echoed(m *Message) bool {
	return len(f.echoes) > 0 && slices.Contains(f.echoes, m.Event)
}

// withEchoes is what an advice is to name as seen: what its advisor was shown, and what that repeats.
func (f *Fold) withEchoes(seen []Hash) []Hash {
	if len(f.echoes) == 0 {
		return seen
	}
	return slices.Concat(seen, f.echoes[:min(len(f.echoes), maxSeen-len(seen))])
}
