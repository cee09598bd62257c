package perdure

import (
	"slices"

	"github.com/perdure/perdure/internal/ruling"
)

// What a copy of an agent proposed is not done where the seat is (see fromCopyOf), so what the copy was told has not
// been acted on, though its advice names it as seen. It counts as unseen until an advice that counts names it. It has
// left the inbox, as everybody folds it, and is remembered with the fold in memory, as if there had been no room for it
// (see fallen). Advice of a copy counts once all it proposed was decided in the copy; advice of a place that lost the
// seat, if something of it was decided there that must happen once.
//
// An event wakes an agent once. Of wakes on two branches the first in fold order counts, and the advisor may have been
// asked after the other. So an advice that counts takes back the wakes that it did not know of: their events may wake
// the agent again. No snapshot is written meanwhile (see hides).

// sight is what an advice that may not count has seen.
type sight struct {
	advice Hash
	apart  bool
	epoch  int64 // of the seat where it was asked for
	seen   []Hash
	left   []Hash    // spent by wakes that it did not know of
	took   []Message // what it took out of the inbox where the seat was: the seat may move before anything is done
	done   []bool    // what was decided of it
	cut    bool      // some of it was not done because it is outdated
	rests  bool      // it has a basis, which the fold holds of the last advice only
}

// wakeMark says of a message in the inbox whether it has woken the agent, where that is not what the fold says.
type wakeMark struct {
	event Hash
	spent bool
}

// see takes what an advice has seen out of the inbox.
func (f *Fold) see(e *Entry, a *Advice) {
	beside := len(f.Heads) > 1 // what is not in its past
	s := sight{advice: e.Name, apart: a.Apart, epoch: a.Epoch, seen: a.Seen, done: make([]bool, len(a.Actions)),
		rests: a.Basis != nil}
	if len(a.Actions) == 0 || !f.fromCopyOf(&proposals{Epoch: a.Epoch, Apart: a.Apart}) {
		if len(a.Actions) > 0 && a.Epoch != 0 && len(a.Seen) > 0 {
			s.took = f.among(oneOf(a.Seen))
		}
		f.leaveInbox(a.Seen)
		if len(s.took) > 0 || s.rests && a.Epoch != 0 {
			f.sights = pushed(f.sights, s, maxSights)
		}
		if beside {
			f.unspend(f.spent(nil))
		} else if len(f.drifted) > 0 && len(a.Seen) < maxSeen { // before nodes knew of this, they named none of it
			is := oneOf(f.drifted)
			f.refall(func(m *Message) bool { return !m.Spent || !is(m.Event) })
		}
		return
	}
	if beside {
		s.left = f.spent(oneOf(a.Seen))
	}
	f.drift(oneOf(a.Seen))
	if len(s.seen)+len(s.left) > 0 {
		f.sights = pushed(f.sights, s, maxSights)
	}
}

// spent are the unseen events that have woken the agent, but for some.
func (f *Fold) spent(but func(Hash) bool) (events []Hash) {
	for _, m := range f.Unseen() {
		if m.Spent && (but == nil || !but(m.Event)) {
			events = append(events, m.Event)
		}
	}
	return events
}

// among are the unseen events of these names.
func (f *Fold) among(is func(Hash) bool) (found []Message) {
	for _, m := range f.Unseen() {
		if is(m.Event) {
			found = append(found, m)
		}
	}
	return found
}

// drift takes messages out of the inbox that only an advice has seen which may not count.
func (f *Fold) drift(seen func(Hash) bool) {
	inbox := oneOf(eventsOf(f.Inbox))
	f.work += int64(len(f.Inbox))
	var left []Message
	var fell []Hash
	for _, m := range f.Unseen() {
		switch {
		case !seen(m.Event):
		case inbox(m.Event):
			left = append(left, m)
		default:
			fell = append(fell, m.Event)
		}
	}
	f.setAdrift(fell...)
	f.adrift(left)
	f.outOfInbox(seen)
}

// decides notes a decision about an advice that may not count, and finds out whether it does.
func (f *Fold) decides(d *Decision) {
	if len(f.sights) == 0 || d.Advice.IsZero() {
		return
	}
	i := find(f, f.sights, func(s *sight) bool { return s.advice == d.Advice })
	if i < 0 || d.Index < 0 || d.Index >= int64(len(f.sights[i].done)) {
		return
	}
	s := f.sights[i]
	s.done = slices.Clone(s.done)
	s.done[d.Index] = true
	if slices.Equal(d.Verdict.Rules, []string{ruling.Outdated}) {
		s.cut = true
	}
	once := d.Verdict.Answer != Deny && (len(d.Child) > 0 || d.Effect == Once)
	switch {
	case once || !s.cut && !slices.Contains(s.done, false): // it counts
		f.leaveInbox(s.seen)
		f.unspend(s.left)
	case s.cut && s.apart: // it never will
	default:
		if s.cut && !(f.straight() && f.seatIn(s.epoch)) { // else its advisor remembers it
			f.adrift(s.took)
			s.took = nil
		}
		f.sights = replaced(f.sights, i, s)
		return
	}
	f.sights = slices.Delete(slices.Clone(f.sights), i, i+1)
}

// unfounded reports whether advice rests on what cannot be looked at again, as other advice came after it.
func (f *Fold) unfounded(advice Hash) bool {
	if advice == f.Proposals[len(f.Proposals)-1].Advice {
		return false
	}
	return slices.ContainsFunc(f.sights, func(s sight) bool { return s.advice == advice && s.rests })
}

// heed forgets what advice of which nothing may be done has seen, once another advice that counts has.
func (f *Fold) heed(seen func(Hash) bool) {
	if len(f.sights) == 0 {
		return
	}
	repeated := oneOf(f.firsts(seen))
	twice := func(m Message) bool { return seen(m.Event) || repeated(m.Event) }
	for i := range f.sights {
		f.work += int64(len(f.sights[i].took))
		if s := f.sights[i]; slices.ContainsFunc(s.took, twice) {
			s.took = slices.DeleteFunc(slices.Clone(s.took), twice)
			f.sights = replaced(f.sights, i, s)
		}
	}
}

// unseated remembers what advice has seen that was asked for where the seat was before.
func (f *Fold) unseated() { f.release(func(s *sight) bool { return !f.seatIn(s.epoch) }) }

// unkept remembers what advice has seen that too much other advice came after: nobody decides about it any more.
func (f *Fold) unkept() { f.release(func(s *sight) bool { return !f.offers(s.advice, 0) }) }

// release remembers again what some advice has seen.
func (f *Fold) release(which func(*sight) bool) {
	for i := range f.sights {
		if s := f.sights[i]; len(s.took) > 0 && which(&s) {
			f.adrift(s.took)
			s.took = nil
			f.sights = replaced(f.sights, i, s)
		}
	}
}

// adrift remembers messages again that an advice had seen of which nothing may be done: the seat has moved, or is
// elsewhere.
func (f *Fold) adrift(took []Message) {
	known := oneOf(f.drifted)
	took = slices.DeleteFunc(slices.Clone(took), func(m Message) bool { return known(m.Event) })
	f.setAdrift(eventsOf(took)...)
	for _, m := range took {
		f.fall(m)
	}
	f.judged = new(judged)
}

// setAdrift notes of events that only advice which may not count has seen them.
func (f *Fold) setAdrift(events ...Hash) {
	known := oneOf(f.drifted)
	f.work += int64(len(f.drifted) + len(events))
	events = slices.DeleteFunc(events, known)
	if len(events) == 0 {
		return
	}
	f.drifted = slices.Concat(f.drifted, events)
	f.drifted = f.drifted[max(0, len(f.drifted)-maxFallen):]
}

// eventsOf are the names of messages.
func eventsOf(messages []Message) []Hash {
	names := make([]Hash, len(messages))
	for i := range messages {
		names[i] = messages[i].Event
	}
	return names
}

// unspend lets events wake the agent again.
func (f *Fold) unspend(events []Hash) {
	if len(events) == 0 {
		return
	}
	f.respend(oneOf(events), false)
	f.judged = new(judged)
}

// resleep lets what has woken the agent, and no advice has seen, wake it again: where copies have met, they woke it
// without the knowledge of the advice that puts it to sleep now. Of two sleeps of one advice, the second waits for
// something else than the first.
func (f *Fold) resleep(d *Decision) {
	if f.straight() {
		return
	}
	f.work += int64(len(f.Inbox) + len(f.Proposals))
	i := slices.IndexFunc(f.Proposals, func(p proposals) bool { return p.Advice == d.Advice })
	if i >= 0 && !f.Proposals[i].slept(d.Index) {
		f.unspend(f.spent(nil))
	}
}

// respend says whether messages have woken the agent, whatever the fold says.
func (f *Fold) respend(is func(Hash) bool, spent bool) {
	f.refall(func(m *Message) bool {
		if is(m.Event) {
			m.Spent = spent
		}
		return true
	})
	f.work += int64(len(f.Inbox) + len(f.marks))
	woke := f.woken()
	var other []wakeMark
	changed := map[Hash]bool{}
	for i := range f.Inbox {
		if m := &f.Inbox[i]; is(m.Event) && woke(m) != spent {
			if changed[m.Event] = true; m.Spent != spent {
				other = append(other, wakeMark{m.Event, spent})
			}
		}
	}
	if len(changed) > 0 {
		f.unmark(func(h Hash) bool { return changed[h] })
		f.marks = slices.Concat(f.marks, other)
		f.marks = f.marks[max(0, len(f.marks)-maxInbox):]
	}
}

// woken tells whether messages of the inbox have woken the agent.
func (f *Fold) woken() func(m *Message) bool {
	if len(f.marks) == 0 {
		return func(m *Message) bool { return m.Spent }
	}
	marks := make(map[Hash]bool, len(f.marks))
	for i := range f.marks {
		marks[f.marks[i].event] = f.marks[i].spent
	}
	return func(m *Message) bool {
		if spent, marked := marks[m.Event]; marked {
			return spent
		}
		return m.Spent
	}
}

// wakes notes that events have woken the agent, of which the inbox may hold those that they repeat.
func (f *Fold) wakes(is func(Hash) bool) {
	f.unmark(is) // the fold says so, too
	if first := f.firsts(is); len(first) > 0 {
		f.respend(oneOf(first), true)
	}
}

// unmark forgets marks of messages.
func (f *Fold) unmark(is func(Hash) bool) {
	if len(f.marks) > 0 {
		f.marks = slices.DeleteFunc(slices.Clone(f.marks), func(m wakeMark) bool { return is(m.event) })
	}
}

// sighted puts the name of the last advice where what it has seen is remembered.
func (f *Fold) sighted(name Hash) {
	if n := len(f.sights); n > 0 && f.sights[n-1].advice.IsZero() {
		f.sights[n-1].advice = name
	}
}
