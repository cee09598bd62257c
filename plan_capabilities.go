package perdure

import (
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/phase"
)

// Capabilities are what a node can do.
type Capabilities struct {
	Node     Key
	Tools    map[string]Spec // by name
	Advisors []string        // by name; "" is any agent that names none
	Scopes   []string        // of the agents it works on, and below; none: any
	All      bool            // stands for every tool and advisor there is: some node will have it
	Claimed  bool            // the store keeps other nodes off the agent: what was under way before has no worker left
	Busy     []Hash          // the decisions this node is performing at this moment
	// when it was set up as it is: what it showed before that it could not do says nothing; zero: always
	Since Time
	// when a person last had it try again: what failed before is not waited for; zero: nobody has. See Node.TryAgain
	Urged  Time
	Seat   Place  // the store; zero for who only looks: the seat then binds nothing
	Seated bool   // agents whose seat is in another store are left alone there
	Policy Policy // asked whether an agent may wake; nil: it may, for who only looks
	Trust  *Trust // whose entries and answers count; nil: everybody's, for who only looks
	Blind  error  // why the node cannot note how far agents come; nil: it can. See Witness.Fault

	quiet bool  // nobody reads why the agent rests
	some  bool  // stands for every node there is, in whatever store and whomever it trusts: see Fold.due
	depth Depth // of the memory of the agent; set by Plan
}

// Spec describes a tool.
type Spec struct {
	Name        string
	Description string
	Args        Data // JSON Schema of the arguments
	Effect      Effect
	Deadline    time.Duration // zero: 5 minutes
	Reserve     Spend         // what a call is expected to cost
	Reconciles  bool          // can find out whether an effect happened
}

// outside is the idle step of a node that works on agents of other scopes only; nil if it works on this one. It leaves
// the agent alone as one whose tool it lacks, but writes nothing about that: it is no fault of the node, and no
// business of the agent.
func (c *Capabilities) outside(f *Fold, now time.Time) *Idle {
	if c.Serves(f.Charter.Scope) {
		return nil
	}
	if f.Ended != nil {
		if _, done := f.plan(c, now).(Idle); done {
			return nil
		}
	}
	var idle Idle
	idle.lackFor(phase.Scope(f.Charter.Scope), "works on agents in "+strings.Join(c.Scopes, ", ")+" only")
	return &idle
}

// Serves reports whether the node works on agents in a scope: one of Scopes, or below one. Without any it works on all.
func (c *Capabilities) Serves(scope string) bool {
	return len(c.Scopes) == 0 || slices.ContainsFunc(c.Scopes, func(s string) bool {
		return s == AnyScope || InScope(scope, s)
	})
}

// ahead reports whether the clock was ahead that says an entry was written at a time: no clock that is kept at all
// differs so much from another. What was to be waited for from then on has been waited for: nobody can tell how long it
// has been, and a year would be too long.
func ahead(written, t Time) bool { return written > t.Add(MaxLease) }

// mayDecide reports whether this node, in its store, may decide an action: it can do it, knows enough of the agent, and
// has the seat where one is needed. If not, it returns the step that would make it so, or says in rest what is lacking.
func (f *Fold) mayDecide(c *Capabilities, a Action, t Time, rest *Idle) (Step, bool) {
	if name := toolOf(a); name != "" && !f.capable(c, name, t, rest) || !f.deepEnough(c, a, rest) {
		return nil, false
	}
	if c.Blind != nil && c.bound(a) && !f.rehearses() {
		rest.Person = true
		rest.because(Reason{Kind: phase.RestBlind, Tool: toolOf(a), Until: t.Add(blindLook), Note: c.Blind.Error()})
		return nil, false
	}
	return f.sits(c, a, rest)
}

// blindLook is how long what must happen once waits before its node tries again to note how far agents come.
const blindLook = 5 * time.Second

// tool finds a tool among the capabilities.
func (c *Capabilities) tool(name string) (Spec, bool) {
	if s, ok := c.Tools[name]; ok {
		return s, true
	}
	return Spec{Name: name}, c.All || name == delegateTool
}

// capable reports whether the node can call the tool and has not shown otherwise of late; if not, rest says what it
// lacks.
func (f *Fold) capable(c *Capabilities, tool string, t Time, rest *Idle) bool {
	if _, ok := c.tool(tool); !ok {
		rest.lack(tool)
		return false
	}
	return !f.incapable(c, tool, t, rest)
}

// incapable reports whether the node, as it is set up, has shown of late that it cannot; then rest says so.
func (f *Fold) incapable(c *Capabilities, what string, t Time, rest *Idle) bool {
	for i := range f.Incapable {
		if n := &f.Incapable[i]; n.Node == c.Node && n.What == what && !n.Missing && n.Since >= c.Since &&
			t < n.lapses() && !ahead(n.Since, t) && n.Since >= f.urged(c, t) {
			rest.lackFor(what, n.Note)
			rest.Until = earliest(rest.Until, n.lapses())
			return true
		}
	}
	return false
}

// delegateTool stands for the creation of a child, which every node can do.
const delegateTool = "delegate"

func toolOf(a Action) string {
	if x, ok := a.(Execute); ok {
		return x.Tool
	}
	return ""
}

func (o *Open) toolName() string {
	if x, ok := o.Action.(Execute); ok {
		return x.Tool
	}
	return delegateTool
}
