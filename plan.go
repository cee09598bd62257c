package perdure

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/perdure/perdure/phase"
)

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
			return &Reason{Kind: phase.RestSpinning, What: e.Kind, Attempt: maxSpins, Note: a.fold.Conflicts[i].What}
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

func (f *Fold) plan(c *Capabilities, now time.Time) Step {
	t := TimeOf(now)
	if found := f.unrecorded(); len(found) > 0 {
		return flagStep{found[0]}
	}
	if s := f.planHappened(); s != nil {
		return s
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
		why := phase.RestPaused
		if f.Contested {
			why = phase.RestContested
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
	rest := idleFor(Reason{Kind: phase.RestEnded})
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
			c.because(rest, Reason{Kind: phase.RestUnderWay, Tool: o.toolName(), Until: o.Deadline})
			continue
		}
		switch {
		case effect.Repeatable() && can && !c.mayRepeat(f, o, effect):
			rest.tooShallow(c.depth, o.toolName(), effect)
		case effect.Repeatable() && can:
			return performStep{Open: *o, Again: true}
		case effect.Repeatable():
			rest.lack(o.toolName())
		case can && (spec.Reconciles || c.All || c.Claimed) && !o.Doubt && f.seatedAt(c.Seat):
			return reconcileStep{Open: *o} // or its doubt is recorded, so that whoever is told of such hears of it
		default:
			rest.Person = true
			c.because(rest, Reason{Kind: phase.RestDoubt, Tool: o.toolName(), Decision: o.Decision})
		}
	}
	return nil
}

// planSleep asks the trigger.
func (f *Fold) planSleep(c *Capabilities, now time.Time, rest *Idle) Step {
	if f.Sleep == nil {
		return nil
	}
	w := f.met(now, !c.quiet)
	if f.interrupted(c) { // by nothing that was told: that is for a sleep of its own
		w = outlook{Met: true, Why: "a copy went to sleep; where the seat is, something was still to be decided"}
	}
	if w.Met && (f.Sleep.Refused || f.asksToWake()) {
		if f.Sleep.Refused {
			rest.because(Reason{Kind: phase.RestRefused})
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
		note := f.Sleep.Sleep.Note
		if what, spent := f.Exhausted(); spent { // some may have been granted since, and not enough
			note = unpaidNote(what)
		}
		rest.because(Reason{Kind: phase.RestBudget, Until: w.Due, Note: note})
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
	c.because(rest, Reason{Kind: phase.RestAsleep, Until: w.Due, Trigger: w.For})
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
