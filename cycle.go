package perdure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// work is one node's work on one agent: the agent with the entries written so far, and those of them that are not durable yet.
type work struct {
	n       *Node
	a       *Agent // with pending folded
	heads   []Hash // the heads in the store
	pending []*Entry
	outcome int // how many of pending end with the last outcome: these must not be lost
	claimed bool
	cycles  int
	yields  int             // how often others were first
	looked  time.Time       // when it was last certain that the heads are the heads
	stop    <-chan struct{} // closed when this node is to begin nothing more; nil: never
	copied  bool            // its seat is needed, and elsewhere
	behind  *Idle           // why nothing is done for it: this copy is an old one

	announced bool // its relatives have been told of its end
	attention attention

	base   *Agent // without what is pending
	hushed bool   // a poll told nothing new and was not recorded
	wrote  bool   // something was

	begun TraceID // the trace of an agent that has none
}

// Cycle does one step for the agent: what Plan says, up to and including its durable record. It returns the step.
func (n *Node) Cycle(ctx context.Context, id AgentID) (Step, error) {
	w, err := n.begin(ctx, id)
	if err != nil {
		return nil, err
	}
	w.stop = ctx.Done()
	step, err := w.cycle(ctx)
	if err == nil {
		err = w.flush(ctx)
	}
	n.keep(w)
	return step, err
}

// RunAgent works on the agent until there is nothing to do for it here: it sleeps, waits, has ended, or needs another node. It returns
// why. When ctx ends, nothing more begins, the effect under way is cut off, and what is known of it recorded: its outcome, or that it is in doubt.
func (n *Node) RunAgent(ctx context.Context, id AgentID) (Idle, error) {
	c, err := n.claim(ctx, id)
	if err != nil {
		return Idle{}, err
	}
	defer n.release(id)
	idle, _, err := n.runClaimed(ctx, ctx.Done(), id, c, nil)
	return idle, err
}

// release tells the advisors that work on these agents, or on all, has stopped.
func (n *Node) release(ids ...AgentID) {
	for _, adv := range n.Advisors {
		if r, ok := adv.(Releaser); ok {
			r.Release(ids...)
		}
	}
}

// runClaimed works on an agent under a claim, until over says after a number of cycles that others have their turn (nil: never), and gives the
// claim up. It returns why it is idle, and with which heads. Once stop is closed nothing more begins; what is under way goes on until ctx ends.
func (n *Node) runClaimed(ctx context.Context, stop <-chan struct{}, id AgentID, c *held, over func(cycles int) bool) (
	idle Idle, heads []Hash, err error,
) {
	w, err := n.begin(ctx, id)
	var r *Rejection
	if errors.As(err, &r) && r.Predicate == predTrusted.Name { // only somebody's word stands for its past, and it does not count here
		idle, now := heldBack(r), time.Now()
		idle.Until = TimeOf(now.Add(heldLook))
		return idle, nil, c.release(ctx, nil, idle.Until)
	}
	if err != nil {
		return Idle{}, nil, errors.Join(err, c.release(ctx, nil, TimeOf(time.Now().Add(loadRetry))))
	}
	w.claimed, w.stop = c != nil, stop
	n.enter(id)
	idle, err = w.run(ctx, over)
	n.keep(w)
	n.leave(id, w, err)
	seen := w.heads
	if err != nil {
		seen = nil // what it came to is not known: the entries say when to look, and this node rests it by itself
	}
	if !w.hushed || w.wrote { // else its line is as it was
		err = errors.Join(err, n.index(ctx, w))
	}
	return idle, w.heads, errors.Join(err, c.release(ctx, seen, w.due(idle)))
}

// due is when a node should look at the agent again. What this one cannot do, does not trust or must not touch, another may: it never
// hides the agent from others. This one remembers by itself that it is at rest.
func (w *work) due(idle Idle) Time {
	if w.a == nil {
		return 0
	}
	now, f := time.Now(), w.polled().fold
	if _, told := f.plan(&Capabilities{All: true, quiet: true}, now).(Announce); told && w.announced {
		return idle.Until // saying it again would add nothing
	}
	return earliest(idle.Until, f.Due(now))
}

// heldLook is how long an agent that does not count here is left alone.
const heldLook = time.Minute

// loadRetry is how long an agent that cannot be worked on is left alone.
const loadRetry = 5 * time.Second

// run cycles until idle.
func (w *work) run(ctx context.Context, over func(cycles int) bool) (Idle, error) {
	for {
		if err := ctx.Err(); err != nil {
			return Idle{Until: TimeOf(time.Now()), Why: "this node is stopping"}, errors.Join(err, w.flush(ctx))
		}
		if w.stopping() {
			return Idle{Until: TimeOf(time.Now()), Why: "this node is stopping"}, w.flush(ctx)
		}
		if over != nil && over(w.cycles) {
			return Idle{Until: TimeOf(time.Now()), Why: "others have their turn"}, w.flush(ctx)
		}
		step, err := w.cycle(ctx)
		if err != nil {
			return Idle{}, errors.Join(err, w.flush(ctx))
		}
		switch s := step.(type) {
		case Idle:
			yields := w.yields
			if err := w.flush(ctx); err != nil || w.yields == yields {
				return s, err
			} // else others wrote meanwhile, and there may be something to do after all
		case Announce:
			return Idle{Why: "it has ended"}, nil
		case Flag, Sit, Rouse, Consult, Decide, Perform, Reconcile, Lapse, Escalate, Finish:
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
	step := Plan(w.polled(), w.n.capabilities(w.claimed, nil), now)
	switch s := step.(type) {
	case Idle:
		w.copied = !s.Seat.IsZero()
		if s.Shallow { // its past may arrive without an entry on top
			s.Until = earliest(s.Until, TimeOf(now.Add(heldLook)))
		}
		return s, w.tellLack(&s)
	case Flag:
		return s, w.flag(ctx, s)
	case Sit:
		return s, w.sit(ctx, s)
	case Rouse:
		return w.rouse(ctx, s, now)
	case Finish:
		return s, w.addFlushed(ctx, Decision{Action: s.End, Verdict: w.n.runtimeVerdict("deadline")})
	case Lapse:
		return s, w.add(w.inTheirWords(s))
	case Escalate:
		return s, w.escalate(ctx, s)
	case Consult:
		return s, w.consult(ctx, s)
	case Decide:
		return s, w.decideAll(ctx, s, now)
	case Perform:
		why, err := w.refuses(ctx, &s.Open, now)
		if err != nil {
			return s, err
		}
		if why != "" { // an attempt may have been made; policy decides about another
			return s, w.addFlushed(ctx, Outcome{Decision: s.Open.Decision, Signal: Silent, Note: why})
		}
		return s, w.perform(ctx, []effect{{open: s.Open, again: s.Again}})
	case Reconcile:
		why, err := w.refuses(ctx, &s.Open, now)
		if err != nil {
			return s, err
		}
		if why != "" {
			return s, w.doubt(ctx, &s.Open, errors.New(why))
		}
		return s, w.reconcile(ctx, s.Open)
	case Announce:
		if err := w.flush(ctx); err != nil {
			return s, err
		}
		w.announced = true
		return s, w.n.announce(ctx, w.a, &s)
	}
	return step, fmt.Errorf("plan for agent %s: unknown step %T", w.a.ID().Short(), step)
}

// lacks is the idle step of a node that lacks something to work on the agent at all; nil if it lacks nothing.
func (w *work) lacks(ctx context.Context) (*Idle, error) {
	if idle := w.n.lacksSchema(w.a.fold); idle != nil {
		return idle, nil
	}
	return w.n.lacksRecord(ctx, w.a)
}

// tellLack records that this node has no tool or advisor that the agent needs: once for each, however often it looks.
func (w *work) tellLack(idle *Idle) error {
	note := ""
	if name, advisor := strings.CutPrefix(idle.Cannot, advisorTool("")); advisor && w.n.Advisors[name] == nil {
		note = strings.TrimSpace("this node has no advisor " + name)
	} else if !advisor && idle.Cannot != "" && w.n.tool(idle.Cannot) == nil {
		note = "this node has no tool " + idle.Cannot
	}
	told := func(i Incapability) bool {
		return i.Missing && i.Node == w.n.Key.Key() && i.What == idle.Cannot && i.Note == note
	}
	// Where so many cannot, one more says nothing, and would push another out.
	if f := w.a.fold; note == "" || len(f.Incapable) >= maxIncapable || slices.ContainsFunc(f.Incapable, told) {
		return nil
	}
	return w.add(Event{Name: "incapable", By: "runtime", Notice: Lacks{What: idle.Cannot, Note: note}})
}

// rouse wakes the agent unless policy forbids it: that no rule permits it does not keep an agent asleep. A refusal is no entry: it would be one
// at every look. A question is asked once.
func (w *work) rouse(ctx context.Context, s Rouse, now time.Time) (Step, error) {
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

// inTheirWords is the outcome of what lapsed, with what the person who refused it said, so that whoever reads the outcome reads that.
func (w *work) inTheirWords(s Lapse) Outcome {
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

// addFlushed adds an entry that is complete in itself and makes it durable.
func (w *work) addFlushed(ctx context.Context, b Body) error {
	if err := w.add(b); err != nil {
		return err
	}
	return w.flush(ctx)
}

// escalate records that a question goes to more people.
func (w *work) escalate(ctx context.Context, s Escalate) error {
	data, err := DataOf(map[string]any{"decision": s.Ask.String(), "asked": s.Asked})
	if err != nil {
		return err
	}
	return w.addFlushed(ctx, Event{Name: "escalated", Data: data, By: "runtime", Notice: Escalated{Decision: s.Ask, Stage: s.Stage}})
}

// add writes an entry after what is pending and folds it. It is not durable yet.
func (w *work) add(b Body) error { return w.addAt(time.Now(), b) }

// trace begins one for an agent that was told nothing since entries have traces; else it is none, and memory says which.
func (w *work) trace() TraceID {
	if !w.a.fold.Trace.IsZero() {
		return TraceID{}
	}
	if w.begun.IsZero() {
		w.begun = newTrace()
	}
	return w.begun
}

// addAt is add for what was decided at a moment: the entry bears the time its facts were true at.
func (w *work) addAt(now time.Time, b Body) error {
	d := Draft{Body: b, Policy: w.n.PolicyHash, Trace: w.trace()}
	joins, joined, err := w.n.Key.join(w.a, now, d)
	var e *Entry
	var next *Agent
	if err == nil {
		e, next, err = w.n.Key.extend(joined, now, d.on(joined, len(joins)))
	}
	if err == nil {
		err = w.n.guard(e)
	}
	if err != nil {
		return fmt.Errorf("write %s for agent %s: %w", b.kind(), w.a.ID().Short(), err)
	}
	if len(w.pending) == 0 {
		w.base = w.a
	}
	w.a = next
	w.pending = append(append(w.pending, joins...), e)
	if e.Kind == KindOutcome {
		w.outcome = len(w.pending)
	}
	return nil
}

// flush makes what is pending durable. If another node was first, the outcomes among it are recorded all the same, the rest did not
// happen, and the work goes on with what the other node wrote. It is done even if ctx has ended. Where it cannot be done, as on a full disk,
// outcomes are kept and it is tried again until ctx ends.
func (w *work) flush(ctx context.Context) error {
	if len(w.pending) == 0 || w.hush() {
		return nil
	}
	w.wrote = true
	lasting := context.WithoutCancel(ctx)
	if f := w.a.fold; f.Count-w.n.trust().vouchedAt(w.a) >= w.n.snapshotEvery() && len(f.doubled) == 0 { // others' snapshots may be no use here
		if err := w.add(Snapshot{Fold: *f}); err != nil && !errors.Is(err, ErrRejected) { // too large to be written down: it is folded from before
			return err
		}
	}
	last := w.pending[len(w.pending)-1]
	if err := w.n.Key.seal(last); err != nil {
		return err
	}
	id := w.a.ID()
	err := w.insist(ctx, w.outcome > 0, func() error { return w.n.Store.Append(lasting, id, w.heads, w.pending...) })
	if err == nil {
		w.heads, w.pending, w.outcome, w.looked = []Hash{last.Name}, w.pending[:0], 0, time.Now()
		w.n.see(w.a)
		return nil
	}
	if !errors.Is(err, ErrConflict) {
		return fmt.Errorf("append to agent %s: %w", id.Short(), err)
	}
	return w.yield(ctx, id)
}

// yield lets another node's entries go first: outcomes are put beside them, the rest is dropped.
func (w *work) yield(ctx context.Context, id AgentID) error {
	w.yields++
	advice, turns, last := w.costly(), w.a.fold.Turns-1, w.pending[len(w.pending)-1].Name
	done, whole := w.pending[:w.outcome], w.outcome == len(w.pending) || (w.outcome == len(w.pending)-1 && w.pending[w.outcome].Kind == KindSnapshot)
	lasting, pending := context.WithoutCancel(ctx), w.pending
	if whole = whole && !w.tooLate(lasting, id); len(done) > 0 && whole {
		if err := w.insist(ctx, true, func() error { return w.n.Store.Put(lasting, id, pending...) }); err != nil {
			return fmt.Errorf("put outcome to agent %s: %w", id.Short(), err)
		}
	}
	if whole {
		done = nil
	}
	if err := w.insist(ctx, len(done) > 0, func() error { return w.reload(lasting, id) }); err != nil {
		return err
	}
	// What is left are outcomes of decisions that are durable already. One whose decision has an outcome by now is there: the append was
	// done after all, and its answer lost.
	var lost []Draft
	for _, e := range done {
		if o, ok := e.content.(Outcome); ok && w.unanswered(o.Decision) {
			lost = append(lost, Draft{Body: o, Policy: e.Policy})
		}
	}
	if advice != nil && !w.a.holds(last) {
		lost = append(lost, w.late(advice, turns)...)
	}
	if len(lost) == 0 {
		return nil
	}
	entries, next, err := w.n.Key.Commit(w.a, time.Now(), lost...)
	if err != nil {
		return err
	}
	if err := w.insist(ctx, true, func() error { return w.n.Store.Put(lasting, id, entries...) }); err != nil {
		return fmt.Errorf("put outcome to agent %s: %w", id.Short(), err)
	}
	w.a, w.heads = next, next.Heads()
	return w.reload(lasting, id)
}

// tooLate reports whether what is pending was written on what has been collected since: put beside it, it would keep the agent from being folded.
func (w *work) tooLate(ctx context.Context, id AgentID) bool {
	a, err := w.n.load(ctx, id)
	if err != nil {
		return false
	}
	if _, err := a.Apply(w.pending...); !errors.Is(err, ErrBehind) {
		return false
	}
	return Mergeable(ctx, w.n.Store, id, func(yield func(*Entry, error) bool) {
		for _, e := range w.pending {
			if !yield(e, nil) {
				return
			}
		}
	}) != nil
}

// costly is the advice among what is pending, if it cost something to get.
func (w *work) costly() *Entry {
	if w.instantAdvisor() {
		return nil
	}
	for _, e := range w.pending {
		if e.Kind == KindAdvice {
			return e
		}
	}
	return nil
}

// late is what to write of advice that was asked for after so many turns and that others came before. If all they did was to tell the agent something, it stands: the advisor sees that
// next time. If the agent has got other advice or ended meanwhile, only what it cost is recorded.
func (w *work) late(e *Entry, turns int64) []Draft {
	a, _ := e.content.(Advice)
	if f := w.a.fold; f.Turns != turns || f.Ended != nil {
		if a.Usage == nil {
			return nil
		}
		a = Advice{Advisor: a.Advisor, Model: a.Model, Usage: a.Usage, Signal: Partial, Text: "another node was first: what it proposed is not taken up"}
	}
	return []Draft{{Body: a, Policy: e.Policy}}
}

// reload reads the agent anew.
func (w *work) reload(ctx context.Context, id AgentID) error {
	a, err := w.n.load(ctx, id)
	if err != nil {
		return err
	}
	w.a, w.heads, w.pending, w.outcome, w.looked = a, a.Heads(), nil, 0, time.Now()
	w.n.mu.Lock()
	delete(w.n.rehearsals, id) // it may have been given what was not written
	w.n.mu.Unlock()
	return nil
}

// consult asks the advisor. What is pending is made durable first, unless the advisor is instant.
func (w *work) consult(ctx context.Context, s Consult) error {
	adv := w.n.Advisors[s.Advisor]
	if adv == nil {
		return fmt.Errorf("agent %s asks for advisor %q: %w", w.a.ID().Short(), s.Advisor, ErrIncapable)
	}
	if !instant(adv) {
		if err := w.flush(ctx); err != nil {
			return err
		}
	}
	var seen []Hash
	for _, m := range w.a.fold.Inbox {
		seen = append(seen, m.Event)
	}
	advice, err := w.ask(ctx, adv)
	if err != nil {
		return err
	}
	advice.Advisor = s.Advisor
	if advice.Signal == 0 && advice.Seen == nil { // an advisor that takes events one by one says itself which it has taken
		advice.Seen = seen
	}
	if err := w.addAdvice(&advice); err != nil {
		return err
	}
	if !instant(adv) || advice.Signal != 0 {
		return w.flush(ctx)
	}
	return nil
}

// ask asks an advisor. What keeps it from answering becomes the signal of the advice: a person who pauses or ends the agent meanwhile cuts it
// off. An error says that this node is stopping.
func (w *work) ask(ctx context.Context, adv Advisor) (Advice, error) {
	a := *w.a
	a.epoch = a.fold.epochAt(*w.n.placed.Load())
	start := time.Now()
	advice, err, cause := w.watchAdvice(ctx, adv, &a)
	var still stillness
	switch {
	case err == nil:
		advice.Basis, advice.Epoch = w.a.remember(advice.Basis), a.epoch
		advice.Apart = a.epoch == 0 && len(a.fold.Seats) > 0
	case ctx.Err() != nil:
		return Advice{}, ctx.Err()
	case errors.As(cause, &still):
		advice = Advice{Signal: Denied, Text: "it was cut off: " + still.Error()}
	case errors.Is(err, ErrIncapable):
		advice = Advice{Signal: Incapable, Text: err.Error()}
	default:
		advice = Advice{Signal: Failed, Text: err.Error()}
	}
	if took := time.Since(start); took >= time.Millisecond || !instant(adv) {
		advice.Took = max(took.Microseconds(), 1)
	}
	return advice, nil
}

// watchAdvice asks an advisor, cuts it off when it must stop, and says why it did. One that is instant needs no watch.
func (w *work) watchAdvice(ctx context.Context, adv Advisor, a *Agent) (advice Advice, err, cause error) {
	trace, head := a.fold.Trace, a.fold.Heads[0].Name
	if instant(adv) {
		advice, err = w.n.advise(traced(ctx, trace, head), context.Background(), adv, a)
		return advice, err, nil
	}
	call := newWatched(ctx)
	t := w.attend(ctx, append(w.attention.calls[:0], call))
	advice, err = w.n.advise(traced(call.ctx, trace, head), ctx, adv, a)
	cause = context.Cause(call.ctx)
	t.end()
	return advice, err, cause
}

// addAdvice records advice; advice that cannot be written as it is, is recorded as failed, with what it cost.
func (w *work) addAdvice(a *Advice) error {
	err := w.add(*a)
	if !unrecordable(err) {
		return err
	}
	*a = Advice{Advisor: a.Advisor, Model: a.Model, Usage: a.Usage, Signal: Failed, Text: "its advice cannot be recorded: " + err.Error()}
	if err = w.add(*a); unrecordable(err) { // even its usage or name is wrong
		*a = Advice{Advisor: a.Advisor, Signal: Failed, Text: "its advice cannot be recorded"}
		err = w.add(*a)
	}
	return err
}

// advise asks an advisor and turns a panic into an error. One that does not return when this node stops is left behind.
func (n *Node) advise(ctx, node context.Context, adv Advisor, a *Agent) (Advice, error) {
	call := func() (advice Advice, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = n.panicked("advisor", a.ID(), p)
			}
		}()
		return adv.Advise(ctx, a)
	}
	advice, err, returned := leaving(node, call)
	if !returned {
		n.Log.Error("advisor ignores its context: it is left behind", "advisor", a.fold.Intent.Advisor, "agent", a.ID().Short())
		return Advice{}, errLeft
	}
	return advice, err
}

func instant(adv Advisor) bool {
	i, ok := adv.(Instant)
	return ok && i.Instant()
}

// decideAll asks policy about a proposal, and about those after it that may run beside it; then performs what was allowed.
func (w *work) decideAll(ctx context.Context, d Decide, now time.Time) error {
	var effects []effect
	var busy []Hash
	for {
		eff, err := w.decide(ctx, d, now)
		if err != nil {
			return err
		}
		if eff == nil {
			break // decided, and nothing to perform: the agent itself changed
		}
		effects = append(effects, *eff)
		busy = append(busy, eff.open.Decision)
		if len(effects) >= w.n.parallel() {
			break
		}
		c := w.n.capabilities(w.claimed, busy)
		c.quiet = true // only a decision is taken up, not why there is none
		next, ok := Plan(w.a, c, now).(Decide)
		if !ok || !parallel(next.Action) {
			break
		}
		d = next
	}
	if len(effects) == 0 {
		return w.flush(ctx)
	}
	return w.perform(ctx, effects)
}

// decide asks policy about one action and records the decision. It returns the effect to perform, if one was allowed.
func (w *work) decide(ctx context.Context, d Decide, now time.Time) (*effect, error) {
	for _, ev := range w.n.enclose(w.a.fold) {
		if err := w.addAt(now, ev); err != nil {
			return nil, err
		}
	}
	spec, _ := w.n.spec(toolOf(d.Action))
	req := Request{Action: d.Action, Approvals: len(d.Approvals), Node: w.n.Key.Key()}
	dec := Decision{Advice: d.Advice, Index: d.Index, Approvals: slices.Concat(d.Approvals, d.Ignored), Key: d.Key}
	// What was approved is said again, and what is no longer offered: the advice of a question may be gone before its answer comes.
	if len(d.Approvals) > 0 || !w.a.fold.offers(d.Advice, d.Index) {
		dec.Action = d.Action
	}
	switch x := d.Action.(type) {
	case Execute:
		limit := spec.Deadline
		if limit == 0 {
			limit = defaultDeadline
		}
		if x.Deadline > 0 {
			limit = millis(x.Deadline)
		}
		if d.Limit > 0 {
			limit = millis(d.Limit)
		}
		dec.Effect, dec.Deadline = spec.Effect, TimeOf(now.Add(limit))
		if dec.Effect == 0 {
			dec.Effect = Once
		}
		if dec.Effect == Idempotent && dec.Key.IsZero() {
			dec.Key = idempotencyKey(w.a.fold, d)
		}
		reserve := spec.Reserve.Plus(Spend{Calls: 1})
		dec.Reserve = &reserve
		req.Effect = dec.Effect
	case Delegate:
		dec.Effect, dec.Deadline = Idempotent, TimeOf(now.Add(defaultDeadline))
	case Mutate, Sleep, Wake, End:
	}
	r, err := w.n.rehearsal(ctx, w.a)
	if err != nil {
		return nil, err
	}
	switch why := r.refuse(d.Action, &spec); {
	case d.Outdated != "":
		dec.Verdict = Verdict{Rules: []string{RuleOutdated}, Reason: d.Outdated}
	case why != "":
		dec.Verdict = Verdict{Rules: []string{"runtime.rehearsal"}, Reason: why + "; a live fork acts for itself"}
	case r.has(d.Action): // nothing happens outside, so there is nothing to permit, to pay for or to be in doubt about
		dec.Verdict = Verdict{Answer: Allow, Rules: []string{RuleRecord}, Reason: "it is answered from the record of " + r.parent.Short()}
		dec.Effect, dec.Reserve, dec.Key = Read, nil, Hash{}
	default:
		dec.Verdict = w.answered(w.n.verdict(w.a, req, &dec, now), d.Approvals, now)
	}
	if dec.Verdict.Answer == Allow {
		if err := w.attachChild(d, &dec, now); err != nil {
			dec.Verdict = Verdict{Answer: Deny, Rules: []string{"runtime.delegate"}, Reason: err.Error()}
		}
	}
	if dec.Verdict.Answer != Deny && !w.a.fold.fits(d.Action) {
		dec.Verdict = Verdict{Answer: Deny, Rules: []string{"runtime.size"}, Reason: "its arguments and those of what is under way are too large together: pass large things by name"}
		dec.Child = nil
	}
	if dec.Verdict.Answer != Allow {
		dec.Reserve, dec.Deadline = nil, 0
	}
	if err := w.addAt(now, dec); err != nil {
		return nil, err
	}
	if o := slices.IndexFunc(w.a.fold.Open, func(o Open) bool { return o.Decision == w.pending[len(w.pending)-1].Name }); o >= 0 {
		return &effect{open: w.a.fold.Open[o]}, nil
	}
	return nil, nil
}

// longestLimit is the most time an effect is given. What an advisor asks for beyond it must not overflow into the past.
const longestLimit = 10 * 365 * 24 * time.Hour

// millis is a number of milliseconds, up to longestLimit.
func millis(n int64) time.Duration {
	return time.Duration(min(n, longestLimit.Milliseconds())) * time.Millisecond
}

// attachChild puts the child's genesis into the decision to delegate.
func (w *work) attachChild(d Decide, dec *Decision, now time.Time) error {
	del, ok := d.Action.(Delegate)
	if !ok {
		return nil
	}
	g, err := w.a.fold.ChildGenesis(&del, d.Advice)
	if err != nil {
		return err
	}
	g.Seat = *w.n.placed.Load() // where the parent's is
	e, err := w.n.Key.genesis(g, now, w.a.fold.Trace)
	if err == nil {
		err = w.n.Key.seal(e)
	}
	if err != nil {
		return err
	}
	dec.Child, err = e.MarshalBinary()
	return err
}

// idempotencyKey is the key of an effect that may be performed before its decision is durable: after a crash the same proposal at the
// same turn has the same key again.
func idempotencyKey(f *Fold, d Decide) Hash {
	b, err := keyCodec.Append(nil, &keyRecord{Agent: f.Agent, Turn: f.Turns, Index: d.Index, Action: d.Action})
	if err != nil {
		return Hash{}
	}
	return HashOf(b)
}
