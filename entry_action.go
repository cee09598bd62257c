package perdure

import "github.com/perdure/perdure/internal/canon"

// Action is what one cycle may do: Execute, Mutate, Delegate, Sleep, Wake or End. An advisor proposes actions; a
// decision selects one.
type Action interface{ action() }

// Execute calls a tool.
type Execute struct {
	Tool string `canon:"1,tool"` // the name of the tool
	// what it is called with; sealed parts are opened for the tool only
	Args     Data   `canon:"2,args,omitzero"`
	Call     string `canon:"3,call,omitzero,verbatim"` // the model's own id of this call
	Deadline int64  `canon:"4,deadline_ms,omitzero"`   // how long it may take; zero: as the tool says
}

// Mutate changes the intent. Bounds can only become narrower; goal, kind, inputs and labels are replaced. Absent fields
// stay.
type Mutate struct {
	Goal     *string           `canon:"1,goal,optional,verbatim"`  // replaces that of the intent
	Kind     *string           `canon:"2,kind,optional"`           // replaces that of the intent
	Inputs   Data              `canon:"3,inputs,omitzero"`         // replace those of the intent
	Labels   map[string]string `canon:"4,labels,optional"`         // replace those of the intent
	Scope    *string           `canon:"5,scope,optional"`          // the same or below that of the charter
	Budget   *Budget           `canon:"6,budget,optional"`         // where it is less than what there is
	Deadline Time              `canon:"7,deadline,omitzero"`       // if it is earlier than the one there is
	Tools    []string          `canon:"8,tools,optional"`          // those of them it has already
	Depth    *int64            `canon:"9,depth,optional"`          // if it is less than that of the charter
	Note     string            `canon:"10,note,omitzero,verbatim"` // why, in words

	// a later version of the schema of the state; see Node.UpgradeState
	StateSchema Hash `canon:"11,state_schema,omitzero"`
}

// Delegate creates a child agent with a scope, budget and depth no wider than its parent's.
type Delegate struct {
	// what the child is for; its budget is set aside from the parent's
	Intent Intent `canon:"1,intent"`
	Scope  string `canon:"2,scope,omitzero"` // none: the parent's
	// how many generations the child may delegate to; less than the parent's
	Depth    int64  `canon:"3,depth,omitzero"`
	Policies []Hash `canon:"4,policies,omitzero"`      // the child's own, besides those of its parent
	Call     string `canon:"5,call,omitzero,verbatim"` // the model's own id of this call
}

// Sleep makes the agent dormant until its trigger is met.
type Sleep struct {
	Trigger Trigger `canon:"1,trigger"` // what ends the sleep
	// what it waits for, in words; of a question to people, the question
	Note    string    `canon:"2,note,omitzero,verbatim"`
	Stale   int64     `canon:"3,stale_ms,omitzero"`      // after sleeping this long, recheck what was assumed
	Recheck []Execute `canon:"4,recheck,omitzero"`       // what was assumed, as calls of class read
	Call    string    `canon:"5,call,omitzero,verbatim"` // the model's own id of this call
}

// Wake ends a sleep.
type Wake struct {
	Sleep Hash   `canon:"1,sleep"`                  // the decision to sleep that ends
	By    []Hash `canon:"2,by,omitzero"`            // the events that met its trigger
	Stale bool   `canon:"3,stale,omitzero"`         // it slept for so long that what was assumed is looked at again
	Note  string `canon:"4,note,omitzero,verbatim"` // what met the trigger, in words
}

// End ends the agent for good.
type End struct {
	Signal Signal `canon:"1,signal"`                 // how it ends
	Result Data   `canon:"2,result,omitzero"`        // what it came to
	Note   string `canon:"3,note,omitzero,verbatim"` // why, in words
	Call   string `canon:"4,call,omitzero,verbatim"` // the model's own id of this call
}

func (Execute) action()  {}
func (Mutate) action()   {}
func (Delegate) action() {}
func (Sleep) action()    {}
func (Wake) action()     {}
func (End) action()      {}

// CallOf is the id that whoever proposed an action gave it; none for Mutate and Wake, which have none.
func CallOf(a Action) string {
	switch a := a.(type) {
	case Execute:
		return a.Call
	case Delegate:
		return a.Call
	case Sleep:
		return a.Call
	case End:
		return a.Call
	case Mutate, Wake:
	}
	return ""
}

// Effect is the class of a tool's effect on the world: what may be done when it is unknown whether it happened.
type Effect uint8

// Wire numbers are frozen. Do NOT reorder. The zero Effect is treated as Once, the most careful.
const (
	_          Effect = iota
	Read              // changes nothing outside the agent: call again freely
	Idempotent        // calling again under the same key changes nothing more
	Once              // never repeated blindly
)

// CanonNames are the names of the wire numbers.
func (Effect) CanonNames() []string { return []string{"", "read", "idempotent", "once"} }

func (e Effect) String() string { return canon.NameOf(e) }

// MarshalText writes the name.
func (e Effect) MarshalText() ([]byte, error) { return canon.MarshalName(e, "effect") }

// UnmarshalText reads a name.
func (e *Effect) UnmarshalText(b []byte) error { return canon.UnmarshalName(e, "effect", b) }

// Repeatable reports whether the effect may be performed again under the same key.
func (e Effect) Repeatable() bool { return e == Read || e == Idempotent }

// Signal is how an outcome ended.
type Signal uint8

// Wire numbers are frozen. Do NOT reorder.
const (
	_         Signal = iota
	OK               // done
	Partial          // done in part; going on makes sense
	Failed           // the tool says it did not work
	TimedOut         // no answer in the time allowed
	Silent           // no outcome by the deadline
	Incapable        // this node cannot; another may
	Throttled        // refused for now, with a time to come back
	Denied           // refused by policy or a person
)

// CanonNames are the names of the wire numbers.
func (Signal) CanonNames() []string {
	return []string{"", "ok", "partial", "failed", "timed-out", "silent", "incapable", "throttled", "denied"}
}

func (s Signal) String() string { return canon.NameOf(s) }

// MarshalText writes the name.
func (s Signal) MarshalText() ([]byte, error) { return canon.MarshalName(s, "signal") }

// UnmarshalText reads a name.
func (s *Signal) UnmarshalText(b []byte) error { return canon.UnmarshalName(s, "signal", b) }
