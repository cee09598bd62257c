package perdure

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/trace"
)

// work is one node's work on one agent: the agent with the entries written so far, and those of them that are not
// durable yet.
type work struct {
	n       *Node
	a       *Agent // with pending folded
	heads   []Hash // the heads in the store
	pending []*Entry
	outcome int      // how many of pending end with the last outcome: these must not be lost
	claim   *renewal // nil: it is not claimed
	cycles  int
	yields  int             // how often others were first
	looked  time.Time       // when it was last certain that the heads are the heads
	stop    <-chan struct{} // closed when this node is to begin nothing more; nil: never
	copied  bool            // its seat is needed, and elsewhere
	behind  *Idle           // why nothing is done for it: this copy is an old one

	announced bool // its relatives have been told of its end
	attention attention
	marks     marks // of effects whose outcome is not durable yet

	base   *Agent // without what is pending
	hushed bool   // a poll told nothing new and was not recorded
	vigil  bool   // it polls without a claim, and does nothing else
	wrote  bool   // something was
	retold []Hash // the polls whose note this node wrote, and not their tool: it says how often they told nothing new

	begun trace.ID // the trace of an agent that has none
}

// Cycle does one step for the agent: what Plan says, up to and including its durable record. It returns the step.
func (n *Node) Cycle(ctx context.Context, id AgentID) (step Step, err error) {
	n.unlocked(func() { step, err = n.cycle(ctx, id) })
	return step, err
}

func (n *Node) cycle(ctx context.Context, id AgentID) (Step, error) {
	w, err := n.begin(ctx, id)
	if err != nil {
		return nil, err
	}
	w.stop = ctx.Done()
	step, err := w.observedCycle(ctx)
	if err == nil {
		err = w.flush(ctx)
	}
	w.unmark()
	n.keep(w)
	return step, err
}

// RunAgent works on the agent until there is nothing to do for it here: it sleeps, waits, has ended, or needs another
// node. It returns why. When ctx ends, nothing more begins, the effect under way is cut off, and what is known of it
// recorded: its outcome, or that it is in doubt. The error wraps ErrConflict where another node has the agent, also if
// that took it over meanwhile.
func (n *Node) RunAgent(ctx context.Context, id AgentID) (Idle, error) {
	c, err := n.claim(ctx, id)
	if err != nil {
		return Idle{}, err
	}
	defer n.release(id)
	var idle Idle
	n.unlocked(func() { idle, _, err = n.runClaimed(ctx, ctx.Done(), id, c, nil) })
	if err == nil && idle.Is(phase.RestTurn) { // nobody else has a turn here: it was lost
		err = fmt.Errorf("run agent %s: another node has taken it over: %w", id.Short(), ErrConflict)
	}
	return idle, err
}

// unlocked works on an agent in a goroutine that is locked to no thread, which the caller's may be: a program's main
// one, or one that C called. An advisor that keeps functions under way (package durable) switches to them, and the Go
// runtime gives up where one side is locked.
func (n *Node) unlocked(do func()) {
	keeps := false
	for _, adv := range n.Advisors {
		_, releaser := adv.(Releaser)
		keeps = keeps || releaser
	}
	if !keeps {
		do()
		return
	}
	done := make(chan bool, 1)
	go func() {
		returned := false
		defer func() { done <- returned }()
		do()
		returned = true
	}()
	if !<-done {
		runtime.Goexit() // as it did
	}
}

// release tells the advisors that work on these agents, or on all, has stopped.
func (n *Node) release(ids ...AgentID) {
	for _, adv := range n.Advisors {
		if r, ok := adv.(Releaser); ok {
			r.Release(ids...)
		}
	}
}

// runClaimed works on an agent under a claim, until over says after a number of cycles that others have their turn
// (nil: never), and gives the claim up. It returns why it is idle, and with which heads. Once stop is closed nothing
// more begins; what is under way goes on until ctx ends.
func (n *Node) runClaimed(ctx context.Context, stop <-chan struct{}, id AgentID, c *renewal,
	over func(cycles int) bool) (
	idle Idle, heads []Hash, err error,
) {
	returned := false
	defer func() {
		if !returned { // a tool or an advisor ended this goroutine: a claim renewed for ever would keep everybody away
			c.abandon()
		}
	}()
	idle, heads, err = n.runHeld(ctx, stop, id, c, false, over)
	returned = true
	return idle, heads, err
}

// runHeld is runClaimed for what comes back.
func (n *Node) runHeld(ctx context.Context, stop <-chan struct{}, id AgentID, c *renewal, vigil bool,
	over func(cycles int) bool) (
	idle Idle, heads []Hash, err error,
) {
	var w *work
	was := n.refusal(ctx, id)
	r := was.why
	if r == nil {
		if w, err = n.begin(ctx, id); errors.As(err, &r) && r.Predicate == predTrusted.Name {
			was.why = r
			n.refusals.set(id, was, maxRefusals)
		}
	}
	// only somebody's word stands for its past, and it does not count here
	if r != nil && r.Predicate == predTrusted.Name {
		idle, now := heldBack(r), time.Now()
		idle.Until = TimeOf(now.Add(heldLook))
		return idle, nil, c.release(ctx, nil, idle.Until)
	}
	if err != nil {
		return Idle{}, nil, errors.Join(err, c.release(ctx, nil, TimeOf(time.Now().Add(loadRetry))))
	}
	w.claim, w.stop, w.vigil = c, stop, vigil
	n.enter(id)
	func() {
		defer n.leave(id, w)
		idle, err = w.run(ctx, over)
		w.unmark()
		n.keep(w)
	}()
	seen := w.heads
	if err != nil {
		seen = nil // what it came to is not known: the entries say when to look, and this node rests it by itself
	}
	if !w.hushed || w.wrote { // else its line is as it was
		err = errors.Join(err, n.index(ctx, w))
	}
	due := w.due(idle)
	if err == nil && over != nil && w.hushed && !w.wrote {
		due = n.keepVigil(id, due)
	}
	return idle, w.heads, errors.Join(err, c.release(ctx, seen, due))
}

// due is when a node should look at the agent again. What this one cannot do, does not trust or must not touch, another
// may: it never hides the agent from others. This one remembers by itself that it is at rest.
func (w *work) due(idle Idle) Time {
	if w.a == nil {
		return 0
	}
	due, step := w.polled().fold.dueIn(w.n.placed.Load(), time.Now())
	if _, tells := step.(announceStep); tells && w.announced {
		return idle.Until // saying it again would add nothing
	}
	return earliest(idle.Until, due)
}

// heldLook is how long an agent that does not count here is left alone.
const heldLook = time.Minute

// loadRetry is how long an agent that cannot be worked on is left alone.
const loadRetry = 5 * time.Second

// run cycles until idle, or until another node has the agent.
func (w *work) run(ctx context.Context, over func(cycles int) bool) (Idle, error) {
	yields := w.yields
	for {
		if err := ctx.Err(); err != nil {
			return idleFor(Reason{Kind: phase.RestStopping, Until: TimeOf(time.Now())}), errors.Join(err, w.flush(ctx))
		}
		if w.stopping() {
			return idleFor(Reason{Kind: phase.RestStopping, Until: TimeOf(time.Now())}), w.flush(ctx)
		}
		mine := !w.claim.gone(ctx, w.yields > yields)
		if yields = w.yields; !mine || w.vigil && w.wrote || (over != nil && over(w.cycles)) {
			return idleFor(Reason{Kind: phase.RestTurn, Until: TimeOf(time.Now())}), w.flush(ctx)
		}
		step, err := w.observedCycle(ctx)
		if err != nil {
			return Idle{}, errors.Join(err, w.flush(ctx))
		}
		switch s := step.(type) {
		case Idle:
			yields := w.yields
			if err := w.flush(ctx); err != nil || w.yields == yields {
				return s, err
			} // else others wrote meanwhile, and there may be something to do after all
		case announceStep:
			return idleFor(Reason{Kind: phase.RestEnded}), nil
		case flagStep, happenedStep, sitStep, rouseStep, consultStep, decideStep, performStep, reconcileStep,
			lapseStep, escalateStep, finishStep:
		}
	}
}

// cycle does one step.
func (w *work) cycle(ctx context.Context) (Step, error) {
	w.cycles++
	if w.behind != nil {
		return *w.behind, nil
	}
	if err := w.look(ctx); err != nil {
		return nil, err
	}
	now := time.Now()
	if err := w.n.trust().Counts(w.a); err != nil {
		idle := heldBack(err)
		idle.Until = TimeOf(now.Add(heldLook)) // whom a node trusts may change without an entry
		return idle, nil
	}
	if idle, err := w.lacks(ctx); err != nil {
		return nil, err
	} else if idle != nil {
		return *idle, nil
	}
	c := w.n.capabilities(w.claim != nil, nil)
	if left, err := w.left(ctx); err != nil {
		return nil, err
	} else if left {
		c.Seated = true
	}
	step := Plan(w.polled(), c, now)
	if w.vigil && !polls(step) {
		step = idleFor(Reason{Kind: phase.RestTurn, Until: TimeOf(now)})
	}
	return w.take(ctx, step, now)
}

// take carries out a step of the plan. It returns the step that was taken: the agent may be idle after all.
func (w *work) take(ctx context.Context, step Step, now time.Time) (Step, error) {
	switch s := step.(type) {
	case Idle:
		w.copied = s.Is(phase.RestGiven, phase.RestDisputed, phase.RestElsewhere)
		if s.Is(phase.RestShallow) { // its past may arrive without an entry on top
			s.Until = earliest(s.Until, TimeOf(now.Add(heldLook)))
		}
		return s, w.tellLack(&s)
	case flagStep:
		return s, w.flag(ctx, s)
	case happenedStep:
		return s, w.correct(ctx, s)
	case sitStep:
		return s, w.sit(ctx, s)
	case rouseStep:
		return w.rouse(ctx, s, now)
	case finishStep:
		return s, w.addFlushed(ctx, Decision{Action: s.End, Verdict: w.n.runtimeVerdict("deadline")})
	case lapseStep:
		return s, w.add(w.inTheirWords(s))
	case escalateStep:
		return s, w.escalate(ctx, s)
	case consultStep:
		return s, w.consult(ctx, s)
	case decideStep:
		return s, w.decideAll(ctx, s, now)
	case performStep:
		return s, w.performOpen(ctx, s, now)
	case reconcileStep:
		return s, w.reconcileOpen(ctx, &s.Open, now)
	case announceStep:
		if err := w.flush(ctx); err != nil {
			return s, err
		}
		w.announced = true
		return s, w.n.announce(ctx, w.a, &s)
	}
	return step, fmt.Errorf("plan for agent %s: unknown step %T", w.a.ID().Short(), step)
}

// performOpen performs effects that were decided before, side by side as when they were, if they still may be here. An
// attempt may have been made; else policy decides about another.
func (w *work) performOpen(ctx context.Context, s performStep, now time.Time) error {
	var effects []effect
	var busy []Hash
	for next := true; next && len(effects) < w.n.parallel(); {
		why, err := w.refuses(ctx, &s.Open, now)
		switch {
		case err != nil:
			return err
		case why != "" && len(effects) > 0:
			return w.perform(ctx, effects) // it is refused when these have ended
		case why != "":
			return w.addFlushed(ctx, Outcome{Decision: s.Open.Decision, Signal: Silent, Note: why})
		}
		effects, busy = append(effects, effect{open: s.Open, again: s.Again}), append(busy, s.Open.Decision)
		c := w.n.capabilities(w.claim != nil, busy)
		c.quiet = true // only an effect is taken up, not why there is none
		s, next = Plan(w.a, c, now).(performStep)
	}
	return w.perform(ctx, effects)
}

// reconcileOpen asks the tool whether an effect happened, if this node may.
func (w *work) reconcileOpen(ctx context.Context, o *Open, now time.Time) error {
	why, err := w.refuses(ctx, o, now)
	if err != nil {
		return err
	}
	if why != "" {
		return w.doubt(ctx, o, errors.New(why))
	}
	if pids := w.n.survivors(o); len(pids) > 0 { // it may still happen after the look
		return w.doubt(ctx, o, errors.New("its node is gone or stands still, and "+atWork(pids)))
	}
	return w.findOut(ctx, *o, errUnsaid)
}

// lacks is the idle step of a node that lacks something to work on the agent at all; nil if it lacks nothing.
func (w *work) lacks(ctx context.Context) (*Idle, error) {
	if idle := w.n.lacksSchema(w.a.fold); idle != nil {
		return idle, nil
	}
	return w.n.lacksRecord(ctx, w.a)
}

// rouse wakes the agent unless policy forbids it: that no rule permits it does not keep an agent asleep. A refusal is
// no entry: it would be one at every look. A question is asked once.
func (w *work) rouse(ctx context.Context, s rouseStep, now time.Time) (Step, error) {
	v := w.n.verdict(w.a, Request{Action: s.Wake, Node: w.n.Key.Key()}, new(Decision), now)
	if v.Answer == Deny && v.unruled() {
		v = w.n.runtimeVerdict("wake")
	}
	if v.Answer == Deny {
		return sleepsOn(&v, now), w.flush(ctx)
	}
	if err := w.addAt(now, Decision{Action: s.Wake, Verdict: v}); err != nil {
		return s, err
	}
	return s, w.flush(ctx)
}

// inTheirWords is the outcome of what lapsed, with what the person who refused it said, so that whoever reads the
// outcome reads that.
func (w *work) inTheirWords(s lapseStep) Outcome {
	o := s.Outcome
	e := w.a.recent(s.Refusal)
	if e == nil {
		return o
	}
	if ev, ok := e.content.(Event); ok {
		if a, ok := ev.Notice.(Approval); ok && a.Note != "" {
			o.Note += ": " + a.Note
		}
	}
	return o
}

// escalate records that a question goes to more people.
func (w *work) escalate(ctx context.Context, s escalateStep) error {
	data, err := DataOf(map[string]any{"decision": s.Ask.String(), "asked": s.Asked})
	if err != nil {
		return err
	}
	return w.addFlushed(ctx, Event{Name: "escalated", Data: data, By: runtimeName,
		Notice: Escalated{Decision: s.Ask, Stage: s.Stage}})
}

// trace begins one for an agent that was told nothing since entries have traces; else it is none, and memory says
// which.
func (w *work) trace() trace.ID {
	if !w.a.fold.Trace.IsZero() {
		return trace.ID{}
	}
	if w.begun.IsZero() {
		w.begun = trace.New()
	}
	return w.begun
}
