package perdure

import (
	"slices"
	"strings"

	"github.com/perdure/perdure/internal/ruling"
)

// What a copy of an agent thought is not acted on where the seat is: it had not seen what was done there (see
// fromCopyOf). But its advice names events as seen, which leave the inbox of every copy, and nobody has acted on them. So
// whoever drops such advice tells the agent again what it had seen, in the same commit. Events that another advice has
// seen, too, one that counts, are not told again. Which those are is known from the entries at hand: no snapshot is
// written before (see hides).

// sight is what an advice has seen.
type sight struct {
	advice Hash
	seen   []Hash
}

// overlap is an event that two advices have seen, neither knowing of the other: that event, or one that repeats it.
type overlap struct {
	event         Hash // as the second names it
	first, second Hash // the advices
}

// see takes what an advice has seen out of the inbox, and remembers it.
func (f *Fold) see(e *Entry, seen []Hash) {
	if len(seen) == 0 {
		return
	}
	before := len(f.Inbox) + len(f.fallen)
	if f.leaveInbox(seen); before-len(f.Inbox)-len(f.fallen) < len(seen) {
		f.compare(e, seen)
	}
	f.sights = extended(f, f.sights, sight{e.Name, seen}, maxSights, &f.rooms.sights)
}

// compare finds what an advice has seen that another had.
func (f *Fold) compare(e *Entry, seen []Hash) {
	is := oneOf(seen)
	f.work += int64(len(f.twins))
	same := map[Hash]Hash{} // the other one of two events that say the same, to the one that was seen now
	for _, t := range f.twins {
		if is(t.second) {
			same[t.first] = t.second
		}
		if is(t.first) {
			same[t.second] = t.first
		}
	}
	for i := range f.sights {
		s := &f.sights[i]
		f.work += int64(len(s.seen))
		for _, h := range s.seen {
			if other, ok := same[h]; ok && !is(h) {
				h = other
			}
			if is(h) {
				f.overlaps = extended(f, f.overlaps, overlap{h, s.advice, e.Name}, maxOverlaps, &f.rooms.overlaps)
			}
		}
	}
}

// sighted puts the name of the last advice where what it has seen is remembered.
func (f *Fold) sighted(name Hash) {
	if n := len(f.sights); n > 0 && f.sights[n-1].advice.IsZero() {
		f.sights[n-1].advice = name
	}
	for i := len(f.overlaps) - 1; i >= 0 && f.overlaps[i].second.IsZero(); i-- {
		f.overlaps[i].second = name
	}
}

// adrift are those of the proposals that are not acted on, wherever the seat is, and on which nobody has decided: those
// of copies, and those that others of the same epoch stand in the place of.
func (f *Fold) adrift() (which []int) {
	if len(f.Seats) == 0 || f.rehearses() {
		return nil
	}
	current := f.lastHere()
	for i := range f.Proposals {
		p := &f.Proposals[i]
		if slices.Contains(p.Decided, false) && (f.fromCopyOf(p) || i < current && p.Epoch != 0) {
			which = append(which, i)
		}
	}
	return which
}

// lastHere is the last of the proposals that is none of a copy; -1: all are.
func (f *Fold) lastHere() int {
	for i := len(f.Proposals) - 1; i >= 0; i-- {
		if !f.fromCopyOf(&f.Proposals[i]) {
			return i
		}
	}
	return -1
}

// seenElsewhere answers whether an event was seen by an advice that counts, besides those that do not.
func (f *Fold) seenElsewhere(dropped []Hash) func(Hash) bool {
	gone := oneOf(slices.Concat(dropped, f.dropped))
	var counted []Hash
	for _, o := range f.overlaps {
		if !gone(o.first) || !gone(o.second) {
			counted = append(counted, o.event)
			for _, t := range f.twins {
				if t.first == o.event {
					counted = append(counted, t.second)
				} else if t.second == o.event {
					counted = append(counted, t.first)
				}
			}
		}
	}
	return oneOf(counted)
}

// torn reports whether advice is to be dropped some of whose events others have seen: whoever resumed from a snapshot
// would not know which.
func (f *Fold) torn() bool {
	if len(f.overlaps) == 0 {
		return false
	}
	for _, i := range f.adrift() {
		if advice := f.Proposals[i].Advice; slices.ContainsFunc(f.overlaps, func(o overlap) bool {
			return o.first == advice || o.second == advice
		}) {
			return true
		}
	}
	return false
}

// drops notes that a decision drops advice.
func (f *Fold) drops(d *Decision) {
	if len(f.overlaps) > 0 && slices.Equal(d.Verdict.Rules, []string{ruling.Outdated}) &&
		!slices.Contains(f.dropped, d.Advice) {
		f.dropped = pushed(f.dropped, d.Advice, maxSights)
	}
}

// dropStep says that advice is not acted on, and that what it had seen is to be told again.
type dropStep struct{ drops []dropped }

// dropped is advice that is not acted on.
type dropped struct {
	proposals
	why string
}

// planDrop drops advice of copies where the seat is. It waits for nothing: an agent that sleeps may wait for what the
// copy was told.
func (f *Fold) planDrop(c *Capabilities) Step {
	if len(f.Proposals) == 0 || !f.seats(c) {
		return nil
	}
	var s dropStep
	for _, i := range f.adrift() {
		d := dropped{f.Proposals[i], thoughtElsewhere}
		if !f.fromCopyOf(&d.proposals) {
			d.why = thoughtBeside
		}
		s.drops = append(s.drops, d)
	}
	if len(s.drops) == 0 {
		return nil
	}
	return s
}

// thoughtBeside is why advice is not acted on that another of the same epoch stands in the place of.
const thoughtBeside = "not done: it was proposed in a copy, and another advice has come in its place"

// againID is what the id of an event begins with that tells again what another did.
const againID = "again/"

// Again reports whether the event tells again what another did: what was proposed after that, in a copy, was not done.
func (ev *Event) Again() bool { return ev.Notice == nil && strings.HasPrefix(ev.ID, againID) }

// again is the id under which an event is told again: that of the event, or where it has one, of its id, so that what
// two copies were told under one id is told again once.
func (ev *Event) again(name Hash) string {
	if ev.ID != "" && ev.repeatable() {
		name = HashOf([]byte(ev.dedupeID()))
	}
	return againID + name.String()
}
