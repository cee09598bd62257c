package perdure

// Notice is an event the runtime itself understands.
type Notice interface{ notice() }

// Approval answers an ask. It is bound to the digest of exactly that effect and can be used once.
type Approval struct {
	Decision Hash   `canon:"1,decision"` // the decision that asked
	Digest   Hash   `canon:"2,digest"`
	Approve  bool   `canon:"3,approve"`
	Expires  Time   `canon:"4,expires,omitzero"`
	Note     string `canon:"5,note,omitzero,verbatim"`
}

// ChildEnded tells a parent that a child ended, and commits to its memory.
type ChildEnded struct {
	Child  AgentID `canon:"1,child"`
	Head   Hash    `canon:"2,head"`
	Signal Signal  `canon:"3,signal"`
	Result Data    `canon:"4,result,omitzero"`
	Spend  *Spend  `canon:"5,spend,optional"`
	Note   string  `canon:"6,note,omitzero,verbatim"`
}

// KeyChange changes whose entries count, from this position in memory on. Only the owner may make it.
type KeyChange struct {
	Revoke Key `canon:"1,revoke,omitzero"` // entries of this key count only if this entry's author had seen them
	Owner  Key `canon:"2,owner,omitzero"`  // the new owner, for a rotation
}

// Pause stops the agent from deciding anything until a Resume.
type Pause struct {
	Note string `canon:"1,note,omitzero,verbatim"`
}

// Resume ends the pauses it names. A pause written on another branch, unseen by its author, stands.
type Resume struct {
	Of   []Hash `canon:"1,of"`
	Note string `canon:"2,note,omitzero,verbatim"`
}

// Grant adds to the budget. Only the owner may make it.
type Grant struct {
	Amount Spend  `canon:"1,amount"`
	Note   string `canon:"2,note,omitzero,verbatim"`
}

// Settle gives the outcome of an open decision from outside: a person who looked, or the answer to a question.
type Settle struct {
	Decision Hash   `canon:"1,decision"`
	Signal   Signal `canon:"2,signal"`
	Result   Data   `canon:"3,result,omitzero"`
	Note     string `canon:"4,note,omitzero,verbatim"`
}

// Cancel ends the agent from outside.
type Cancel struct {
	Note string `canon:"1,note,omitzero,verbatim"`
}

// Edit mutates the intent from outside.
type Edit struct {
	Mutate Mutate `canon:"1,mutate"`
}

// Doubt tells that nobody could find out whether an effect happened: a Settle must say.
type Doubt struct {
	Decision Hash `canon:"1,decision"`
}

// Pruned tells which bodies were dropped, and why.
type Pruned struct {
	Rule    string `canon:"1,rule"`
	Through Hash   `canon:"2,through"` // the entries were in the past of this one
	Entries int64  `canon:"3,entries"`
	Bytes   int64  `canon:"4,bytes"`
	// what they said leaves the inbox, too: the messages stay without their data
	Events []Hash `canon:"5,events,omitzero"`
}

// Erased tells that the key of a subject was destroyed, and with it everything sealed for it. The subject is not named
// again.
type Erased struct {
	Subject Hash   `canon:"1,subject"` // SHA-256 of its name
	Note    string `canon:"2,note,omitzero,verbatim"`
}

// Escalated tells that a question nobody answered goes to more people.
type Escalated struct {
	Decision Hash  `canon:"1,decision"` // the decision that asked
	Stage    int64 `canon:"2,stage"`    // how many escalations have come, this one included
}

// Enclosed tells the text of a policy or schema that entries name by its hash, so that whoever has the agent has
// everything it depends on. The text proves itself: it is one with that hash, or it says nothing.
type Enclosed struct {
	Of   Hash   `canon:"1,of"`
	Kind string `canon:"2,kind"` // policy or schema
	Text Data   `canon:"3,text"` // as whoever told it reads it
}

// Joined tells that an entry joins heads of a memory that has more of them than one entry can name. It changes nothing
// else.
type Joined struct {
	Heads int64 `canon:"1,heads"` // how many there were
}

// SeatTaken tells that a store has the seat: see Seat.
type SeatTaken struct {
	At   Hash   `canon:"1,at"`            // the id of the store
	Of   []Hash `canon:"2,of,omitzero"`   // the claims it follows, by their entries
	Lost bool   `canon:"3,lost,omitzero"` // taken from whoever had it; only who may own the agent may do that
	Note string `canon:"4,note,omitzero,verbatim"`
}

// SeatGiven tells that the store that has the seat hands it over.
type SeatGiven struct {
	At   Hash   `canon:"1,at"` // the id of the store
	Of   []Hash `canon:"2,of"` // the claims it follows, by their entries
	To   Key    `canon:"3,to,omitzero"`
	Note string `canon:"4,note,omitzero,verbatim"`

	Owned bool `canon:"5,owned,omitzero"` // its author is not who took the seat; only who may own the agent may do that
}

func (SeatTaken) notice() {}
func (SeatGiven) notice() {}
func (Doubled) notice()   {}
func (Joined) notice()    {}

// Admitted tells that its author looked at the agent and vouches for it: everything before this entry counts where the
// author is trusted to own the agent, and what the charter says.
type Admitted struct {
	Note string `canon:"1,note,omitzero,verbatim"`
}

// Lacks tells that a node cannot go on with the agent, because it has no such tool or advisor. It is told once for
// each.
type Lacks struct {
	What string `canon:"1,what"` // the tool, or advisor:NAME
	Note string `canon:"2,note,omitzero,verbatim"`
}

func (Lacks) notice()      {}
func (Admitted) notice()   {}
func (Enclosed) notice()   {}
func (Escalated) notice()  {}
func (Pruned) notice()     {}
func (Erased) notice()     {}
func (Doubt) notice()      {}
func (Approval) notice()   {}
func (ChildEnded) notice() {}
func (KeyChange) notice()  {}
func (Pause) notice()      {}
func (Resume) notice()     {}
func (Grant) notice()      {}
func (Settle) notice()     {}
func (Cancel) notice()     {}
func (Edit) notice()       {}
