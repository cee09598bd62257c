package perdure

import (
	"slices"
	"time"
)

// State is where an agent stands in its life. It is derived from memory; each change is witnessed by an entry.
type State uint8

// Wire numbers are frozen. Do NOT reorder.
const (
	_            State = iota
	Instantiated       // has only begun
	Evaluation         // proposals to decide, or advice to ask for
	Execution          // a tool is at work
	Mutation           // its intent has just changed
	Delegation         // a child has just been created
	Dormant            // asleep, paused, or waiting for a person
	Reentry            // has just woken
	Terminated         // has ended
)

// CanonNames are the names of the wire numbers.
func (State) CanonNames() []string {
	return []string{"", "instantiated", "evaluation", "execution", "mutation", "delegation", "dormant", "reentry", "terminated"}
}

func (s State) String() string { return name(s, s.CanonNames()) }

// MarshalText writes the name of the state.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the name of a state.
func (s *State) UnmarshalText(b []byte) error {
	v, err := ParseState(string(b))
	*s = v
	return err
}

// State says where the agent stands in its life.
func (f *Fold) State() State {
	switch {
	case f.Ended != nil:
		return Terminated
	case len(f.Open) > 0 && f.Sleep == nil:
		return f.Did
	case f.Sleep != nil || len(f.Paused) > 0 || f.Contested || len(f.Asks) > 0:
		return Dormant
	case f.Did == 0:
		return Instantiated
	case f.Did == Execution: // the tool is done: what follows is a matter of advice
		return Evaluation
	}
	return f.Did
}

// Standing is the state in the words people use: ready, running, dormant, waiting (dormant for a person) or terminated.
func (f *Fold) Standing() string {
	switch s := f.State(); {
	case s == Terminated:
		return "terminated"
	case len(f.Paused) > 0 || f.Contested:
		return "waiting"
	case len(f.Asks) > 0 && len(f.Open) == 0:
		return "waiting"
	case s == Dormant:
		return "dormant"
	case len(f.Open) > 0:
		return "running"
	}
	return "ready"
}

// Waiting reports whether nothing goes on until a person does something: answers, approves, settles, resumes or grants.
func (f *Fold) Waiting(now time.Time) bool {
	t := TimeOf(now)
	if len(f.Doubles()) > 0 || f.Disputed() && f.Ended == nil {
		return true
	}
	if slices.ContainsFunc(f.Open, func(o Open) bool { return !o.Effect.Repeatable() && (o.Doubt || t >= o.Deadline || ahead(o.Since, t)) }) {
		return true // unless its tool can be asked, somewhere
	}
	idle, ok := f.plan(&Capabilities{All: true, quiet: true}, now).(Idle)
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

// ParseState reads the name of a state.
func ParseState(s string) (State, error) {
	for i, n := range State(0).CanonNames() {
		if n != "" && n == s {
			return State(i), nil
		}
	}
	return 0, unknownName("state", s, State(0).CanonNames())
}

// Listing is the agent as one line.
func (a *Agent) Listing(now time.Time) Listing {
	f := a.fold
	return Listing{
		Agent: f.Agent, Name: f.Intent.Name, Kind: f.Intent.Kind, Scope: f.Charter.Scope, State: f.State(), Labels: f.Intent.Labels,
		Created: f.Created, Updated: f.Updated, Due: f.Due(now), Entries: f.Count, Waiting: f.Waiting(now),
	}
}

// Newborn is the agent as one line when no more than its genesis entry has been looked at. It is what a store lists until it is told more.
func Newborn(first *Entry) Listing {
	l := Listing{Agent: first.ID(), State: Instantiated, Created: first.Time, Updated: first.Time, Due: first.Due, Entries: 1}
	switch b := first.content.(type) {
	case Genesis:
		l.Name, l.Kind, l.Scope, l.Labels = b.Intent.Name, b.Intent.Kind, b.Charter.Scope, b.Intent.Labels
	case Snapshot: // of an agent whose past is not there
		l = (&Agent{fold: &b.Fold}).Listing(first.Time.Go())
		l.Agent, l.Entries = first.ID(), b.Fold.Count+1
	case Advice, Decision, Outcome, Event, nil:
	}
	return l
}
