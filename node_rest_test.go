package perdure_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/ruling"
	"github.com/perdure/perdure/phase"
)

// resting is a node with one agent that proposes lists of actions one after the other, the last again and again.
type resting struct {
	t  *testing.T
	n  *perdure.Node
	id perdure.AgentID
}

func newResting(t *testing.T, g perdure.Genesis, turns ...[]perdure.Action) *resting {
	t.Helper()
	look, _ := counter("look", perdure.Read)
	n := newNode(t, new(perdure.MemStore), scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		return turns[min(turn, int64(len(turns)-1))]
	}), look)
	return &resting{t, n, create(t, n, g)}
}

func (r *resting) run() perdure.Idle { return run(r.t, r.n, r.id) }

func (r *resting) fold() *perdure.Fold { return load(r.t, r.n.Store, r.id) }

func (r *resting) tell(ev perdure.Event) {
	r.t.Helper()
	if _, err := r.n.Tell(r.t.Context(), r.id, ev); err != nil {
		r.t.Fatal(err)
	}
}

func (r *resting) answer(approve bool) {
	r.t.Helper()
	q := r.fold().Asks[0]
	r.tell(perdure.Event{Name: "approval", Notice: perdure.Approval{Decision: q.Decision, Digest: q.Digest,
		Approve: approve}})
}

// decisions are what was decided, with its action where the advice has it.
func (r *resting) decisions() []perdure.Decision {
	r.t.Helper()
	var out []perdure.Decision
	for e, err := range perdure.Memory(r.t.Context(), r.n.Store, r.id) {
		if err != nil {
			r.t.Fatal(err)
		}
		if d, ok := e.Content().(perdure.Decision); ok {
			out = append(out, d)
		}
	}
	return out
}

// policyOf is a policy that says something of some kinds of action and allows the rest.
func policyOf(say map[string]perdure.Verdict) perdure.Policy {
	return perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
		kind := ""
		switch r.Action.(type) {
		case perdure.Sleep:
			kind = "sleep"
		case perdure.Wake:
			kind = "wake"
		case perdure.End:
			kind = "end"
		case perdure.Execute:
			kind = "execute"
		}
		if v, ok := say[kind]; ok {
			return v
		}
		return perdure.Verdict{Answer: perdure.Allow, Rules: []string{"test"}}
	})
}

// TestNothingKeepsAnAgentFromSleepingOrEnding: neither a rule that denies it nor one that asks, nor the lack of a
// policy.
func TestNothingKeepsAnAgentFromSleepingOrEnding(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]perdure.Policy{
		"denied": policyOf(map[string]perdure.Verdict{"sleep": {Reason: "no rest"}, "end": {Reason: "no rest"}}),
		"asked": policyOf(map[string]perdure.Verdict{"sleep": {Answer: perdure.Ask, Quorum: 2},
			"end": {Answer: perdure.Ask, Quorum: 2}}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newResting(t, perdure.Genesis{},
					[]perdure.Action{perdure.Sleep{Trigger: perdure.After{Millis: 1000}}},
					[]perdure.Action{perdure.End{Signal: perdure.OK}})
				s.n.Policy = p
				s.run()
				f := s.fold()
				if f.Sleep == nil {
					t.Fatalf("got %s, want it asleep", f.State())
				}
				time.Sleep(2 * time.Second)
				s.run()
				if f = s.fold(); f.Ended == nil {
					t.Fatalf("got %s, want it ended", f.State())
				}
				for _, d := range s.decisions() {
					if _, wakes := d.Action.(perdure.Wake); !wakes &&
						(d.Verdict.Rules[0] != ruling.Rest || d.Verdict.Answer != perdure.Allow ||
							d.Verdict.Quorum != 0 || !strings.Contains(d.Verdict.Reason, "policy says")) {
						t.Errorf("got %+v, want it allowed by %s", d.Verdict, ruling.Rest)
					}
				}
			})
		})
	}
}

// TestABadTriggerIsStillRefused: what has no form is no sleep.
func TestABadTriggerIsStillRefused(t *testing.T) {
	t.Parallel()
	s := newResting(t, perdure.Genesis{},
		[]perdure.Action{perdure.Sleep{Trigger: perdure.When{Condition: "vars.x =="}}},
		[]perdure.Action{perdure.End{Signal: perdure.OK}})
	s.run()
	if d := s.decisions(); d[0].Verdict.Answer != perdure.Deny || d[0].Verdict.Rules[0] != "runtime.trigger" {
		t.Errorf("got %+v, want it denied", d[0].Verdict)
	}
}

// TestAnAgentWithoutCallsLeftEnds: it had used exactly its calls, and could neither sleep nor end.
func TestAnAgentWithoutCallsLeftEnds(t *testing.T) {
	t.Parallel()
	one := int64(1)
	s := newResting(t, perdure.Genesis{Intent: perdure.Intent{Budget: &perdure.Budget{Calls: &one}}},
		[]perdure.Action{perdure.Execute{Tool: "look"}}, []perdure.Action{perdure.End{Signal: perdure.OK}})
	s.run()
	if f := s.fold(); f.Ended == nil || f.Ended.Signal != perdure.OK {
		t.Errorf("got %s, want it ended", f.State())
	}
}

// TestAnAgentWithoutCallsLeftIsNotAskedForEver: it goes on proposing calls it cannot pay.
func TestAnAgentWithoutCallsLeftIsNotAskedForEver(t *testing.T) {
	t.Parallel()
	one := int64(1)
	s := newResting(t, perdure.Genesis{Intent: perdure.Intent{Budget: &perdure.Budget{Calls: &one}}},
		[]perdure.Action{perdure.Execute{Tool: "look"}})
	idle := s.run()
	if f := s.fold(); f.Turns > 1+3 || !idle.Person || !idle.Is(phase.RestBudget) {
		t.Errorf("got %d turns and %+v, want it to wait for a grant", f.Turns, idle)
	}
}

// TestAPolicyKeepsAnAgentAsleep: without an entry for every look, and until it lets it wake.
func TestAPolicyKeepsAnAgentAsleep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newResting(t, perdure.Genesis{}, []perdure.Action{perdure.Sleep{Trigger: perdure.After{Millis: 1000}}},
			[]perdure.Action{perdure.End{Signal: perdure.OK}})
		s.n.Policy = policyOf(map[string]perdure.Verdict{"wake": {Rules: []string{"night"}, Reason: "not at night"}})
		s.run()
		time.Sleep(2 * time.Second)
		before := s.fold().Count
		for range 5 {
			idle := s.run()
			if !idle.Is(phase.RestPolicy) || idle.Until <= perdure.TimeOf(time.Now()) {
				t.Fatalf("got %+v, want it to sleep on, and to be looked at later", idle)
			}
		}
		if after := s.fold().Count; after != before {
			t.Errorf("got %d entries after looking, want %d", after, before)
		}
		s.n.Policy = policyOf(nil)
		s.run()
		if s.fold().Ended == nil {
			t.Error("it did not wake when policy let it")
		}
	})
}

// TestAPersonIsAskedOnceWhetherItMayWake: approval wakes it; after a refusal nobody is asked again until it is told
// something.
func TestAPersonIsAskedOnceWhetherItMayWake(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newResting(t, perdure.Genesis{}, []perdure.Action{perdure.Sleep{Trigger: perdure.After{Millis: 1000}}},
			[]perdure.Action{perdure.End{Signal: perdure.OK}})
		s.n.Policy = policyOf(map[string]perdure.Verdict{"wake": {Answer: perdure.Ask, Rules: []string{"ask"}}})
		s.run()
		time.Sleep(2 * time.Second)
		asks := func(want int) {
			t.Helper()
			for range 3 {
				s.run()
			}
			f := s.fold()
			if len(f.Asks) != want || f.Sleep == nil {
				t.Fatalf("got %d questions, sleep %v, want %d and that it sleeps", len(f.Asks), f.Sleep, want)
			}
		}
		asks(1)
		s.answer(false)
		asks(0)
		s.tell(perdure.Event{Name: "news"})
		asks(1)
		s.answer(true)
		s.run()
		if s.fold().Ended == nil {
			t.Error("it did not wake when a person let it")
		}
	})
}
