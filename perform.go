package perdure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// effect is an allowed action to perform.
type effect struct {
	open  Open
	again bool
}

// perform performs effects side by side and records their outcomes. The decisions are durable before an effect of class once starts, or if
// the advice cost something to get.
func (w *work) perform(ctx context.Context, effects []effect) error {
	if w.mustFlush(effects) {
		if err := w.flush(ctx); err != nil {
			return err
		}
		for i := range effects {
			if !w.stillOpen(effects[i].open.Decision) {
				return nil // another node was first: nothing happened here
			}
		}
	}
	outcomes := make([]*Outcome, len(effects))
	if len(effects) == 1 {
		outcomes[0] = w.n.call(ctx, w.a.ID(), effects[0])
	} else {
		var wg sync.WaitGroup
		for i := range effects {
			wg.Go(func() { outcomes[i] = w.n.call(ctx, w.a.ID(), effects[i]) })
		}
		wg.Wait()
	}
	once := false
	for i, o := range outcomes {
		if o == nil {
			continue // given up: the decision stays open, and the next node finds out
		}
		once = once || !effects[i].open.Effect.Repeatable()
		if err := w.addOutcome(o); err != nil {
			return err
		}
	}
	if once && w.instantAdvisor() && ctx.Err() == nil {
		return nil // the outcome and the next decision share a commit
	}
	return w.flush(ctx)
}

// addOutcome records an outcome; one that cannot be written as it is, is recorded without its data.
func (w *work) addOutcome(o *Outcome) error {
	err := w.add(*o)
	if errors.Is(err, ErrRejected) {
		return w.add(Outcome{Decision: o.Decision, Signal: o.Signal, Latency: o.Latency, Note: "its result cannot be recorded: " + err.Error()})
	}
	return err
}

// mustFlush reports whether what is pending has to be durable before the effects start.
func (w *work) mustFlush(effects []effect) bool {
	if !w.instantAdvisor() {
		return true
	}
	for i := range effects {
		if !effects[i].open.Effect.Repeatable() {
			return true
		}
		if _, ok := effects[i].open.Action.(Delegate); ok {
			return true // the child's id is in the decision, so the decision comes first
		}
	}
	return false
}

func (w *work) instantAdvisor() bool { return instant(w.n.Advisors[w.a.fold.Intent.Advisor]) }

func (w *work) stillOpen(decision Hash) bool {
	for i := range w.a.fold.Open {
		if w.a.fold.Open[i].Decision == decision {
			return true
		}
	}
	return false
}

// unanswered reports whether a decision has no outcome yet: it is open, or waits for a person.
func (w *work) unanswered(decision Hash) bool {
	return w.stillOpen(decision) || slices.ContainsFunc(w.a.fold.Asks, func(q Asking) bool { return q.Decision == decision })
}

// call performs one effect under its deadline. It returns nil when the effect was given up because this node is stopping: then it is not
// known here what came of it.
func (n *Node) call(ctx context.Context, id AgentID, e effect) *Outcome {
	start := time.Now()
	out := &Outcome{Decision: e.open.Decision, Signal: OK}
	var res Result
	var err error
	switch a := e.open.Action.(type) {
	case Execute:
		deadline := e.open.Deadline.Go()
		if e.again { // its time passed with the worker that had it: it gets as much again
			deadline = start.Add(deadline.Sub(e.open.Since.Go()))
		}
		cctx, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		tool := n.tool(a.Tool)
		if tool == nil {
			err = fmt.Errorf("tool %s: %w", a.Tool, ErrIncapable)
			break
		}
		c := Call{Agent: id, Decision: e.open.Decision, Key: e.open.Key.String(), Args: a.Args, Again: e.again}
		if c.Args, err = Unseal(n.Vault, a.Args); err != nil {
			break
		}
		if res, err = callTool(cctx, tool, c); err != nil && cctx.Err() != nil {
			if ctx.Err() != nil {
				return nil
			}
			if !e.open.Effect.Repeatable() {
				return nil // cut off in the middle: in doubt, not failed
			}
			err, res = nil, Result{Signal: TimedOut, Note: "no answer within " + time.Since(start).Round(time.Millisecond).String()}
		}
		res.Spend = res.Spend.Plus(Spend{Calls: 1})
	case Delegate:
		if err = n.spawn(ctx, e.open.Child); err != nil && ctx.Err() != nil {
			return nil
		}
	case Mutate, Sleep, Wake, End:
		err = fmt.Errorf("%T has no effect to perform", a)
	}
	switch {
	case errors.Is(err, ErrIncapable):
		res.Signal, res.Note, res.Spend = Incapable, err.Error(), Spend{}
	case err != nil:
		res.Signal, res.Note = Failed, err.Error()
	}
	res.fill(out, time.Since(start))
	return out
}

// fill writes a result into an outcome.
func (r *Result) fill(o *Outcome, latency time.Duration) {
	if r.Signal != 0 {
		o.Signal = r.Signal
	}
	o.Latency, o.Result, o.Note, o.Set, o.Taint = latency.Milliseconds(), r.Data, r.Note, r.Set, r.Taint
	o.RetryAfter = r.RetryAfter.Milliseconds()
	if r.Spend != (Spend{}) {
		spend := r.Spend
		o.Spend = &spend
	}
}

// callTool calls a tool and turns a panic into an error.
func callTool(ctx context.Context, t Tool, c Call) (res Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("tool panicked: %v", p)
		}
	}()
	return t.Call(ctx, c)
}

// spawn stores a child's genesis. Storing it again changes nothing.
func (n *Node) spawn(ctx context.Context, child []byte) error {
	e, err := DecodeEntry(child, Limits{})
	if err != nil {
		return err
	}
	return n.Store.Put(context.WithoutCancel(ctx), e.ID(), e)
}

// reconcile asks the tool whether an effect of class once happened. If it cannot tell, the effect stays in doubt.
func (w *work) reconcile(ctx context.Context, o Open) error {
	x, _ := o.Action.(Execute)
	r, ok := w.n.tool(x.Tool).(Reconciler)
	if !ok {
		return fmt.Errorf("reconcile %s: %w", x.Tool, ErrIncapable)
	}
	start := time.Now()
	cctx, cancel := context.WithTimeout(ctx, defaultDeadline)
	defer cancel()
	res, err := r.Reconcile(cctx, Call{Agent: w.a.ID(), Decision: o.Decision, Key: o.Key.String(), Args: x.Args, Again: true})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return w.doubt(ctx, &o, err)
	}
	out := &Outcome{Decision: o.Decision, Signal: OK, Reconciled: true}
	res.fill(out, time.Since(start))
	if err := w.addOutcome(out); err != nil {
		return err
	}
	return w.flush(ctx)
}

// doubt records that a tool could not say what came of an effect: from here on a person settles it.
func (w *work) doubt(ctx context.Context, o *Open, why error) error {
	note, err := DataOf(map[string]any{"decision": o.Decision.String(), "tool": o.toolName(), "why": why.Error()})
	if err != nil {
		return err
	}
	if err := w.add(Event{Name: "in-doubt", Data: note, By: "runtime", ID: "in-doubt:" + o.Decision.String(), Notice: Doubt{Decision: o.Decision}}); err != nil {
		return err
	}
	return w.flush(ctx)
}
