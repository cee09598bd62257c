package perdure

import "github.com/perdure/perdure/internal/canon"

// Genesis is the body of the first entry: what the agent is for, and who it is.
type Genesis struct {
	Intent  Intent   `canon:"1,intent"`
	Charter Charter  `canon:"2,charter"`
	Lineage *Lineage `canon:"3,lineage,optional"`
	Schema  Hash     `canon:"4,schema,omitzero"` // schema of the bodies, when not the built-in one
	Taint   bool     `canon:"5,taint,omitzero"`  // text from somebody not trusted may speak in the intent
	Seat    Hash     `canon:"6,seat,omitzero"`   // the id of the store that has the seat first
}

// Intent is what an agent is for. It changes only by recorded mutations, which keep every earlier intent in memory.
type Intent struct {
	Name string `canon:"1,name,omitzero"` // what people call it; need not be unique
	Goal string `canon:"2,goal,verbatim"` // what is to be achieved, in words for the advisor
	// a word for what sort of agent it is, which policies and listings go by
	Kind     string  `canon:"3,kind,omitzero"`
	Inputs   Data    `canon:"4,inputs,omitzero"`   // what it is given to work with
	Budget   *Budget `canon:"5,budget,optional"`   // absent: no limit but policy's
	Deadline Time    `canon:"6,deadline,omitzero"` // when it ends by itself, timed out; none: never
	// the advisor it wants, by name; none: the default of the node
	Advisor string            `canon:"7,advisor,omitzero"`
	Tools   []string          `canon:"8,tools,optional"`  // absent: whatever policy permits; empty: none
	Labels  map[string]string `canon:"9,labels,omitzero"` // words of its makers, to find it by
	// the schema its state is held against; none: anything goes
	StateSchema Hash `canon:"10,state_schema,omitzero"`
	// how long bodies are kept, in milliseconds; zero: for ever
	TTL int64 `canon:"11,ttl_ms,omitzero"`
}

// Charter is who an agent is and within what bounds it acts.
type Charter struct {
	// whose agent it is: the only key that may change keys or add budget
	Owner     Key    `canon:"1,owner"`
	Scope     string `canon:"2,scope"`              // trust scope, a path such as acme/ops; narrower means below
	Policies  []Hash `canon:"3,policies,omitzero"`  // the agent's own policies; they only narrow what the node's permit
	Depth     int64  `canon:"4,depth,omitzero"`     // how many generations it may delegate to
	Approvers []Key  `canon:"5,approvers,omitzero"` // whose approvals count; none: any author trusted to approve
	Delegates []Key  `canon:"6,delegates,omitzero"` // whose nodes may run it and write to it, besides the owner's
}

// Relation is how an agent descends from another.
type Relation uint8

// Wire numbers are frozen. Do NOT reorder.
const (
	_     Relation = iota
	Child          // delegated to
	Fork           // copied from a point in memory
)

// CanonNames are the names of the wire numbers.
func (Relation) CanonNames() []string { return []string{"", "child", "fork"} }

func (r Relation) String() string { return canon.NameOf(r) }

// MarshalText writes the name.
func (r Relation) MarshalText() ([]byte, error) { return canon.MarshalName(r, "relation") }

// UnmarshalText reads a name.
func (r *Relation) UnmarshalText(b []byte) error { return canon.UnmarshalName(r, "relation", b) }

// Lineage is where an agent came from. For a child, Cause is the advice that proposed the delegation, and the parent's
// decision carries the child's signed genesis, so each commits to the other. For a fork, Cause is the entry it was
// forked at.
type Lineage struct {
	Parent   AgentID  `canon:"1,parent"`   // the agent it came from
	Cause    Hash     `canon:"2,cause"`    // the advice that proposed it, or the entry it was forked at
	Relation Relation `canon:"3,relation"` // child or fork
	// a fork whose effects come from its parent's record, and are refused where it has none
	Rehearse bool `canon:"4,rehearse,omitzero"`
}

// Budget is a limit on what an agent may spend. An absent amount is no limit; zero is nothing.
type Budget struct {
	Cost   *int64 `canon:"1,cost,optional"`   // millionths of a US dollar
	Tokens *int64 `canon:"2,tokens,optional"` // model tokens, in and out
	Calls  *int64 `canon:"3,calls,optional"`  // tool calls
}

// Spend is an amount spent, reserved or granted.
type Spend struct {
	Cost   int64 `canon:"1,cost,omitzero"`   // millionths of a US dollar
	Tokens int64 `canon:"2,tokens,omitzero"` // model tokens, in and out
	Calls  int64 `canon:"3,calls,omitzero"`  // tool calls
}
