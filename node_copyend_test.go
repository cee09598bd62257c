package perdure_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// always is an advisor that proposes one thing, whatever happens.
func always(x perdure.Action) map[string]perdure.Advisor {
	return map[string]perdure.Advisor{"": scripted(func(*perdure.Agent, int64) []perdure.Action {
		return []perdure.Action{x}
	})}
}

// What ends an agent or binds it for good does so in every copy, and the advisor of a copy may not know what goes on
// elsewhere. So it waits until the seat is there; where the seat is, the advisor is asked for itself.
func TestTheAdvisorOfACopyDoesNotEndTheAgent(t *testing.T) {
	none, scope, deep := int64(0), "test/narrow", int64(0)
	for name, x := range map[string]perdure.Action{
		"end":      perdure.End{Signal: perdure.OK},
		"tools":    perdure.Mutate{Tools: []string{}},
		"budget":   perdure.Mutate{Budget: &perdure.Budget{Calls: &none}},
		"scope":    perdure.Mutate{Scope: &scope},
		"depth":    perdure.Mutate{Depth: &deep},
		"deadline": perdure.Mutate{Deadline: perdure.TimeOf(time.Now().Add(time.Hour))},
	} {
		p := newPayers(t, func(p *payers) { p.b.Advisors = always(x) })
		idle := run(t, p.b, p.id)
		f := load(t, p.there, p.id)
		if !idle.Is(phase.RestElsewhere) || !idle.Person || f.Ended != nil || f.Turns != 1 || f.Denials != 0 {
			t.Errorf("%s: the copy is %+v, ended %v, after %d turns", name, idle, f.Ended, f.Turns)
		}
		p.together(t)
		run(t, p.a, p.id)
		if f := load(t, p.here, p.id); p.paid() != 1 || f.Ended == nil || f.Intent.Tools != nil ||
			f.Intent.Budget != nil || f.Intent.Deadline != 0 || f.Charter.Scope == scope {
			t.Errorf("%s: where the seat is it paid %d times, ended %v, %+v", name, p.paid(), f.Ended, f.Intent)
		}
	}
}

// What can be changed again is changed in a copy as before.
func TestTheAdvisorOfACopyMayChangeItsGoal(t *testing.T) {
	goal := "something else"
	p := newPayers(t, func(p *payers) {
		p.b.Advisors = map[string]perdure.Advisor{"": scripted(func(*perdure.Agent, int64) []perdure.Action {
			return []perdure.Action{perdure.Mutate{Goal: &goal}, perdure.Sleep{Trigger: perdure.On{Event: "more"}}}
		})}
	})
	run(t, p.b, p.id)
	if f := load(t, p.there, p.id); f.Intent.Goal != goal || f.Sleep == nil {
		t.Errorf("the goal is %q, asleep: %v", f.Intent.Goal, f.Sleep != nil)
	}
}

// The seat may be lost: its owner takes it, and the copy ends as its advisor wants.
func TestACopyThatTakesTheSeatEnds(t *testing.T) {
	p := newPayers(t, func(p *payers) { p.b.Key, p.b.Advisors = p.a.Key, always(perdure.End{Signal: perdure.OK}) })
	run(t, p.b, p.id)
	if err := p.b.TakeSeat(t.Context(), p.id, "the disk died"); err != nil {
		t.Fatal(err)
	}
	run(t, p.b, p.id)
	if f := load(t, p.there, p.id); f.Ended == nil || f.Ended.Signal != perdure.OK {
		t.Errorf("with the seat it ended %+v", f.Ended)
	}
}

// What a person says counts in every copy.
func TestAPersonEndsAnAgentInACopy(t *testing.T) {
	p := newPayers(t)
	run(t, p.b, p.id)
	tellTimes(t, p.b, p.id, 1, perdure.Event{Name: "end", Notice: perdure.Cancel{Note: "enough"}})
	p.together(t)
	if run(t, p.a, p.id); p.paid() != 0 || load(t, p.here, p.id).Ended == nil {
		t.Errorf("paid %d times, ended %v", p.paid(), load(t, p.here, p.id).Ended)
	}
}

// Memories of before there were seats end wherever they are run, and take no seat for that.
func TestAnAgentWithoutASeatEndsAnywhere(t *testing.T) {
	n := newNode(t, new(perdure.MemStore), always(perdure.End{Signal: perdure.OK})[""])
	g, err := n.Key.Genesis(perdure.Genesis{Charter: perdure.Charter{Scope: "test"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	put(t, n.Store, g.ID(), g)
	run(t, n, g.ID())
	if f := load(t, n.Store, g.ID()); f.Ended == nil || len(f.Seats) > 0 {
		t.Errorf("ended %v, seats %+v", f.Ended, f.Seats)
	}
}
