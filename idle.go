package perdure

import (
	"fmt"
)

// Idle says there is nothing to do until a time (zero: until an entry arrives).
type Idle struct {
	Until  Time
	Why    string // for people
	Person bool   // a person must act first
	Held   bool   // it has entries that do not count here: somebody must admit it
	Older  bool   // this copy is older than one seen here: its owner must say that it is to go on
	Cannot string // what this node lacks, when another could go on
	Seat   Hash   // the seat is needed, and in the store of this id

	Shallow bool // too little of its memory is here for what it wants to do: the whole of it must be imported
}

// heldBack says why nothing is done for an agent that does not count here.
func heldBack(err error) Idle {
	idle := Idle{Person: true, Held: true, Why: "held: " + err.Error()}
	if r, ok := err.(*Rejection); ok {
		idle.Why = fmt.Sprintf("held: entry %.12s is by %s; it takes the right %s", r.Entry, r.Got, r.Want)
	}
	return idle
}

func orIdle(s Step, rest Idle) Step {
	if s != nil {
		return s
	}
	return rest
}

// say is join, with the words put together only where somebody reads them and there is room for them.
func (c *Capabilities) say(i *Idle, until Time, why func() string) {
	if c.quiet || len(i.Why) >= maxWhy {
		i.Until = earliest(i.Until, until)
		return
	}
	i.join(until, why())
}

// join adds another reason to wait. Of very many the first ones are told.
func (i *Idle) join(until Time, why string) {
	i.Until = earliest(i.Until, until)
	if len(i.Why) >= maxWhy {
		return
	}
	if i.Why != "" {
		why = i.Why + "; " + why
	}
	i.Why = why
}

// lack says what this node would need.
func (i *Idle) lack(what string) {
	i.Cannot = what
	i.join(0, "needs a node with "+what)
}
