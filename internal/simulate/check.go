package simulate

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// checkSome looks at one agent in one store.
func (r *run) checkSome(n int) {
	c := r.sched.chance("check", n)
	if sub, s := r.place(int(c%(1<<20)), int(c>>20%64)); sub != nil {
		r.check(sub, s)
	}
}

// check looks at an agent in a store.
func (r *run) check(sub *subject, s *stock) *perdure.Agent {
	a, err := r.trust.Load(context.Background(), s.inner, sub.id)
	if err != nil {
		r.violate("agents can be folded", "%s in %s: %v", r.short(sub.id), s.name, err)
		return nil
	}
	r.checkKept(sub, s)
	r.checkFold(sub, s, a)
	r.checkDue(sub, s, a)
	r.checkSpend(sub, a)
	r.checks["work is bounded"]++
	if n, most := len(sub.entries), r.bound(sub, a.Fold()); n > most {
		r.violate("work is bounded", "%s has %d entries, for %d facts and %d turns", r.short(sub.id), n, sub.facts,
			sub.program.Turns)
	}
	return a
}

// bound is how many entries an agent may have: some for every turn and for everything that happened.
func (r *run) bound(sub *subject, f *perdure.Fold) int {
	return 150 + 20*(int(sub.program.Turns)+int(f.Turns)) + 10*sub.facts
}

// checkFold folds an agent in every way there is.
func (r *run) checkFold(sub *subject, s *stock, a *perdure.Agent) {
	bare := false
	memory := func(yield func(*perdure.Entry, error) bool) {
		for e, err := range perdure.Memory(context.Background(), s.inner, sub.id) {
			bare = bare || err == nil && e.Content() == nil
			if r.sabotaged("mute") && err == nil && e.Kind == perdure.KindEvent {
				e = e.Drop()
			}
			if !yield(e, err) {
				return
			}
		}
	}
	r.checks["folds are equal"]++
	b, err := perdure.FoldEntries(memory)
	if err != nil {
		r.violate("folds are equal", "%s in %s cannot be folded from genesis: %v", r.short(sub.id), s.name, err)
		return
	}
	if x, y := must(a.Fold().Hash()), must(b.Fold().Hash()); x != y {
		r.violate("folds are equal", "%s in %s is %s from its snapshot and %s from genesis (bodies gone: %t)",
			r.short(sub.id), s.name,
			x.Short(), y.Short(), bare)
	}
}

// checkDue looks whether the store would have a node look at an agent when there is something to do for it.
func (r *run) checkDue(sub *subject, s *stock, a *perdure.Agent) {
	now := time.Now()
	if now.Before(r.book(s, sub.id).claimed) || now.Before(sub.skewed) {
		return // somebody is at work on it, or was when it was later
	}
	r.checks["due agents are due"]++
	due, listed := r.dueOf(s, sub.id)
	for _, m := range r.nodes {
		if m.s != s || m.life.gone() {
			continue
		}
		want := perdure.TimeOf(now)
		step := perdure.Plan(a, r.caps(m), now)
		switch idle, _ := step.(perdure.Idle); step.Doing().What {
		case phase.StepAnnounce:
			continue // it may have been said
		case phase.StepRouse:
			want = want.Add(conditionEvery)
		case phase.StepIdle:
			if want = max(idle.Until, want); idle.Until == 0 || idle.Needs != "" {
				continue
			}
		}
		if !listed || due > want {
			r.violate("due agents are due", "%s in %s: %s would do %s at %s, and the store says %s (listed: %t)",
				r.short(sub.id), s.name,
				m.life.name, step.Doing().What, want, due, listed)
		}
	}
}

// conditionEvery is how often a condition that reads the clock is looked at.
const conditionEvery = time.Minute

// caps is what a node can do.
func (r *run) caps(m *machine) perdure.Capabilities {
	c := perdure.Capabilities{Node: m.key.Key(), Tools: map[string]perdure.Spec{},
		Advisors: []string{"costly", "instant"}, Trust: r.trust}
	c.Since = perdure.TimeOf(m.born)
	c.Seat = r.placeOf(m.s)
	for _, t := range r.toolset(m.life, m.weak) {
		spec := t.Spec()
		_, spec.Reconciles = t.(perdure.Reconciler)
		c.Tools[spec.Name] = spec
	}
	return c
}

// copied reports whether the agent has its seat in another store: it comes to its end there. Where bodies were
// collected meanwhile, a copy does not hear of that.
func (r *run) copied(s *stock, a *perdure.Agent) bool {
	return a.Fold().SeatElsewhere(r.placeOf(s)) && slices.ContainsFunc(r.stores, func(o *stock) bool {
		_, err := o.inner.Heads(context.Background(), a.ID())
		return err == nil && !a.Fold().SeatElsewhere(r.placeOf(o))
	})
}

// sleepsLong reports whether an agent sleeps until a time of day that its advisor named while the clock was ahead: that
// is what was asked for.
func (r *run) sleepsLong(sub *subject, a *perdure.Agent) bool {
	f := a.Fold()
	return !sub.skewed.IsZero() && f.Sleep != nil && f.Due(time.Now()).Go().After(time.Now().Add(rounds*round))
}

// placeOf is the place of a store.
func (r *run) placeOf(s *stock) perdure.Place {
	at, err := s.inner.(perdure.Placed).Place(context.Background())
	if err != nil {
		r.violate("stores know themselves", "%s: %v", s.name, err)
	}
	return at
}

// dueOf is when a store says that an agent is due.
func (r *run) dueOf(s *stock, id perdure.AgentID) (perdure.Time, bool) {
	for l, err := range r.dues(s, time.UnixMilli(math.MaxInt64/2)) {
		if err == nil && l.Agent == id {
			return l.Due, true
		}
	}
	return 0, false
}

// checkSpend looks whether an agent that was in one place has kept to its budget. Whoever takes it over from a node
// that stood still calls a second time what that one had under way, and both calls count: a batch each time.
func (r *run) checkSpend(sub *subject, a *perdure.Agent) {
	if sub.budget == nil || sub.copied || !sub.skewed.IsZero() {
		return
	}
	r.checks["spend is within budget"]++
	f := a.Fold()
	if got, most := f.Spent.Calls, *sub.budget.Calls+r.granted(sub)+r.retaken(sub)*parallel; got > most {
		r.violate("spend is within budget", "%s has made %d calls of %d", r.short(sub.id), got, most)
	}
}

// parallel is how many effects of one agent a node performs at once.
const parallel = 2

// retaken is how often an agent, or one below it, which it pays for, was taken over from a node that stood still.
func (r *run) retaken(sub *subject) int64 {
	sum := sub.overdue
	for _, s := range r.subjects {
		if s.parent == sub {
			sum += r.retaken(s)
		}
	}
	return sum
}

// granted is what people granted an agent and those below it, which it pays for.
func (r *run) granted(sub *subject) int64 {
	sum := sub.granted
	for _, s := range r.subjects {
		if s.parent == sub {
			sum += r.granted(s)
		}
	}
	return sum
}

// checkKept looks whether a store has everything of an agent that it ever acknowledged.
func (r *run) checkKept(sub *subject, s *stock) {
	has := map[perdure.Hash]bool{}
	for e, err := range perdure.Memory(context.Background(), s.inner, sub.id) {
		if err == nil {
			has[e.Name] = true
		}
	}
	lost := 0
	for name := range r.book(s, sub.id).acked {
		r.checks["nothing acknowledged is lost"]++
		if !has[name] {
			lost++
		}
	}
	if lost > 0 {
		r.violate("nothing acknowledged is lost", "%d entries of %s are not in %s", lost, r.short(sub.id), s.name)
	}
}

// The end of a run: faults stop, and people answer.
const (
	rounds = 80
	round  = 15 * time.Minute
)

// finish lets everything come to its end, and looks at it.
func (r *run) finish() {
	r.rounds = map[touch]string{}
	for _, m := range r.nodes {
		l := m.life
		l.crash, l.fail, l.cut, l.frozen = 0, 0, time.Time{}, time.Time{}
	}
	for i := range rounds {
		for _, m := range r.nodes {
			r.start(m)
		}
		r.pass(round)
		if len(r.violations) > 0 {
			return
		}
		if i%3 == 2 {
			r.merge()
		}
		if r.assist(i) && i > 2 {
			break
		}
		if i == rounds-1 {
			r.unended()
		}
	}
	r.merge()
	r.pass(round)
	r.checkHeld()
	r.checkCopies()
	r.checkRest()
}

// pass lets time pass, with everything that is to happen in it.
func (r *run) pass(d time.Duration) {
	end, from := time.Now().Add(d), r.sched.steps
	for time.Now().Before(end) && len(r.violations) == 0 {
		r.one(time.Until(end))
		if r.sched.steps-from > maxRound {
			r.violate("work is bounded", "%d steps in %s", maxRound, d)
		}
	}
}

// maxRound bounds the steps of a round.
const maxRound = 20_000

// everywhere yields every agent in every store.
func (r *run) everywhere(f func(sub *subject, s *stock, a *perdure.Agent)) {
	for _, sub := range slices.Clone(r.subjects) {
		for _, s := range r.stores {
			if _, err := s.inner.Heads(context.Background(), sub.id); err == nil {
				if a := r.check(sub, s); a != nil {
					f(sub, s, a)
				}
			}
		}
	}
}

// assist has people answer what agents wait for, and reports whether all have ended. An agent that a node could have
// gone on with for a whole round, and did not, was forgotten.
func (r *run) assist(i int) bool {
	all := true
	r.everywhere(func(sub *subject, s *stock, a *perdure.Agent) {
		f, key := a.Fold(), touch{s, sub.id}
		if f.Ended != nil || r.copied(s, a) || r.sleepsLong(sub, a) {
			return
		}
		all = false
		now := time.Now()
		var first *machine
		for _, m := range r.nodes {
			if m.s == s && !m.weak {
				first = m
			}
		}
		c := r.caps(first)
		c.Claimed = true // as a node at work on it
		step := perdure.Plan(a, c, now)
		idle, rests := step.(perdure.Idle)
		r.checks["agents that can go on do"]++
		here := fmt.Sprint(a.Heads())
		ready := !rests || idle.Until != 0 && idle.Until.Go().Before(now.Add(-round))
		if ready && r.rounds[key] == here {
			r.violate("agents that can go on do", "%s in %s was left for %s with %T %+v to be done", r.short(sub.id),
				s.name, round, step, idle)
		}
		if ready {
			r.rounds[key] = here
		}
		if rests && (idle.Until == 0 || idle.Person) {
			r.answer(sub, s, f, i)
		}
	})
	return all
}

// answer has people say what an agent waits for.
func (r *run) answer(sub *subject, s *stock, f *perdure.Fold, i int) {
	var evs []perdure.Event
	switch {
	case len(f.Paused) > 0:
		evs = []perdure.Event{{Name: "resume", Notice: perdure.Resume{Of: f.Paused}}}
	case len(f.Asks) > 0:
		for _, p := range r.people {
			r.tellNow(p, sub, s, votes(f, true))
		}
	default:
		evs = settles(sub, f)
		if _, spent := f.Exhausted(); spent {
			for _, p := range r.people {
				if p.key.Key() == f.Charter.Owner {
					evs = append(evs, grants(sub)...)
				}
			}
		}
		for n := range events {
			evs = append(evs, perdure.Event{Name: event(n), Data: must(perdure.DataOf(map[string]any{"n": int64(i)}))})
		}
	}
	r.tellNow(r.ownerOf(f), sub, s, evs)
}

func (r *run) ownerOf(f *perdure.Fold) *person {
	for _, p := range r.people {
		if p.key.Key() == f.Charter.Owner {
			return p
		}
	}
	return r.people[0]
}

// tellNow has a person tell an agent something at once.
func (r *run) tellNow(p *person, sub *subject, s *stock, evs []perdure.Event) {
	sub.facts += len(evs)
	r.does(p, s, true, func(ctx context.Context, n *perdure.Node) error {
		for _, ev := range evs {
			ev.By = p.name
			if _, err := n.Tell(ctx, sub.id, ev); err != nil {
				return err
			}
		}
		return nil
	})
}

// merge takes every agent that is in several stores to all of these.
func (r *run) merge() {
	for _, sub := range slices.Clone(r.subjects) {
		for _, from := range r.stores {
			for _, to := range r.stores {
				if from == to || len(r.violations) > 0 {
					continue
				}
				has := func(s *stock) bool { _, err := s.inner.Heads(context.Background(), sub.id); return err == nil }
				if !has(from) || !has(to) {
					continue
				}
				p := r.people[0]
				sub.facts++
				r.tally["merges"]++
				r.does(p, to, true, func(ctx context.Context, n *perdure.Node) error {
					return r.carry(ctx, from.inner, n, p, sub)
				})
			}
		}
	}
	r.sched.settle()
}

// unended says which agents have not come to their end.
func (r *run) unended() {
	r.everywhere(func(sub *subject, s *stock, a *perdure.Agent) {
		if f := a.Fold(); f.Ended == nil && !r.copied(s, a) && !r.sleepsLong(sub, a) {
			r.violate("agents come to their end", "%s in %s, %s at turn %d of %d: %+v", r.short(sub.id), s.name,
				f.State(), f.Turns,
				sub.program.Turns, perdure.Plan(a, r.caps(r.nodes[0]), time.Now()))
		}
	})
}

// checkHeld looks whether every store still has every agent of which it acknowledged something.
func (r *run) checkHeld() {
	for _, s := range r.stores {
		for _, sub := range r.subjects {
			if b := s.books[sub.id]; b != nil && len(b.acked) > 0 {
				r.checkKept(sub, s)
			}
		}
	}
}

// checkCopies looks whether stores that hold the same entries come to the same.
func (r *run) checkCopies() {
	folds := map[string]perdure.Hash{} // by agent and heads
	r.everywhere(func(sub *subject, s *stock, a *perdure.Agent) {
		key, h := fmt.Sprint(sub.n, a.Heads()), must(a.Fold().Hash())
		was, twice := folds[key]
		if folds[key] = h; !twice {
			return
		}
		r.checks["copies are equal"]++
		if was != h {
			r.violate("copies are equal", "%s in %s has the same heads as elsewhere and another fold", r.short(sub.id),
				s.name)
		}
	})
}

// checkRest looks whether nodes rest when there is nothing to do.
func (r *run) checkRest() {
	from, entries := r.sched.steps, r.tally["entries"]
	r.pass(time.Hour)
	r.checks["nodes rest"]++
	most := 0
	for _, m := range r.nodes {
		if most += maxRest; m.life.polls {
			most += maxPoll
		}
	}
	if n := r.sched.steps - from; n > most || r.tally["entries"] > entries+len(r.subjects)*4 {
		r.violate("nodes rest", "%d steps and %d entries in an hour in which nothing was to be done", n,
			r.tally["entries"]-entries)
	}
}

// maxRest bounds the calls of a node in an hour with nothing to do: it collects every ten minutes, and looks every so
// often.
const maxRest = 600

// maxPoll is how much more it is for a node whose watch has ended.
const maxPoll = 2 * 3600
