package perdure

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/seal"
)

// effect is an allowed action to perform.
type effect struct {
	open   Open
	again  bool
	caller *Fold
}

// perform performs effects side by side and records the outcome of each as soon as it is known. The decisions are
// durable before an effect of class once starts, or if the advice cost something to get.
func (w *work) perform(ctx context.Context, effects []effect) error {
	marks := w.n.mark(effects)
	ready, err := w.ready(ctx, effects)
	var r *rehearsal
	if ready && err == nil {
		r, err = w.n.rehearsal(ctx, w.a)
	}
	if !ready || err != nil {
		marks.end()
		return err
	}
	for i := range effects {
		effects[i].caller = w.n.callerOf(w.a)
	}
	yields := w.yields
	all, err := w.callAll(ctx, effects, r)
	w.marks = append(w.marks, marks...) // until what came of them is durable
	// first what is known: a doubt about one must not lose the outcome of another
	once, addErr := w.addOutcomes(effects, all, yields)
	err = errors.Join(err, addErr)
	for i := range all { // one with neither was given up: its decision stays open
		if all[i].doubt != nil {
			err = errors.Join(err, w.findOut(ctx, effects[i].open, all[i].doubt))
		}
	}
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(c called) bool { return c.gone }) {
		if err := w.flush(ctx); err != nil {
			return err
		}
		runtime.Goexit() // as it did: it stays open, and would be called again without end
	}
	if once && w.instantAdvisor() && !w.stopping() {
		return nil // the outcome and the next decision share a commit
	}
	return w.flush(ctx)
}

// ready makes durable what has to be before the effects start, takes into account what has arrived, and reports whether
// they are still to be performed.
func (w *work) ready(ctx context.Context, effects []effect) (bool, error) {
	yields := w.yields
	see := w.look
	if w.mustFlush(effects) && len(w.pending) > 0 {
		see = w.flush
	}
	if err := see(ctx); err != nil {
		return false, err
	}
	still := stillness("")
	if w.yields != yields {
		if still = w.a.fold.stilled(); still == "" && w.n.trust().Counts(w.a) != nil {
			still = "what has arrived does not count here"
		}
	}
	if still == "" && slices.ContainsFunc(effects, func(e effect) bool { return e.once() }) {
		still = w.n.unseen()
	}
	if still == "" && w.yields == yields {
		return true, nil
	}
	return w.notBegun(effects, still)
}

// notBegun records of effects that they have not begun, for still, if that says why, and reports whether they are still
// to be performed.
func (w *work) notBegun(effects []effect, still stillness) (bool, error) {
	ready := still == ""
	for i := range effects {
		e := &effects[i]
		open := w.stillOpen(e.open.Decision)
		if ready = ready && open; still == "" || !open || e.again {
			continue // another node was first: nothing happened here
		}
		// Its decision is durable after all, and it has surely not begun: nobody need wonder whether it did.
		if err := w.addOutcome(&Outcome{Decision: e.open.Decision, Signal: Throttled, RetryAfter: 1,
			Note: "not begun: " + still.Error()}); err != nil {
			return false, err
		}
	}
	return ready, nil
}

// marks say that this process is at work on effects.
type marks []func()

// mark makes known that this node is at work on the once effects among these, before anything is looked at: from here
// on nobody else finds that they did not happen, even if this process is stopped for long.
func (n *Node) mark(effects []effect) (all marks) {
	for i := range effects {
		if n.Working != nil && effects[i].once() {
			all = append(all, n.Working(effects[i].open.Key.String()))
		}
	}
	return all
}

func (m marks) end() {
	for _, done := range m {
		done()
	}
}

// once reports whether an effect must not happen twice.
func (e *effect) once() bool {
	_, call := e.open.Action.(Execute)
	return call && !e.open.Effect.Repeatable()
}

// unmark ends the marks of effects whose outcome is durable, or given up.
func (w *work) unmark() {
	w.marks.end()
	w.marks = nil
}

// called is what came of an effect: its outcome, or why nobody can know it. It has neither when the effect was given
// up, is still under way, or its outcome has been recorded.
type called struct {
	outcome *Outcome
	doubt   error
	gone    bool // its tool ended the goroutine it was called in
}

// callAll performs effects side by side; what a rehearsal has on record is not performed. What those come to that end
// long before others is durable when it returns, and not among what it returns.
func (w *work) callAll(ctx context.Context, effects []effect, r *rehearsal) ([]called, error) {
	out := make([]called, len(effects))
	if r != nil {
		for i := range effects {
			out[i].outcome = r.serve(&effects[i].open, w.n)
		}
	}
	calls := w.attention.calls[:0]
	for i := range effects {
		calls = append(calls, effects[i].watched(ctx))
	}
	t := w.attend(ctx, calls)
	defer t.end()
	if len(effects) == 1 {
		if out[0].outcome == nil {
			out[0] = w.call(w.a, t.calls[0], &effects[0])
		}
		return out, nil
	}
	ended, left, a, yields := make(chan int, len(effects)), 0, w.a, w.yields
	came := make([]called, len(effects)) // each is its goroutine's until that has ended
	for i := range effects {
		if out[i].outcome == nil {
			left++
			go func() {
				defer func() { ended <- i }() // also where a tool ends the goroutine
				came[i].gone = true           // unless it returns
				came[i] = w.call(a, t.calls[i], &effects[i])
			}()
		}
	}
	var err error
	for left > 0 {
		for _, i := range together(ended, left) {
			out[i] = came[i]
			left--
		}
		if left == 0 || err != nil || a.fold.Sleep != nil { // asleep, it polls: what tells nothing new is not recorded
			continue
		}
		if _, err = w.addOutcomes(effects, out, yields); err == nil && w.outcome > 0 {
			err = w.flush(ctx)
		}
	}
	return out, err
}

// togetherFor is how long an outcome waits for those of effects beside it, to be recorded with them in one commit.
const togetherFor = 50 * time.Millisecond

// together waits for the next effect to end, and for those that end soon after it, of so many.
func together(ended <-chan int, left int) []int {
	found := []int{<-ended}
	soon := time.NewTimer(togetherFor)
	defer soon.Stop()
	for len(found) < left {
		select {
		case i := <-ended:
			found = append(found, i)
		case <-soon.C:
			return found
		}
	}
	return found
}

// addOutcomes records the outcomes there are, and takes them away from what came of the effects. It reports whether
// there is one of class once among them. Where others have been first since so many yields, what they settled is left
// as they say, unless it happened and must not again.
func (w *work) addOutcomes(effects []effect, came []called, yields int) (once bool, err error) {
	for i := range came {
		o, of := came[i].outcome, &effects[i].open
		if o == nil {
			continue
		}
		came[i].outcome = nil
		repeatable := of.Effect.Repeatable()
		if w.yields != yields && !w.unanswered(of.Decision) && (repeatable || o.Signal != OK) {
			continue
		}
		once = once || !repeatable
		w.noteUnheard(of, o)
		err = errors.Join(err, w.addOutcome(o))
	}
	return once, err
}

// watched is the effect as a call under way.
func (e *effect) watched(ctx context.Context) *callContext {
	c := newCall(ctx)
	if _, ok := e.open.Action.(Execute); !ok {
		return c
	}
	c.deadline = e.open.Deadline.Go()
	if e.again { // its time passed with the worker that had it: it gets as much again
		limit := e.open.Deadline.Go().Sub(e.open.Since.Go())
		if limit <= 0 { // whoever wrote it down gave it none
			limit = defaultDeadline
		}
		c.deadline = time.Now().Add(limit).Round(0)
	}
	return c
}

// addOutcome records an outcome; one that cannot be written as it is, is recorded without its data.
func (w *work) addOutcome(o *Outcome) error {
	w.veil(o)
	w.n.checkOutcome(w.a.fold, o)
	err := w.add(*o)
	if unrecordable(err) {
		return w.add(Outcome{Decision: o.Decision, Signal: o.Signal, Latency: o.Latency, Took: o.Took, Spend: o.Spend,
			RetryAfter: o.RetryAfter, Taint: o.Taint, Note: "its result cannot be recorded: " + err.Error()})
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
	return w.keys()
}

// keys reports whether there is a key among what is pending of a proposal that is durable: another node that takes the
// proposal up has to find the key, or it makes one at a turn that may be another by then.
func (w *work) keys() bool {
	var fresh []Hash
	for _, e := range w.pending {
		switch x := e.content.(type) {
		case Advice:
			fresh = append(fresh, e.Name)
		case Decision:
			if x.Effect == Idempotent && !slices.Contains(fresh, x.Advice) {
				return true
			}
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
	return w.stillOpen(decision) || slices.ContainsFunc(w.a.fold.Asks, func(q Asking) bool {
		return q.Decision == decision
	})
}

// call performs one effect of an agent under its deadline, unless it must not begin any more. What is recorded of
// effects beside it meanwhile is not its matter.
func (w *work) call(of *Agent, c *callContext, e *effect) called {
	defer c.cancel(nil)
	n, start := w.n, time.Now()
	out := &Outcome{Decision: e.open.Decision, Signal: OK}
	var res Result
	var err error
	switch a := e.open.Action.(type) {
	case Execute:
		tool := n.tool(a.Tool)
		if tool == nil {
			err = fmt.Errorf("tool %s: %w", a.Tool, ErrIncapable)
			break
		}
		call := Call{Agent: of.ID(), Decision: e.open.Decision, Key: e.open.Key.String(), Args: a.Args, Again: e.again,
			Caller: e.caller}
		if call.Args, call.Opened, err = seal.OpenAll(n.Vault, a.Args); err != nil {
			break
		}
		c.trace(of.traceOf(e.open.Decision), e.open.Decision)
		if not, late := w.unbegun(e, c.deadline, time.Now()); late {
			return not
		}
		if res, err = n.callTool(c, c.node, tool, call, e.once()); errors.Is(err, errLeft) {
			n.Log.Error("tool ignores its context: it is left behind", "tool", a.Tool, "agent", call.Agent.Short(),
				"decision", call.Decision.Short())
		}
		if err != nil && c.Err() != nil && !errors.Is(err, ErrInDoubt) {
			return e.cutOff(c, err, time.Since(start))
		}
		res.Spend = res.Spend.plus(Spend{Calls: 1})
	case Delegate:
		if w.stopping() {
			return called{} // it stays open: the next node does it
		}
		if err = n.spawn(c, e.open.Child); err != nil && c.Err() != nil {
			return called{}
		}
	case Mutate, Sleep, Wake, End:
		err = fmt.Errorf("%T has no effect to perform", a)
	}
	switch {
	case errors.Is(err, ErrInDoubt) && !e.open.Effect.Repeatable():
		return called{doubt: err}
	case errors.Is(err, ErrInDoubt): // it may be done again under the same key
		res.Signal, res.Note = Silent, err.Error() // whoever was asked is lost
		if errors.Is(err, context.DeadlineExceeded) {
			res.Signal = TimedOut
		}
	case errors.Is(err, ErrIncapable):
		res.Signal, res.Note, res.Spend = Incapable, err.Error(), Spend{}
	case err != nil:
		res.Signal, res.Note = Failed, err.Error()
	}
	res.fill(out, time.Since(start))
	return called{outcome: out}
}

// fill writes a result into an outcome.
func (r *Result) fill(o *Outcome, latency time.Duration) {
	if r.Signal != 0 {
		o.Signal = r.Signal
	}
	o.Latency, o.Took = latency.Milliseconds(), latency.Microseconds()
	o.Result, o.Note, o.Set, o.Taint = r.Data, r.Note, r.Set, r.Taint
	o.RetryAfter = r.RetryAfter.Milliseconds()
	if r.Spend != (Spend{}) {
		spend := r.Spend
		o.Spend = &spend
	}
}

// callTool calls a tool and turns a panic into an error. One that does not return when this node stops is left behind:
// errLeft.
func (n *Node) callTool(ctx, node context.Context, t Tool, c Call, once bool) (Result, error) {
	b := Begun{What: phase.StepPerform, Agent: c.Agent, Decision: c.Decision}
	if n.Observer != nil {
		b.Tool, b.Name = t.Spec().Name, c.Caller.Intent.Name
	}
	ctx, over := n.observe(ctx, b)
	res, err := n.tooling(node, t, c.Agent, func() (Result, error) {
		if once && n.Working != nil {
			defer n.Working(c.Key)() // also when it is left behind
		}
		return t.Call(ctx, c)
	})
	over(Over{Signal: res.Signal, Err: err})
	return res, err
}

// askTool asks a tool whether an effect happened and turns a panic into an error: then it cannot tell.
func (n *Node) askTool(ctx, node context.Context, r Reconciler, c Call) (Result, error) {
	return n.tooling(node, r, c.Agent, func() (Result, error) { return r.Reconcile(ctx, c) })
}

// tooling runs code of a tool.
func (n *Node) tooling(node context.Context, of any, id AgentID, do func() (Result, error)) (Result, error) {
	res, err, returned := leaving(node, func() (res Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				who := "tool"
				if t, ok := of.(Tool); ok {
					who += " " + t.Spec().Name
				}
				err = n.panicked(who, id, p)
			}
		}()
		return do()
	})
	if !returned {
		return Result{}, errLeft
	}
	return res, err
}

// callerOf is the fold of an agent as tools see it, tainted where this node knows it to be: what it sends is.
func (n *Node) callerOf(a *Agent) *Fold {
	if !a.fold.Taint.IsZero() || !n.tainted(a) {
		return a.fold
	}
	f := a.fold.clone()
	f.Taint = Hash(f.Agent)
	return f
}

// spawn stores a child's genesis. Storing it again changes nothing. A child that this node began for an agent that was
// admitted here is admitted, too; one that somebody else began waits until somebody admits it.
func (n *Node) spawn(ctx context.Context, child []byte) error {
	ctx = context.WithoutCancel(ctx)
	e, err := DecodeEntry(child, Limits{})
	if err != nil {
		return err
	}
	a, err := Begin(e)
	if err != nil {
		return err
	}
	if e.Origin != n.Key.Key() || n.trust().Counts(a) == nil {
		return n.Store.Put(ctx, e.ID(), e)
	}
	if _, err := n.Store.Heads(ctx, e.ID()); err == nil {
		return nil
	}
	vouch, err := n.Key.Admission(a, time.Now(), "its parent counts here")
	if err != nil {
		return err
	}
	return n.Store.Put(ctx, e.ID(), append([]*Entry{e}, vouch...)...)
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
	var res Result
	// the tool looks for what it was told to do, not for its ciphertext
	args, opened, err := seal.OpenAll(w.n.Vault, x.Args)
	if err == nil {
		res, err = w.n.askTool(cctx, ctx, r, Call{Agent: w.a.ID(), Decision: o.Decision, Key: o.Key.String(),
			Args: args, Again: true, Caller: w.a.fold, Opened: opened})
	}
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

// findOut deals with a once effect whose tool does not know what came of it: it is asked to look, if it can, else a
// person is. A node that is stopping leaves the look to the next one.
func (w *work) findOut(ctx context.Context, o Open, why error) error {
	if _, ok := w.n.tool(o.toolName()).(Reconciler); ok {
		if ctx.Err() != nil {
			return nil
		}
		return w.reconcile(ctx, o)
	}
	return w.doubt(ctx, &o, why)
}

// doubt records that a tool could not say what came of an effect: from here on a person settles it. What arrives
// meanwhile, such as the pause that cut it off, does not keep it from being recorded.
func (w *work) doubt(ctx context.Context, o *Open, why error) error {
	said := w.veiled(o, why)
	for {
		err := w.add(inDoubt(o, said))
		if unrecordable(err) {
			err = w.add(inDoubt(o, "what the tool says cannot be recorded"))
		}
		if err != nil {
			return err
		}
		yields := w.yields
		if err := w.flush(ctx); err != nil || w.yields == yields {
			return err
		}
		if !slices.ContainsFunc(w.a.fold.Open, func(p Open) bool { return p.Decision == o.Decision && !p.Doubt }) {
			return nil // others have settled it, or say so, too
		}
	}
}

// inDoubt is the event that tells of a doubt.
func inDoubt(o *Open, why string) Event {
	note, err := DataOf(map[string]any{"decision": o.Decision.String(), "tool": o.toolName(), "why": why})
	if err != nil {
		note = nil // the reason is not text: the doubt is what matters
	}
	return Event{Name: "in-doubt", Data: note, By: runtimeName, ID: "in-doubt:" + o.Decision.String(),
		Notice: Doubt{Decision: o.Decision}}
}
