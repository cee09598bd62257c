package perdure

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
	return []string{"", "instantiated", "evaluation", "execution", "mutation", "delegation", "dormant", "reentry",
		"terminated"}
}

func (s State) String() string { return name(s) }

// MarshalText writes the name.
func (s State) MarshalText() ([]byte, error) { return marshalName(s, "state") }

// UnmarshalText reads a name.
func (s *State) UnmarshalText(b []byte) error { return unmarshalName(s, "state", b) }

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
