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

// ParseState reads the name of a state.
func ParseState(s string) (State, error) {
	for i, n := range State(0).CanonNames() {
		if n != "" && n == s {
			return State(i), nil
		}
	}
	return 0, unknownName("state", s, State(0).CanonNames())
}
