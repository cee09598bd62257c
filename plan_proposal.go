package perdure

import (
	"slices"

	"github.com/perdure/perdure/phase"
)

// planOwed deals with effects to be tried again.
func (f *Fold) planOwed(c *Capabilities, t Time, rest *Idle) Step {
	for i := range f.Owed {
		w := &f.Owed[i]
		if !c.mayTry(f, w) {
			rest.Person = true
			c.because(rest, Reason{Kind: phase.RestDoubt, Tool: toolOf(w.Action), Decision: w.Key})
			continue
		}
		d := f.retryDelay(w)
		if t < d.until && !ahead(w.Since, t) {
			c.because(rest, Reason{
				Kind: phase.RestRetry, Until: d.until, Tool: toolOf(w.Action), Signal: w.Signal, Attempt: w.Attempt,
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
	p := f.current(c)
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
		if f.unfounded(p.Advice) {
			return decideStep{Action: p.Actions[i], Advice: p.Advice, Index: int64(i), Outdated: restsElsewhere}
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

// restsElsewhere is why advice is not acted on that other advice came after.
const restsElsewhere = "not done: it rests on what was read before copies met; the advisor is asked again"

// current is the advice to act on: the last, and once all of that is decided, advice of the seat's that came before it,
// as copies meet in any order.
func (f *Fold) current(c *Capabilities) *proposals {
	last := &f.Proposals[len(f.Proposals)-1]
	if p := f.left(c); p != nil && !slices.Contains(last.Decided, false) {
		return p
	}
	return last
}

// left is advice that was asked for where the seat is, here, and of which something is not decided; nil: there is none.
func (f *Fold) left(c *Capabilities) *proposals {
	if len(f.Seats) == 0 || !c.some && (c.Seat.IsZero() || !f.seatedAt(c.Seat)) {
		return nil
	}
	for i := range f.Proposals {
		if p := &f.Proposals[i]; p.Epoch != 0 && slices.Contains(p.Decided, false) && !f.fromCopyOf(p) {
			return p
		}
	}
	return nil
}

// interrupted reports whether the agent sleeps because a copy does, and not by the advice it was acting on here.
func (f *Fold) interrupted(c *Capabilities) bool {
	p := f.left(c)
	return p != nil && !p.slept(-1)
}

// slept reports whether the advice has put the agent to sleep, by another of its proposals than this.
func (p *proposals) slept(but int64) bool {
	for i, done := range p.Decided {
		if _, sleeps := p.Actions[i].(Sleep); sleeps && done && int64(i) != but {
			return true
		}
	}
	return false
}

// denies reports whether the intent does not leave a tool to the agent.
func (f *Fold) denies(tool string) bool {
	return f.Intent.Tools != nil && !slices.Contains(f.Intent.Tools, tool)
}

// edited reports whether somebody has changed the agent, and its advisor has not been told yet: the entry that gave the
// intent its present form is an event in the inbox. What an event is called says nothing, as anybody may send one.
func (f *Fold) edited() bool {
	is := func(m Message) bool { return m.Event == f.Edited }
	return slices.ContainsFunc(f.Inbox, is) || slices.ContainsFunc(f.fallen, is)
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
	if n := len(f.Proposals); n > 0 && len(f.Proposals[n-1].Actions) == 0 && !f.unheard() {
		rest.because(Reason{Kind: phase.RestSilent})
		return rest
	}
	if f.Denials >= maxDenials && !f.unheard() && (f.Basis == nil || f.Basis.Changed == 0) {
		rest.Person = true
		rest.because(Reason{Kind: phase.RestDenied, Attempt: f.Denials})
		return rest
	}
	if d := f.backoff(tool); t < d.until && !ahead(f.Tool(tool).lastTime(), t) && !f.freshly(c, f.Tool(tool), t) {
		last := f.Tool(tool).Last
		rest.because(Reason{
			Kind: phase.RestBackoff, Until: d.until, Tool: tool, Signal: last[len(last)-1].Signal,
			Attempt: int64(d.row),
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
	_, thinks := f.affords(Spend{Cost: 1, Tokens: 1})
	return thinks && (f.Denials < maxUnpaid || f.unheard())
}

// unpaidCall marks the sleep of an agent whose budget is used up.
const unpaidCall = "runtime/budget"

// unpaid is the sleep of an agent whose budget is used up: until there is enough to think again, and where only calls
// are used up, until it can make one or is told something. A person is asked for a grant meanwhile.
func (f *Fold) unpaid(what string) Sleep {
	until := "(!has(left.cost) || left.cost > 0) && (!has(left.tokens) || left.tokens > 0)"
	if _, thinks := f.affords(Spend{Cost: 1, Tokens: 1}); thinks {
		until += " && (!has(left.calls) || left.calls > 0 || size(inbox) > 0)"
	}
	return Sleep{Trigger: When{Condition: until}, Note: unpaidNote(what), Call: unpaidCall}
}

// unpaidNote says that a budget is used up, and of what.
func unpaidNote(what string) string {
	return "the budget is used up (" + what + "): grant more, or end it"
}
