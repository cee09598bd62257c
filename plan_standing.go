package perdure

import (
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/phase"
)

// Standing is where an agent stands, in the words people use: ready, running, dormant, waiting (for a person) or
// terminated. There is no other rule than this: a line of a store, a screen and a program say the same of an agent.
// What a line says was so when it was written; what time alone changes is changed.
func (l *Listing) Standing(now time.Time) phase.Standing {
	switch {
	case l.State == phase.Terminated:
		return phase.StandingTerminated
	case l.Waiting:
		return phase.StandingWaiting
	case l.State == phase.Execution:
		return phase.StandingRunning
	case l.Due != 0 && l.Due <= TimeOf(now):
		return phase.StandingReady
	case l.Due == 0 && l.State == phase.Instantiated: // of a newborn nobody has said more
		return phase.StandingReady
	}
	return phase.StandingDormant
}

// Standing is where an agent stands as a node sees it that can do everything, trusts t (nil: everybody) and works in
// the store at (zero: wherever its seat is). One that this store has handed over, and that goes on
// elsewhere, is "handed over".
func (a *Agent) Standing(t *Trust, at Place, now time.Time) phase.Standing {
	if a.GoneOn(at) && t.Counts(a) == nil {
		return phase.StandingHandedOver
	}
	l := a.Listing(now)
	l.Waiting = a.waiting(t, at, now)
	return l.believed(t, a).Standing(now)
}

// GoneOn reports whether a store has handed the agent over, so that it goes on elsewhere: nothing is done for it here,
// and nobody here is asked anything.
func (a *Agent) GoneOn(at Place) bool {
	return !at.IsZero() && a.fold.Ended == nil && a.fold.HandedOver(at)
}

// believed is a line about an agent that says it has ended only where that counts.
func (l *Listing) believed(t *Trust, a *Agent) *Listing {
	if l.State == phase.Terminated && t.Ended(a) == nil {
		l.State, l.Waiting = phase.Dormant, true
	}
	return l
}

// Believed is the agent as one line that says it has ended only where that counts for t.
func (a *Agent) Believed(t *Trust, now time.Time) Listing {
	l := a.Listing(now)
	return *l.believed(t, a)
}

// waiting reports whether something must be done by a person: to admit it, answer, approve, settle, resume, grant, or
// take its seat.
func (a *Agent) waiting(t *Trust, at Place, now time.Time) bool {
	f, by := a.fold, TimeOf(now)
	if len(f.Doubles()) > 0 || f.Disputed() && f.Ended == nil {
		return true
	}
	if slices.ContainsFunc(f.Open, func(o Open) bool {
		return !o.Effect.Repeatable() && (o.Doubt || by >= o.Deadline || ahead(o.Since, by))
	}) {
		return true // unless its tool can be asked, somewhere
	}
	if t != nil && t.Ended(a) != nil && t.Counts(a) != nil {
		return false // a stranger's agent that has ended is held for nobody
	}
	idle, ok := Plan(a, Capabilities{All: true, Trust: t, Seat: at, quiet: true}, now).(Idle)
	return ok && (idle.Person || f.asks())
}

// asks reports whether the agent sleeps until a person answers.
func (f *Fold) asks() bool {
	return f.Sleep != nil && f.Sleep.Sleep.Asks()
}

// Asks reports whether a person's answer ends the sleep.
func (s *Sleep) Asks() bool {
	of := []Trigger{s.Trigger}
	if list, ok := s.Trigger.(Any); ok {
		of = list.Of
	}
	return slices.ContainsFunc(of, func(t Trigger) bool {
		on, ok := t.(On)
		return ok && on.Event == AnswerEvent
	})
}

// Listing is the agent as one line.
func (a *Agent) Listing(now time.Time) Listing { return a.listing(nil, now) }

// listing is Listing for somebody who trusts.
func (a *Agent) listing(t *Trust, now time.Time) Listing {
	f := a.fold
	l := Listing{
		Agent: f.Agent, Name: f.Intent.Name, Kind: f.Intent.Kind, Scope: f.Charter.Scope, State: f.listed(),
		Labels:  f.Intent.Labels,
		Created: f.Created, Updated: f.Updated, Due: f.Due(now), Entries: f.Count, Waiting: a.waiting(t, Place{}, now),
	}
	return l.short()
}

// short is a listing that any index has room for, and any page of a list: of the texts of an agent, which are as long
// as their maker likes, it has the beginning, and of the labels those that are short.
func (l Listing) short() Listing {
	for _, text := range []*string{&l.Name, &l.Kind, &l.Scope} {
		*text = clipped(*text, maxListed)
	}
	long := func(k, v string) bool { return len(k) > maxListed || len(v) > maxListed }
	for k, v := range l.Labels {
		if long(k, v) {
			l.Labels = maps.Clone(l.Labels)
			maps.DeleteFunc(l.Labels, long)
			break
		}
	}
	return l
}

// listed is the state of the agent in a list. One with an effect that may still be under way is at work, although it
// sleeps in a branch of its memory that knows nothing of the effect: whoever looks for effects nobody is at work on
// finds it there.
func (f *Fold) listed() phase.State {
	if f.Ended == nil && slices.ContainsFunc(f.Open, func(o Open) bool { return !o.Effect.Repeatable() && !o.Doubt }) {
		return phase.Execution
	}
	return f.State()
}

// Newborn is an agent as one line when no more than this, its first entry, has been looked at. It is what a store lists
// until it is told more.
func (first *Entry) Newborn() Listing {
	l := Listing{Agent: first.ID(), State: phase.Instantiated, Created: first.Time, Updated: first.Time, Due: first.Due,
		Entries: 1}
	switch b := first.content.(type) {
	case Genesis:
		l.Name, l.Kind, l.Scope, l.Labels = b.Intent.Name, b.Intent.Kind, b.Charter.Scope, b.Intent.Labels
	case Snapshot: // of an agent whose past is not there
		l = (&Agent{fold: &b.Fold}).Listing(first.Time.Go())
		l.Agent, l.Entries = first.ID(), b.Fold.Count+1
	case Advice, Decision, Outcome, Event, nil:
	}
	return l.short()
}
