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

// firsts are the events that some others, of which they are not, repeat.
func (f *Fold) firsts(others func(Hash) bool) (first []Hash) {
	f.work += int64(len(f.twins))
	for _, t := range f.twins {
		if others(t.second) && !others(t.first) {
			first = append(first, t.first)
		}
	}
	return first
}

// echo finds messages that repeat, in another copy, what an advice has seen there.
func (f *Fold) echo(seen func(Hash) bool) {
	first := f.firsts(seen)
	if len(first) == 0 {
		return
	}
	is, known := oneOf(first), oneOf(f.echoes)
	f.refall(func(m *Message) bool { return !is(m.Event) || known(m.Event) })
	f.work += int64(len(f.Inbox) + len(f.echoes))
	echoes := f.echoes
	for i := range f.Inbox {
		if e := f.Inbox[i].Event; is(e) && !known(e) {
			echoes = append(echoes[:len(echoes):len(echoes)], e)
		}
	}
	f.echoes = echoes[max(0, len(echoes)-maxInbox):]
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
