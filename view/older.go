package view

import (
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// Older is a copy of an agent that lacks entries this home has seen of it.
type Older struct {
	Seen    perdure.Time `json:"seen,omitzero"`   // when
	Missing int64        `json:"missing"`         // how many entries, at least
	Gone    bool         `json:"gone,omitempty"`  // the agent is not there at all
	Given   bool         `json:"given,omitempty"` // the store has handed its seat over since

	Name string `json:"-"` // in a command
}

// Standing is how people see an agent that else stands as is; nil: so.
func (o *Older) Standing(is phase.Standing) phase.Standing {
	switch {
	case o == nil || is == phase.StandingTerminated:
		return is
	case o.Gone:
		return phase.StandingGone
	}
	return phase.StandingOlder
}

// What says what is missing.
func (o *Older) What() string {
	on := ""
	if o.Seen != 0 {
		on = " on " + o.Seen.Go().Local().Format("2006-01-02 15:04")
	}
	if o.Gone {
		return fmt.Sprintf("%s was seen here%s and is gone", o.Name, on)
	}
	is := "entry is"
	if o.Missing != 1 {
		is = "entries are"
	}
	text := fmt.Sprintf("this copy is older than one seen here%s: %d %s missing", on, o.Missing, is)
	if o.Given {
		text += ", and " + SinceGiven
	}
	return text
}

// Fix says what to do.
func (o *Older) Fix() string {
	if o.Gone {
		return "import a good copy, or perdure doctor --forget to forget it"
	}
	return "import a good copy, or" + o.unless() + o.Answer() + " to go on from here"
}

// SinceGiven says of an older copy that the agent goes on elsewhere.
const SinceGiven = "it was handed over since this copy was made"

// unless says when the answer is the right one.
func (o *Older) unless() string {
	if o.Given {
		return ", if it is lost where it went, "
	}
	return " "
}

// Answer is the command by which this copy goes on.
func (o *Older) Answer() string {
	if o.Given {
		return "perdure seat take " + o.Name + " --yes --why TEXT"
	}
	return "perdure resume " + o.Name + " --older"
}

// Wait is the copy as something that waits for a person.
func (o *Older) Wait(id perdure.AgentID, name string) Wait {
	return Wait{Agent: id, Name: name, Kind: WaitOlder, What: o.What(), Since: o.Seen,
		Answer: o.Answer() + " # or import a good copy"}
}

func (o *Older) String() string { return o.What() + "; " + o.Fix() }
