package perdure

import (
	"context"

	"github.com/perdure/perdure/phase"
)

// Observer is told what a node does while it does it, for traces and metrics. It is called by many goroutines at once,
// must be quick, and changes nothing of what the node does.
type Observer interface {
	// Begin is told that something begins. The context it returns is the one it is done under; the function is called
	// once, when it is over. Traceparent of ctx names the trace of the agent's entries, if there is one.
	Begin(ctx context.Context, b Begun) (context.Context, func(Over))
}

// Begun is something that begins.
type Begun struct {
	What     phase.Step // StepCycle, StepConsult (an advisor is asked) or StepPerform (a tool is called)
	Agent    AgentID
	Name     string // of the agent
	Advisor  string // that is asked; empty: the node's own
	Tool     string // that is called
	Decision Hash   // to call it
}

// Over is how it ended.
type Over struct {
	Step   phase.Step // of a cycle: what was done
	Signal Signal     // of advice and calls
	Model  string     // that was asked
	Usage  *Usage
	Err    error
}

// observe tells the observer that something begins. What it returns is never nil.
func (n *Node) observe(ctx context.Context, b Begun) (context.Context, func(Over)) {
	if n.Observer == nil {
		return ctx, func(Over) {}
	}
	return n.Observer.Begin(ctx, b)
}

// observedCycle is cycle under the eyes of the observer.
func (w *work) observedCycle(ctx context.Context) (Step, error) {
	if w.n.Observer == nil {
		return w.cycle(ctx)
	}
	f := w.a.fold
	seen, over := w.n.observe(traced(ctx, f.Trace, f.Heads[0].Name),
		Begun{What: phase.StepCycle, Agent: w.a.ID(), Name: f.Intent.Name})
	step, err := w.cycle(seen)
	o := Over{Step: phase.StepIdle, Err: err}
	if step != nil {
		o.Step = step.Doing().What
	}
	over(o)
	return step, err
}
