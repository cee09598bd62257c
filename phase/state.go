package phase

import "github.com/perdure/perdure/internal/canon"

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

func (s State) String() string { return canon.NameOf(s) }

// MarshalText writes the name.
func (s State) MarshalText() ([]byte, error) { return canon.MarshalName(s, "state") }

// UnmarshalText reads a name.
func (s *State) UnmarshalText(b []byte) error { return canon.UnmarshalName(s, "state", b) }
