package perdure

import (
	"context"
	"time"

	"github.com/perdure/perdure/seal"
)

// Advisor is cognition: it proposes and never changes anything.
type Advisor interface {
	// Advise returns what the agent should do next. An error that wraps ErrIncapable says that this node cannot ask it;
	// any other error is recorded as a signal, and the advisor is asked again later.
	//
	// Of an advisor that has also a method Instant() bool which returns true, advice costs nothing to ask for again, as
	// of a plain function: it need not be durable before it is acted upon, unless the effect is of class once.
	Advise(ctx context.Context, a *Agent) (Advice, error)
}

// Releaser is an Advisor that holds something for the agents it advises, such as a function under way.
type Releaser interface {
	// Release lets go of what is held for these agents, or for all when none are named, because this node stops working
	// on them. They may come back.
	Release(ids ...AgentID)
}

// Policy is authority: it permits, denies or asks a person, and never acts.
type Policy interface {
	// Decide answers a request. It is a pure function of the agent's fold, the request and now. The zero Verdict
	// denies.
	//
	// A policy whose answers may rest on how often an agent called tools has also a method Counts(a *Agent) bool, which
	// reports whether those about an agent do. Then polls that told nothing new are recorded each, and otherwise every
	// ten minutes.
	Decide(a *Agent, r Request, now time.Time) Verdict
}

// Request is what policy is asked about.
type Request struct {
	Action    Action
	Effect    Effect // the class of an Execute
	Approvals int    // how many people have approved exactly this
	Node      Key    // where it would be done

	// What is known there of the agent besides its fold, see Trust.Sees: who owns it, if that is not whom the charter
	// names, and that somebody who is not trusted may speak in it, whatever it says itself.
	Owner   Key
	Tainted bool
}

// PolicyFunc is a Policy as a function.
type PolicyFunc func(a *Agent, r Request, now time.Time) Verdict

// Decide calls f.
func (f PolicyFunc) Decide(a *Agent, r Request, now time.Time) Verdict { return f(a, r, now) }

// AdvisorFunc is an Advisor as a function. It is instant.
type AdvisorFunc func(ctx context.Context, a *Agent) (Advice, error)

// Advise calls f.
func (f AdvisorFunc) Advise(ctx context.Context, a *Agent) (Advice, error) { return f(ctx, a) }

// Instant is true.
func (f AdvisorFunc) Instant() bool { return true }

// Tool is execution: it acts, once permitted.
type Tool interface {
	Spec() Spec
	// Call performs the effect. An error that wraps ErrIncapable says that this node cannot; any other error is a
	// failed outcome. ctx ends at the deadline of the decision.
	Call(ctx context.Context, c Call) (Result, error)
}

// Reconciler is a Tool that can look at the world and say whether an effect happened.
type Reconciler interface {
	// Reconcile returns the outcome of an effect whose worker died: OK if it happened, Failed if it did not and will
	// not. An error says that it cannot tell, and the effect stays in doubt.
	Reconcile(ctx context.Context, c Call) (Result, error)
}

// Call is one call of a tool.
type Call struct {
	Agent    AgentID
	Decision Hash
	Key      string // the same for every attempt at this effect; to be passed on as an idempotency key
	Args     Data   // what was sealed is open
	Again    bool   // an attempt under the same key may have been made before

	// Caller is the agent that calls as it is now, what is not durable yet included; not to be changed. It may be nil
	// when whoever calls the tool is not a node.
	Caller *Fold

	// Opened is what was sealed in Args; nil: nothing. The node seals what a result repeats of it. A tool that writes
	// into a memory, as one that tells another agent, seals what it writes.
	Opened *seal.Opened
}

// Result is what a call came to.
type Result struct {
	Signal     Signal // zero: OK
	Data       Data
	Spend      Spend // besides the call itself
	Note       string
	RetryAfter time.Duration
	Set        map[string]Data // what it changes in the agent's state
	Taint      bool            // the data is text from somebody not trusted
}
