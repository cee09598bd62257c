package perdure

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Step is what a node should do next for an agent: nothing (Idle), or something that Doing describes.
type Step interface {
	// Doing says what the step is, for people and programs that look at an agent and do not run it.
	Doing() Doing
}

// Doing describes a step. What says which of the other fields are set.
type Doing struct {
	What     StepKind
	Action   Action
	Advisor  string // none: the node's own
	Asked    []string
	Decision Hash
}

// StepKind is what sort of step it is, in one word.
type StepKind string

// The kinds of steps.
const (
	StepIdle      StepKind = "idle"      // nothing; the step is an Idle, which says why
	StepConsult   StepKind = "consult"   // ask Advisor
	StepDecide    StepKind = "decide"    // ask policy about Action
	StepPerform   StepKind = "perform"   // perform Action, which is allowed
	StepReconcile StepKind = "reconcile" // ask the tool whether Action happened
	StepLapse     StepKind = "lapse"     // record that a question was refused or has expired
	StepEscalate  StepKind = "escalate"  // put a question that nobody answered to Asked, too
	StepRouse     StepKind = "rouse"     // wake the agent: its sleep is over
	StepFinish    StepKind = "finish"    // end the agent: its deadline has passed
	StepAnnounce  StepKind = "announce"  // tell the relatives of an agent that it has ended
	StepFlag      StepKind = "flag"      // record that Decision was decided twice
	StepSit       StepKind = "sit"       // take the seat, which is free or was handed over to this store
)

// rouseStep says the sleep is over: append the decision to wake.
type rouseStep struct{ Wake Wake }

// consultStep says the advisor is to be asked.
type consultStep struct{ Advisor string }

// decideStep says policy is to be asked about an action.
type decideStep struct {
	Action    Action
	Advice    Hash // the advice that proposed it; zero for what the runtime does by itself
	Index     int64
	Key       Hash   // of the effect, when it is tried again
	Limit     int64  // the time to allow it, in milliseconds, when not the usual
	Approvals []Hash // the approvals it has
	Ignored   []Hash // refusals by people who were not asked
	Outdated  string // why it is to be denied without asking: what it rests on has changed
}

// performStep says an allowed effect is to be performed. Again is set when an attempt may already have been made under
// the same key.
type performStep struct {
	Open  Open
	Again bool
}

// reconcileStep says the tool is to be asked whether an effect happened.
type reconcileStep struct{ Open Open }

// lapseStep says a decision is to get its outcome without being performed: an ask that was refused or has expired.
type lapseStep struct {
	Outcome Outcome
	Refusal Hash // the answer that refused it, if one did
}

// escalateStep says a question nobody answered goes to more people: those of the verdict's next escalation.
type escalateStep struct {
	Ask   Hash // the decision that asked
	Stage int64
	Asked []string
}

// finishStep says the agent is to be ended: its deadline has passed.
type finishStep struct{ End End }

// announceStep says the agent has ended and its relatives are to be told: its parent of the end, its living children
// that they are cancelled. Telling them twice changes nothing.
type announceStep struct {
	Parent   AgentID // zero: it has none
	Ended    ChildEnded
	Children []AgentID
}

func (Idle) Doing() Doing          { return Doing{What: StepIdle} }
func (s rouseStep) Doing() Doing   { return Doing{What: StepRouse, Action: s.Wake} }
func (s consultStep) Doing() Doing { return Doing{What: StepConsult, Advisor: s.Advisor} }
func (s decideStep) Doing() Doing  { return Doing{What: StepDecide, Action: s.Action} }
func (s performStep) Doing() Doing {
	return Doing{What: StepPerform, Action: s.Open.Action, Decision: s.Open.Decision}
}
func (s reconcileStep) Doing() Doing {
	return Doing{What: StepReconcile, Action: s.Open.Action, Decision: s.Open.Decision}
}
func (s lapseStep) Doing() Doing { return Doing{What: StepLapse, Decision: s.Outcome.Decision} }
func (s escalateStep) Doing() Doing {
	return Doing{What: StepEscalate, Asked: s.Asked, Decision: s.Ask}
}
func (s finishStep) Doing() Doing { return Doing{What: StepFinish, Action: s.End} }
func (announceStep) Doing() Doing { return Doing{What: StepAnnounce} }
func (s flagStep) Doing() Doing   { return Doing{What: StepFlag, Decision: s.Doubled.Second} }
func (sitStep) Doing() Doing      { return Doing{What: StepSit} }

// Plan says what a node with these capabilities should do next for an agent, at a moment. It is a pure function: the
// same fold, capabilities and time give the same step on every machine.
//
// Of an agent with entries that do not count here nothing is planned: it is held until somebody here admits it.
func Plan(a *Agent, c Capabilities, now time.Time) Step {
	if c.Trust != nil {
		if err := c.Trust.Counts(a); err != nil {
			return heldBack(err)
		}
	}
	if idle := c.outside(a.fold, now); idle != nil {
		return *idle
	}
	if why := cmp.Or(a.spins(c.Node), a.circles()); why != nil && a.fold.Ended == nil && !a.fold.overdue(TimeOf(now)) {
		if d := a.fold.Intent.Deadline; TimeOf(now) < d {
			why.Until = d
		}
		return idlePerson(*why)
	}
	c.depth = a.depth
	return c.judged(a, a.fold.plan(&c, now), now)
}

// maxSpins is how often in a row a node writes the same thing though it comes to nothing.
const maxSpins = 3

// spins says that the last entries of a memory are of one node, say the same and came to nothing; else it is nil. What
// a node would do next follows from the fold, which such an entry does not change: it would write for ever, and fill
// the disk. Any other entry lets it try again.
func (a *Agent) spins(node Key) *Reason {
	if len(a.fold.Conflicts) < maxSpins {
		return nil // the usual
	}
	var first string
	n := 0
	for e := range a.Recent() {
		if e.Kind == KindSnapshot {
			continue
		}
		i := slices.IndexFunc(a.fold.Conflicts, func(c Conflict) bool { return c.Entry == e.Name })
		if what := e.subject(); i < 0 || e.Origin != node || what == "" || n > 0 && what != first {
			return nil
		} else if first = what; n+1 == maxSpins {
			return &Reason{Kind: RestSpinning, What: e.Kind, Attempt: maxSpins, Note: a.fold.Conflicts[i].What}
		}
		n++
	}
	return nil
}

// subject is what a decision or an outcome is about: two with the same one say the same.
func (e *Entry) subject() string {
	switch b := e.content.(type) {
	case Decision:
		return fmt.Sprint(b.Advice, b.Index, b.Key, b.Approvals, b.Action, b.Verdict.Answer)
	case Outcome:
		return fmt.Sprint(b.Decision, b.Signal)
	}
	return ""
}

// Due says when some node should next look at the agent; zero: only when an entry arrives.
func (f *Fold) Due(now time.Time) Time {
	due, _ := f.due(now)
	return due
}

// due is when a node should next look, and the step that some node could take then. Whatever says when to look at an
// agent, the header of an entry, a listing or the release of a claim, has it from here. It is never later than when one
// has something to do: of which store that is, and whom it trusts, is not known here. One that looks too early rests.
func (f *Fold) due(now time.Time) (Time, Step) {
	return f.dueFor(&Capabilities{All: true, quiet: true, some: true}, now)
}

// dueIn is due where nobody but the nodes of one store looks, which is all of them that see the release of a claim. A
// store that has handed the seat over leaves the agent alone.
func (f *Fold) dueIn(at *Hash, now time.Time) (Time, Step) {
	if at == nil || !f.HandedOver(*at) {
		return f.due(now)
	}
	return f.dueFor(&Capabilities{All: true, quiet: true, Seat: *at}, now)
}

func (f *Fold) dueFor(c *Capabilities, now time.Time) (Time, Step) {
	step := f.plan(c, now)
	if idle, ok := step.(Idle); ok {
		return idle.Until, step
	}
	return TimeOf(now), step
}

func (f *Fold) plan(c *Capabilities, now time.Time) Step {
	t := TimeOf(now)
	if len(f.doubled) > 0 {
		return flagStep{f.doubled[0]}
	}
	if f.Ended != nil {
		return f.planEnded(c, t)
	}
	if f.overdue(t) {
		return finishStep{End{Signal: TimedOut,
			Note: "the deadline of the intent, " + f.Intent.Deadline.String() + ", has passed"}}
	}
	rest := Idle{Until: f.Intent.Deadline}
	if t >= rest.Until {
		rest.Until = 0 // it ends when what is open has: to look again before that changes nothing
	}
	if len(f.Paused) > 0 || f.Contested {
		why := RestPaused
		if f.Contested {
			why = RestContested
		}
		rest.Person = true
		rest.because(Reason{Kind: why})
		return rest // effects nobody knows the outcome of stay so: finding out may be to do them again
	}
	if s := f.planSeat(c, &rest); s != nil {
		return s
	}
	if s := f.planOpen(c, t, &rest); s != nil {
		return s
	}
	if s := f.planChanged(); s != nil {
		return s
	}
	if s := f.planAsks(c, t, &rest); s != nil {
		return s
	}
	if s := f.planSleep(c, now, &rest); s != nil || f.Sleep != nil {
		return orIdle(s, rest)
	}
	if s := f.planOwed(c, t, &rest); s != nil {
		return s
	}
	if len(f.Recheck) > 0 && !f.crowded() {
		return f.planCall(c, decideStep{Action: f.recheckCall()}, t, rest)
	}
	if s := f.planProposal(c, t, &rest); s != nil {
		return s
	}
	if len(f.Open) > 0 || len(f.Asks) > 0 || len(f.Owed) > 0 {
		return rest // the advisor is asked when what it proposed has come to something
	}
	return f.planConsult(c, t, rest)
}

// overdue reports whether the deadline of the intent has passed and nothing is open that its end has to wait for.
func (f *Fold) overdue(t Time) bool {
	return f.Intent.Deadline != 0 && t >= f.Intent.Deadline && len(f.Open) == 0
}

// planEnded leaves an ended agent alone, but for effects whose outcome is still to be found out. Nothing is done again
// for it.
func (f *Fold) planEnded(c *Capabilities, t Time) Step {
	rest := idleFor(Reason{Kind: RestEnded})
	switch s := f.planOpen(c, t, &rest).(type) {
	case nil:
	case performStep:
		return lapseStep{Outcome: Outcome{Decision: s.Open.Decision, Signal: Silent,
			Note: "the agent ended before its outcome was known"}}
	default:
		return s
	}
	var r announceStep
	if l := f.Lineage; l != nil && l.Relation == Child {
		spent := f.Spent
		r.Parent = l.Parent
		r.Ended = ChildEnded{Child: f.Agent, Head: f.Ended.Entry, Signal: f.Ended.Signal, Result: f.Ended.Result,
			Spend: &spent, Note: f.Ended.Note}
	}
	for i := range f.Children {
		if !f.Children[i].Ended {
			r.Children = append(r.Children, f.Children[i].Agent)
		}
	}
	if !r.Parent.IsZero() || len(r.Children) > 0 {
		return r
	}
	return rest
}

// planOpen deals with decisions that have no outcome: another node is at work, or one died.
func (f *Fold) planOpen(c *Capabilities, t Time, rest *Idle) Step {
	for i := range f.Open {
		o := &f.Open[i]
		spec, can := c.tool(o.toolName())
		effect := c.class(f, o.Action, o.Effect)
		// A once effect is left alone until its deadline whoever holds the agent: its old worker may not know yet that
		// it was given up. Only who holds the agent may take a deadline for passed that lies too far ahead: another's
		// worker may know no better.
		late := t >= o.Deadline || (c.Claimed || c.All) && ahead(o.Since, t)
		if slices.Contains(c.Busy, o.Decision) || (!late && !o.Doubt && !(c.Claimed && effect.Repeatable())) {
			c.because(rest, Reason{Kind: RestUnderWay, Tool: o.toolName(), Until: o.Deadline})
			continue
		}
		switch {
		case effect.Repeatable() && can && !c.mayRepeat(f, o, effect):
			rest.tooShallow(c.depth, o.toolName(), effect)
		case effect.Repeatable() && can:
			return performStep{Open: *o, Again: true}
		case effect.Repeatable():
			rest.lack(o.toolName())
		case can && (spec.Reconciles || c.All) && !o.Doubt && f.seatedAt(c.Seat):
			return reconcileStep{Open: *o}
		default:
			rest.Person = true
			c.because(rest, Reason{Kind: RestDoubt, Tool: o.toolName(), Decision: o.Decision})
		}
	}
	return nil
}

// planAsks deals with questions a person has answered, or will not. A question lapses by the clock here before its
// approvals are looked at: when they were given is their authors' word.
func (f *Fold) planAsks(c *Capabilities, t Time, rest *Idle) Step {
	for i := range f.Asks {
		q := f.Asks[i].by(t)
		asked := func(v *Vote) bool { return c.Trust == nil || c.Trust.MayAnswer(f, q, v.Origin) }
		yes, no := q.count(t, asked, func(k Key) Key { return c.person(f, q, k) })
		enough := int64(len(yes)) >= max(q.Verdict.Quorum, 1)
		rest.Until = earliest(rest.Until, q.Verdict.Expires)
		switch {
		case no:
			return lapseStep{Outcome{Decision: q.Decision, Signal: Denied, Note: refusedByPerson}, q.refusal(asked)}
		case q.lapsed(t):
			note := "nobody answered before "
			if enough {
				note = "approved, but no node acted on it before "
			}
			return lapseStep{Outcome: Outcome{Decision: q.Decision, Signal: Denied,
				Note: note + q.Verdict.Expires.String()}}
		case enough && len(f.Open) < maxOpen:
			if s, ok := f.mayDecide(c, q.Action, t, rest); s != nil {
				return s
			} else if !ok {
				continue // the approval is for a node that can
			}
			if s, wait := f.outdated(c, q.Action, t, rest); s != nil {
				return s
			} else if wait && !c.some { // where fewer answers count, it may be put to more people meanwhile
				continue
			} else if wait {
				break
			}
			return decideStep{Action: q.Action, Advice: q.Advice, Index: q.Index, Key: q.Key, Approvals: yes,
				Ignored: q.refusals()}
		}
		more, stage := q.Verdict.Escalate, f.Asks[i].Stage // on record; some of it may be ahead of its time
		if stage < int64(len(more)) {
			next := &more[stage]
			if t >= next.At || ahead(q.Since, t) {
				return escalateStep{Ask: q.Decision, Stage: stage + 1, Asked: next.Asked}
			}
			rest.Until = earliest(rest.Until, next.At)
		}
		if q.Stage < stage && len(q.Votes) > 0 {
			rest.Until = earliest(rest.Until, more[q.Stage].At) // an answer that was given too early counts then
		}
		rest.Person = true
		if !c.quiet {
			rest.because(Reason{Kind: RestApproval, Digest: q.Digest, Asked: q.Asked()})
		}
	}
	return nil
}

// person tells the people behind keys apart. Some node may take each key for a person of its own.
func (c *Capabilities) person(f *Fold, q *Asking, k Key) Key {
	if c.some {
		return k
	}
	return cmp.Or(c.Trust, new(Trust)).person(f, q, k)
}

// count is the approvals that hold now, one per person however often they gave it, and whether somebody refused, of the
// votes that count. Who tells the person a key is of.
func (q *Asking) count(t Time, counts func(*Vote) bool, who func(Key) Key) (yes []Hash, no bool) {
	var by []Key
	for i := range q.Votes {
		v := &q.Votes[i]
		if !counts(v) {
			continue
		}
		if !v.Approve {
			return nil, true
		}
		if v.Expires != 0 && t >= v.Expires {
			continue
		}
		if p := who(v.Origin); !slices.Contains(by, p) {
			yes, by = append(yes, v.Event), append(by, p)
		}
	}
	return yes, false
}

// refusedByPerson is the note of what a person refused, before their own words.
const refusedByPerson = "refused by a person"

// refusal is the first vote against it that counts.
func (q *Asking) refusal(counts func(*Vote) bool) Hash {
	i := slices.IndexFunc(q.Votes, func(v Vote) bool { return !v.Approve && counts(&v) })
	if i < 0 {
		return Hash{}
	}
	return q.Votes[i].Event
}

// refusals are the votes against it.
func (q *Asking) refusals() []Hash {
	var no []Hash
	for _, v := range q.Votes {
		if !v.Approve {
			no = append(no, v.Event)
		}
	}
	return no
}

// planSleep asks the trigger.
func (f *Fold) planSleep(c *Capabilities, now time.Time, rest *Idle) Step {
	if f.Sleep == nil {
		return nil
	}
	w := f.met(now, !c.quiet)
	if w.Met && (f.Sleep.Refused || f.asksToWake()) {
		if f.Sleep.Refused {
			rest.because(Reason{Kind: RestRefused})
		}
		return nil
	}
	if w.Met {
		slept := now.Sub(f.Sleep.Since.Go()).Milliseconds()
		stale := f.Sleep.Sleep.Stale > 0 && slept >= f.Sleep.Sleep.Stale && len(f.Sleep.Sleep.Recheck) > 0
		return rouseStep{Wake{Sleep: f.Sleep.Decision, By: w.By, Stale: stale, Note: w.Why}}
	}
	if f.Sleep.Sleep.Call == unpaidCall {
		rest.Person = true
		rest.because(Reason{Kind: RestBudget, Until: w.Due, Note: f.Sleep.Sleep.Note})
		return nil
	}
	if w.Poll != nil {
		if x, ok := nthPoll(f.Sleep.Sleep.Trigger, w.Poll.Index); ok && f.capable(c, x.Tool, TimeOf(now), rest) {
			x.Call = pollCall + strconv.FormatInt(w.Poll.Index, 10)
			if s, ok := f.mayDecide(c, x, TimeOf(now), rest); !ok {
				return s
			}
			return decideStep{Action: x}
		}
	}
	rest.Person = rest.Person || w.Poor
	c.because(rest, Reason{Kind: RestAsleep, Until: w.Due, Trigger: w.For})
	return nil
}

// asksToWake reports whether a person is being asked whether this sleep may end.
func (f *Fold) asksToWake() bool {
	return slices.ContainsFunc(f.Asks, func(q Asking) bool {
		w, ok := q.Action.(Wake)
		return ok && w.Sleep == f.Sleep.Decision
	})
}

// crowded reports whether what is under way or asked for is as much as a fold holds: nothing more is decided until some
// of it has ended.
func (f *Fold) crowded() bool { return len(f.Open) >= maxOpen || len(f.Asks) >= maxAsks }

// polling reports whether a poll is under way, or waits for a person.
func (f *Fold) polling(index int64) bool {
	is := func(a Action) bool {
		x, _ := a.(Execute)
		n, isPoll := pollIndex(x.Call)
		return isPoll && n == index
	}
	return slices.ContainsFunc(f.Open, func(o Open) bool {
		return is(o.Action)
	}) || slices.ContainsFunc(f.Asks, func(q Asking) bool { return is(q.Action) })
}

// recheckCall is the next thing a stale wake must look at.
func (f *Fold) recheckCall() Execute {
	x := f.Recheck[0]
	x.Call = recheckCall + strconv.Itoa(len(f.Recheck))
	return x
}

// planOwed deals with effects to be tried again.
func (f *Fold) planOwed(c *Capabilities, t Time, rest *Idle) Step {
	for i := range f.Owed {
		w := &f.Owed[i]
		if !c.mayTry(f, w) {
			rest.Person = true
			c.because(rest, Reason{Kind: RestDoubt, Tool: toolOf(w.Action), Decision: w.Key})
			continue
		}
		d := f.retryDelay(w)
		if t < d.until && !ahead(w.Since, t) {
			c.because(rest, Reason{
				Kind: RestRetry, Until: d.until, Tool: toolOf(w.Action), Signal: w.Signal, Attempt: w.Attempt,
				Of: maxAttempts,
			})
			continue
		}
		if s, ok := f.mayDecide(c, w.Action, t, rest); s != nil {
			return s
		} else if !ok {
			continue
		}
		if s, wait := f.outdated(c, w.Action, t, rest); s != nil {
			return s
		} else if wait {
			continue
		}
		return decideStep{Action: w.Action, Key: w.Key, Limit: d.limit}
	}
	return nil
}

// planProposal takes the next undecided proposal of the current advice.
func (f *Fold) planProposal(c *Capabilities, t Time, rest *Idle) Step {
	if len(f.Proposals) == 0 {
		return nil
	}
	p := &f.Proposals[len(f.Proposals)-1]
	for i, done := range p.Decided {
		if done {
			continue
		}
		if f.crowded() || (len(f.Open) > 0 && !parallel(p.Actions[i])) {
			return *rest // what changes the agent itself waits until what is under way has ended
		}
		if f.fromCopy(c, p) || c.some && f.fromCopyOf(p) {
			return decideStep{Action: p.Actions[i], Advice: p.Advice, Index: int64(i), Outdated: thoughtElsewhere}
		}
		if s, wait := f.outdated(c, p.Actions[i], t, rest); wait {
			return orIdle(s, *rest)
		}
		d := decideStep{Action: p.Actions[i], Advice: p.Advice, Index: int64(i)}
		if x, calls := d.Action.(Execute); calls {
			if f.denies(x.Tool) {
				return d // whoever has the tool may not call it either
			}
			if _, has := c.tool(x.Tool); !has && f.edited() {
				d.Outdated = "there is no " + x.Tool + " here, and a person has changed the agent since it was proposed"
				return d
			}
		}
		return f.planCall(c, d, t, *rest)
	}
	return nil
}

// denies reports whether the intent does not leave a tool to the agent.
func (f *Fold) denies(tool string) bool {
	return f.Intent.Tools != nil && !slices.Contains(f.Intent.Tools, tool)
}

// edited reports whether somebody has changed the agent, and its advisor has not been told yet: the entry that gave the
// intent its present form is an event in the inbox. What an event is called says nothing, as anybody may send one.
func (f *Fold) edited() bool {
	return slices.ContainsFunc(f.Inbox, func(m Message) bool { return m.Event == f.Edited })
}

// parallel reports whether an action may be decided while others are under way.
func parallel(a Action) bool {
	switch a.(type) {
	case Execute, Delegate:
		return true
	case Mutate, Sleep, Wake, End:
	}
	return false
}

// planCall is d, unless it may not be decided here.
func (f *Fold) planCall(c *Capabilities, d decideStep, t Time, rest Idle) Step {
	if s, ok := f.mayDecide(c, d.Action, t, &rest); !ok {
		return orIdle(s, rest)
	}
	return d
}

// planConsult asks the advisor, unless it said it has nothing to do and nothing has happened since.
func (f *Fold) planConsult(c *Capabilities, t Time, rest Idle) Step {
	advisor, tool := f.Intent.Advisor, f.advisorTool(f.Intent.Advisor)
	if n := len(f.Proposals); n > 0 && len(f.Proposals[n-1].Actions) == 0 && len(f.Inbox) == 0 {
		rest.because(Reason{Kind: RestSilent})
		return rest
	}
	if f.Denials >= maxDenials && len(f.Inbox) == 0 && (f.Basis == nil || f.Basis.Changed == 0) {
		rest.Person = true
		rest.because(Reason{Kind: RestDenied, Attempt: f.Denials})
		return rest
	}
	if d := f.backoff(tool); t < d.until && !ahead(f.Tool(tool).lastTime(), t) && !f.freshly(c, f.Tool(tool), t) {
		last := f.Tool(tool).Last
		rest.because(Reason{
			Kind: RestBackoff, Until: d.until, Tool: tool, Signal: last[len(last)-1].Signal, Attempt: int64(d.row),
		})
		return rest
	}
	if what, spent := f.Exhausted(); spent && !f.mayThinkUnpaid() {
		return decideStep{Action: f.unpaid(what)}
	}
	if !c.All && !slices.Contains(c.Advisors, advisor) {
		rest.lack(tool)
		return rest
	}
	if f.incapable(c, tool, t, &rest) {
		return rest
	}
	return consultStep{Advisor: advisor}
}

// mayThinkUnpaid reports whether an agent whose budget is used up may still be asked about: to think takes no tool
// calls, and one without any left is to be able to sleep or end. It is not asked for ever while it proposes what it
// cannot pay.
func (f *Fold) mayThinkUnpaid() bool {
	_, thinks := f.Affords(Spend{Cost: 1, Tokens: 1})
	return thinks && (f.Denials < maxUnpaid || len(f.Inbox) > 0)
}

// unpaidCall marks the sleep of an agent whose budget is used up.
const unpaidCall = "runtime/budget"

// unpaid is the sleep of an agent whose budget is used up: until there is enough to think again, and where only calls
// are used up, until it can make one or is told something. A person is asked for a grant meanwhile.
func (f *Fold) unpaid(what string) Sleep {
	until := "(!has(left.cost) || left.cost > 0) && (!has(left.tokens) || left.tokens > 0)"
	if _, thinks := f.Affords(Spend{Cost: 1, Tokens: 1}); thinks {
		until += " && (!has(left.calls) || left.calls > 0 || size(inbox) > 0)"
	}
	return Sleep{Trigger: When{Condition: until}, Note: "the budget is used up (" + what + "): grant more, or end it",
		Call: unpaidCall}
}
