package perdure

import "github.com/perdure/perdure/phase"

// Idle says there is nothing to do until a time (zero: until an entry arrives), and why. Package view says it in words.
type Idle struct {
	Until  Time
	Person bool // a person must act first
	// what this node lacks, when another could go on: a tool, an advisor ("advisor:NAME"), a schema, a memory;
	// "scope:SCOPE": it works on agents of other scopes only
	Needs   string
	Reasons []Reason // why; of very many the first ones
}

// Reason is one of the reasons an agent rests. Kind says which of the other fields are set.
type Reason struct {
	Kind     phase.Rest `json:"kind"`
	Until    Time       `json:"until,omitempty"`   // when time alone may end it
	Tool     string     `json:"tool,omitempty"`    // the tool it is about; "advisor:NAME" for an advisor
	Needs    string     `json:"needs,omitempty"`   // what a node must have
	Decision Hash       `json:"decision,omitzero"` // in doubt
	Digest   Hash       `json:"digest,omitzero"`   // of the approval that is asked for
	Asked    []string   `json:"asked,omitempty"`   // whom it is asked of; none: anybody
	Entry    Hash       `json:"entry,omitzero"`    // that is missing here
	Seat     Hash       `json:"seat,omitzero"`     // the id of the store that has the seat
	Given    bool       `json:"given,omitempty"`   // the seat was handed over in what is missing here
	Signal   Signal     `json:"signal,omitempty"`  // how the last attempt ended
	Attempt  int64      `json:"attempt,omitempty"` // attempts, refusals or entries so far, in a row
	Of       int64      `json:"of,omitempty"`      // the attempts there are at most; zero: no bound
	Effect   Effect     `json:"effect,omitempty"`  // the class of the effect that needs more of the memory
	Depth    *Depth     `json:"depth,omitempty"`   // how much of the memory is here
	What     Kind       `json:"what,omitempty"`    // of the entries that say the same
	Note     string     `json:"note,omitempty"`    // what somebody else says of it: policy, a node, a condition
	Trigger  *Pending   `json:"trigger,omitempty"` // what the sleep still waits for
	Fault    error      `json:"-"`                 // why it does not count here
}

// Pending is what is still lacking of a trigger: one of its parts, or several, of which All or one must come.
type Pending struct {
	Trigger Trigger   `json:"-"`                // the part; nil: one this version does not know, or see Of
	Until   Time      `json:"until,omitempty"`  // the time that is waited for
	Open    string    `json:"open,omitempty"`   // of a condition, what does not hold yet
	Fault   string    `json:"fault,omitempty"`  // why it cannot be evaluated
	Poor    bool      `json:"poor,omitempty"`   // the budget has no call left to ask with
	Live    int64     `json:"live,omitempty"`   // of the children that are waited for: at work,
	OK      int64     `json:"ok,omitempty"`     // ended ok,
	Failed  int64     `json:"failed,omitempty"` // ended otherwise
	Of      []Pending `json:"parts,omitempty"`
	All     bool      `json:"all,omitempty"`
}

// Is reports whether one of the reasons is of one of these kinds.
func (i *Idle) Is(kinds ...phase.Rest) bool {
	for _, r := range i.Reasons {
		for _, k := range kinds {
			if r.Kind == k {
				return true
			}
		}
	}
	return false
}

// maxReasons is how many reasons an Idle gives: more say nothing to people, and an agent may wait for hundreds of
// things.
const maxReasons = 16

// because adds a reason to wait.
func (i *Idle) because(r Reason) {
	i.Until = earliest(i.Until, r.Until)
	if len(i.Reasons) < maxReasons {
		i.Reasons = append(i.Reasons, r)
	}
}

// because is Idle.because, unless nobody reads why.
func (c *Capabilities) because(i *Idle, r Reason) {
	if c.quiet {
		i.Until = earliest(i.Until, r.Until)
		return
	}
	i.because(r)
}

// idleFor is an Idle with one reason.
func idleFor(r Reason) Idle { return Idle{Until: r.Until, Reasons: []Reason{r}} }

// idlePerson is an Idle with one reason, which only a person can end.
func idlePerson(r Reason) Idle { return Idle{Until: r.Until, Person: true, Reasons: []Reason{r}} }

// lack says what this node would need.
func (i *Idle) lack(what string) { i.lackFor(what, "") }

// lackFor is lack, with what was wrong with this node.
func (i *Idle) lackFor(what, note string) {
	i.Needs = what
	i.because(Reason{Kind: phase.RestLacks, Needs: what, Note: note})
}

// heldBack says why nothing is done for an agent that does not count here.
func heldBack(err error) Idle {
	return idlePerson(Reason{Kind: phase.RestHeld, Fault: err})
}

func orIdle(s Step, rest Idle) Step {
	if s != nil {
		return s
	}
	return rest
}
