package perdure

// Trigger is what wakes a dormant agent: At, After, On, Done, Gather, When, Every, or Any and All of these. It is a
// pure question to the fold.
type Trigger interface{ trigger() }

// At is met from a time on.
type At struct {
	Time Time `canon:"1,time"` // from then on it is met
}

// After is met a number of milliseconds after the decision to sleep.
type After struct {
	Millis int64 `canon:"1,ms"` // after the decision to sleep
}

// On is met by an event of this name that the advisor has not seen and that has not woken the agent before, whether it
// arrived before or after the sleep was written. Filter, if any, is a condition over `event` (name, by, data).
type On struct {
	Event string `canon:"1,event"` // its name
	// a condition that must hold for the event; none: any event of the name
	Filter string `canon:"2,filter,omitzero,verbatim"`
}

// Done is met when a child has ended or a decision has its outcome.
type Done struct {
	Child    AgentID `canon:"1,child,omitzero"`    // a child; or
	Decision Hash    `canon:"2,decision,omitzero"` // a decision of this agent
}

// Gather is met when enough children have ended: all of them; or OK of them with ok, or fewer than that still can; or
// Failed of them otherwise than with ok. It counts those of Of, or without any, all the agent has.
type Gather struct {
	Of     []AgentID `canon:"1,of,omitzero"`     // which children; none: all there are
	OK     int64     `canon:"2,ok,omitzero"`     // how many must end with ok; zero: all must have ended
	Failed int64     `canon:"3,failed,omitzero"` // how many others end the wait; zero: no number does
}

// When is met while a condition over the agent's own fold holds.
type When struct {
	Condition string `canon:"1,condition,verbatim"` // in CEL, over the fold and now
}

// Every polls: a read tool is called every so many milliseconds until a condition over its `result` holds.
type Every struct {
	Millis int64   `canon:"1,ms"`             // between two calls
	Poll   Execute `canon:"2,poll"`           // a call of class read
	Until  string  `canon:"3,until,verbatim"` // a condition in CEL over `result`
}

// Any is met when one of its triggers is.
type Any struct {
	Of []Trigger `canon:"1,of"` // one of these must be met
}

// All is met when all of its triggers are.
type All struct {
	Of []Trigger `canon:"1,of"` // all of these must be met
}

func (At) trigger()     {}
func (After) trigger()  {}
func (On) trigger()     {}
func (Done) trigger()   {}
func (Gather) trigger() {}
func (When) trigger()   {}
func (Every) trigger()  {}
func (Any) trigger()    {}
func (All) trigger()    {}
