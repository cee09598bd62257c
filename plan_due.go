package perdure

import (
	"time"
)

// Due says when some node should next look at the agent; zero: only when an entry arrives.
func (f *Fold) Due(now time.Time) Time {
	due, _ := f.due(now)
	return due
}

// due is when a node should next look, and the step that some node could take then. Whatever says when to look at an
// agent, the header of an entry, a listing or the release of a claim, has it from here. It is never later than when one
// has something to do: of which store that is, and whom it trusts, is not known here. One that looks too early rests.
func (f *Fold) due(now time.Time) (Time, Step) {
	return f.dueFor(&Capabilities{All: true, quiet: true, some: true}, now)
}

// dueIn is due where nobody but the nodes of one store looks, which is all of them that see the release of a claim. A
// store that has handed the seat over leaves the agent alone.
func (f *Fold) dueIn(p *Place, now time.Time) (Time, Step) {
	if p == nil || !f.HandedOver(*p) {
		return f.due(now)
	}
	return f.dueFor(&Capabilities{All: true, quiet: true, Seat: *p}, now)
}

func (f *Fold) dueFor(c *Capabilities, now time.Time) (Time, Step) {
	step := f.plan(c, now)
	if idle, ok := step.(Idle); ok {
		return idle.Until, step
	}
	return TimeOf(now), step
}
