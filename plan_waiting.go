package perdure

import (
	"errors"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/condition"
)

// outlook is what a trigger comes to at a moment.
type outlook struct {
	Met  bool
	By   []Hash   // the events that met it
	Due  Time     // when time alone may change the answer; zero: only an entry can
	Poll *poll    // the poll that is due now, with only its Index set
	Poor bool     // a poll is not made, because the budget has no call left for it
	Why  string   // for people: what met it, as the wake records it
	For  *Pending // what it is still waiting for
}

// met asks the trigger of the sleep the agent is in. It is a pure function of the fold and now. Without words it does
// not say why, unless the trigger is met: that is recorded.
func (f *Fold) met(now time.Time, words bool) outlook {
	if f.Sleep == nil {
		return outlook{Met: true}
	}
	q := question{f: f, s: f.Sleep, now: now, words: words}
	w := q.ask(f.Sleep.Sleep.Trigger)
	if w.Met && !words {
		q = question{f: f, s: f.Sleep, now: now, words: true}
		w = q.ask(f.Sleep.Sleep.Trigger)
	}
	return w
}

// question is one look at a trigger.
type question struct {
	f     *Fold
	s     *Sleeping
	now   time.Time
	words bool  // somebody reads why
	every int64 // the polls met so far, in order

	vars      map[string]any // of conditions, once one asks
	cost      uint64         // of the conditions evaluated so far
	explained int            // conditions whose open part was worked out
}

// not is a trigger that is not met, if anybody reads what it waits for.
func (q *question) not(w outlook, p Pending) outlook {
	if q.words {
		w.For = &p
	}
	return w
}

// holds evaluates a condition. All those of one look share what one condition may cost: those beyond it cannot be
// evaluated, so they are not met.
func (q *question) holds(env *condition.Env, src string, more ...any) (bool, error) {
	if q.cost >= condition.MaxCost {
		return false, errTooCostly
	}
	p, err := env.Compile(src)
	if err != nil {
		return false, err
	}
	vars := q.variables()
	for i := 0; i < len(more); i += 2 {
		vars[more[i].(string)] = more[i+1]
	}
	ok, cost, err := p.EvalCost(vars)
	q.cost += cost + lookCost
	return ok, err
}

// lookCost is what evaluating a condition counts beside its steps.
const lookCost = 100

// errTooCostly is why a condition was not evaluated.
var errTooCostly = errors.New("the conditions before it cost too much")

// variables are the values of condition.FoldVars, made once for each look.
func (q *question) variables() map[string]any {
	if q.vars == nil {
		q.vars = q.f.conditionVars(q.now)
	}
	return q.vars
}

func (q *question) ask(t Trigger) outlook {
	switch t := t.(type) {
	case At:
		return q.time(t, t.Time)
	case After:
		return q.time(t, q.after(q.s.Since, t.Millis))
	case On:
		return q.event(t)
	case Done:
		return q.done(t)
	case Gather:
		return q.gather(t)
	case When:
		return q.when(t)
	case Every:
		return q.poll(t)
	case Any:
		return q.any(t.Of)
	case All:
		return q.all(t.Of)
	}
	return q.not(outlook{}, Pending{})
}

func (q *question) time(t Trigger, at Time) outlook {
	if TimeOf(q.now) >= at {
		w := outlook{Met: true}
		if q.words {
			w.Why = "it is " + at.String()
		}
		return w
	}
	return q.not(outlook{Due: at}, Pending{Trigger: t, Until: at})
}

// after is some time after another, or that other by the clock of now if it cannot be right.
func (q *question) after(since Time, millis int64) Time {
	if now := TimeOf(q.now); ahead(since, now) {
		return now
	}
	return since + Time(millis)
}

// answersOther reports whether a message is the answer to another question than the one the sleep asks. It may come
// late: a copy of the agent was asked something, and this one has gone on.
func (s *Sleeping) answersOther(m *Message) bool {
	if m.Name != AnswerEvent || s.Sleep.Call == "" {
		return false
	}
	data, _ := m.Data.Value().(map[string]any)
	to, _ := data["to"].(string)
	return to != "" && to != s.Sleep.Call
}

func (q *question) event(t On) outlook {
	met := func(m *Message) outlook { return outlook{Met: true, By: []Hash{m.Event}, Why: "event " + t.Event} }
	inbox, lasting := q.unjudged(t)
	last := Hash{}
	defer func() {
		if lasting && !last.IsZero() {
			q.f.judged.note(t, last)
		}
	}()
	for i := range inbox {
		m := &inbox[i]
		if m.Spent || m.Name != t.Event || q.s.answersOther(m) {
			continue
		}
		if t.Filter == "" {
			return met(m)
		}
		if q.cost >= condition.MaxCost {
			if lasting {
				return q.not(outlook{Due: TimeOf(q.now.Add(filterAgain))}, Pending{Trigger: t})
			}
			break // of a filter that reads more than the event, the oldest that can be judged count
		}
		event := map[string]any{"name": m.Name, "by": m.By, "data": m.Data.Value()}
		if ok, err := q.holds(eventEnv(), t.Filter, "event", event); ok && err == nil {
			return met(m)
		}
		if !m.Event.IsZero() { // one that is being written has no name yet
			last = m.Event
		}
	}
	return q.not(outlook{}, Pending{Trigger: t})
}

// filterAgain is when to go on with events that one look could not all hold against a filter.
const filterAgain = time.Second

// unjudged is the part of the inbox that was not held against a filter yet. One look does no more than one condition
// may cost. What does not fit a filter that reads nothing but the event never will, so it is judged once: however many
// events do not fit, the one that does is found.
func (q *question) unjudged(t On) (inbox []Message, lasting bool) {
	inbox = q.f.Unseen()
	if t.Filter == "" || q.f.judged == nil {
		return inbox, false
	}
	if p, err := eventEnv().Compile(t.Filter); err != nil || !p.Only("event") {
		return inbox, false
	}
	if last := q.f.judged.last(t); !last.IsZero() {
		for i := range slices.Backward(inbox) {
			if inbox[i].Event == last {
				return inbox[i+1:], true
			}
		}
	}
	return inbox, true
}

// judged is how far this process has held the inbox of an agent against filters. It saves work and decides nothing.
// Messages only ever join the end of an inbox; a memory that is folded again in another order has another one.
type judged struct {
	mu   sync.Mutex
	upTo map[On]Hash // the last event that did not fit
}

func (j *judged) last(t On) Hash {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.upTo[t]
}

func (j *judged) note(t On, last Hash) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if _, ok := j.upTo[t]; j.upTo == nil || !ok && len(j.upTo) >= maxTriggers {
		j.upTo = map[On]Hash{} // those of earlier sleeps
	}
	j.upTo[t] = last
}

func (q *question) done(t Done) outlook {
	if !t.Child.IsZero() {
		for i := range q.f.Children {
			if c := &q.f.Children[i]; c.Agent == t.Child && !c.Ended {
				return q.not(outlook{}, Pending{Trigger: t})
			}
		}
		return outlook{Met: true, Why: "child " + t.Child.Short() + " ended"}
	}
	for i := range q.f.Open {
		if q.f.Open[i].Decision == t.Decision {
			return q.not(outlook{}, Pending{Trigger: t})
		}
	}
	return outlook{Met: true, Why: "decision " + t.Decision.Short() + " has its outcome"}
}

// readsClock finds conditions that time alone can make true.
var readsClock = regexp.MustCompile(`\b(now|asleep)\b`)

func (q *question) when(t When) outlook {
	ok, err := q.holds(foldEnv(), t.Condition)
	if ok && err == nil {
		return outlook{Met: true, Why: t.Condition}
	}
	var w outlook
	if q.words {
		w.For = q.open(t, err)
	}
	if readsClock.MatchString(t.Condition) {
		w.Due = TimeOf(q.now.Add(conditionEvery))
	}
	return w
}

// open is what of a condition does not hold yet, and of the first few not more than that.
func (q *question) open(t When, err error) *Pending {
	if err != nil {
		return &Pending{Trigger: t, Open: t.Condition, Fault: err.Error()}
	}
	if p, err := foldEnv().Compile(t.Condition); err == nil && q.explained < maxExplained {
		q.explained++
		return &Pending{Trigger: t, Open: p.Waiting(q.variables())}
	}
	return &Pending{Trigger: t, Open: t.Condition}
}

func (q *question) any(of []Trigger) outlook {
	var w outlook
	var open []Pending
	for _, t := range of {
		one := q.ask(t)
		if one.Met && !w.Met {
			w.Met, w.By, w.Why = true, one.By, one.Why
		}
		if one.For != nil {
			open = append(open, *one.For)
		}
		w.Due, w.Poor = earliest(w.Due, one.Due), w.Poor || one.Poor
		if w.Poll == nil {
			w.Poll = one.Poll
		}
	}
	if w.Met {
		return w
	}
	return q.not(w, Pending{Of: open})
}

func (q *question) all(of []Trigger) outlook {
	w := outlook{Met: true}
	var open []Pending
	for _, t := range of {
		one := q.ask(t)
		w.By = append(w.By, one.By...)
		if one.Met {
			continue
		}
		w.Met = false
		if one.For != nil {
			open = append(open, *one.For)
		}
		w.Due, w.Poor = earliest(w.Due, one.Due), w.Poor || one.Poor
		if w.Poll == nil {
			w.Poll = one.Poll
		}
	}
	slices.SortFunc(w.By, Hash.Compare)
	w.By = slices.Compact(w.By)
	if w.Met {
		return w
	}
	return q.not(w, Pending{Of: open, All: true})
}
