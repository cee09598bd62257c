package perdure_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// asked is an advisor that costs something to ask, as a function.
type asked func(ctx context.Context, a *perdure.Agent) (perdure.Advice, error)

func (s asked) Advise(ctx context.Context, a *perdure.Agent) (perdure.Advice, error) {
	return s(ctx, a)
}

// bodies are the contents of an agent's entries, in order.
func bodies(t *testing.T, s perdure.Store, id perdure.AgentID) (all []perdure.Body) {
	t.Helper()
	for e, err := range perdure.Memory(t.Context(), s, id) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e.Content())
	}
	return all
}

// TestConditionsReadHowLongCallsTook, those of tools and of advisors.
func TestConditionsReadHowLongCallsTook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		look := &tool{spec: perdure.Spec{Name: "look", Effect: perdure.Read},
			call: func(context.Context, perdure.Call) (perdure.Result, error) {
				time.Sleep(1500 * time.Microsecond)
				return perdure.Result{}, nil
			}}
		turns := [][]perdure.Action{
			{perdure.Execute{Tool: "look"}},
			{perdure.Sleep{Trigger: perdure.When{Condition: `signals["look"].took == duration("1.5ms") && signals["advisor:slow"].took == duration("2s")`}}},
			{perdure.End{Signal: perdure.OK}},
		}
		n := newNode(t, new(perdure.MemStore), nil, look)
		n.Advisors = map[string]perdure.Advisor{"slow": asked(
			func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
				time.Sleep(2 * time.Second)
				return perdure.Advice{Actions: turns[min(a.Fold().Turns, 2)]}, nil
			})}
		id := create(t, n, perdure.Genesis{Intent: perdure.Intent{Advisor: "slow"}})
		if idle := run(t, n, id); load(t, n.Store, id).Ended == nil {
			t.Errorf("it did not wake: %+v", idle.Reasons)
		}
	})
}

// TestAMissingToolLeavesOneEntry for each node and reason, however often it looks, and keeps no node with the tool from
// it.
func TestAMissingToolLeavesOneEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		look, calls := counter("look", perdure.Read)
		turns := [][]perdure.Action{{perdure.Execute{Tool: "look"}}, {perdure.End{Signal: perdure.OK}}}
		adv := scripted(func(_ *perdure.Agent, turn int64) []perdure.Action { return turns[min(turn, 1)] })
		store := new(perdure.MemStore)
		lacking := newNode(t, store, adv)
		able := newNode(t, store, adv, look)
		able.Key = lacking.Key // as two processes of one home have
		id := create(t, able, perdure.Genesis{})
		lacks := func() (notes []string) {
			for _, b := range bodies(t, store, id) {
				if ev, ok := b.(perdure.Event); ok {
					if l, ok := ev.Notice.(perdure.Lacks); ok {
						notes = append(notes, l.What+": "+l.Note)
					}
				}
			}
			return notes
		}
		for range 3 {
			run(t, lacking, id)
			time.Sleep(time.Minute)
		}
		fresh := &perdure.Node{Store: store, Key: lacking.Key, Trust: lacking.Trust, Policy: lacking.Policy,
			Advisors: lacking.Advisors}
		run(t, fresh, id)
		if got := lacks(); len(got) != 1 || got[0] != "look: this node has no tool look" {
			t.Errorf("got %q, want one entry", got)
		}
		bare := newNode(t, store, nil)
		bare.Advisors = nil
		run(t, bare, id)
		run(t, bare, id)
		if got := lacks(); len(got) != 2 {
			t.Errorf("got %q, want one entry of each node", got)
		}
		run(t, able, id)
		if _, n := countCalls(calls); n != 1 || load(t, store, id).Ended == nil {
			t.Errorf("got %d calls, want the node with the tool to go on at once", n)
		}
	})
}

func countCalls(m *sync.Map) (int, int) { return calls(m) }

// TestAMissingAdvisorLeavesOneEntry.
func TestAMissingAdvisorLeavesOneEntry(t *testing.T) {
	t.Parallel()
	n := newNode(t, new(perdure.MemStore), nil)
	n.Advisors = nil
	id := create(t, n, perdure.Genesis{Intent: perdure.Intent{Advisor: "wise"}})
	for range 3 {
		run(t, n, id)
	}
	all := bodies(t, n.Store, id)
	ev, _ := all[len(all)-1].(perdure.Event)
	if l, ok := ev.Notice.(perdure.Lacks); len(all) != 2 || !ok || l.What != "advisor:wise" {
		t.Errorf("got %d entries, the last %+v, want one that says what is missing", len(all), ev)
	}
	if f := load(t, n.Store, id); f.Turns != 0 || len(f.Incapable) != 1 || len(f.Inbox) != 0 {
		t.Errorf("got %d turns and %+v, want only the incapability", f.Turns, f.Incapable)
	}
}

// TestAPollWithoutItsToolLeavesOneEntry, not one each time it is due.
func TestAPollWithoutItsToolLeavesOneEntry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newResting(t, perdure.Genesis{}, []perdure.Action{perdure.Sleep{Trigger: perdure.Every{Millis: 1000,
			Poll: perdure.Execute{Tool: "gone"}, Until: "true"}}})
		s.run()
		for range 5 {
			time.Sleep(2 * time.Second)
			s.run()
		}
		if got := s.fold(); got.Count != 4 || len(got.Incapable) != 1 {
			t.Errorf("got %d entries and %+v, want one that it cannot", got.Count, got.Incapable)
		}
	})
}

// TestAToolThatIgnoresItsContextDoesNotHoldUpRun: Run returns after the grace, and the effect is in doubt; the log
// names the tool.
func TestAToolThatIgnoresItsContextDoesNotHoldUpRun(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	began := make(chan struct{})
	pay := &tool{spec: perdure.Spec{Name: "pay", Effect: perdure.Once},
		call: func(context.Context, perdure.Call) (perdure.Result, error) {
			close(began)
			<-release
			return perdure.Result{}, nil
		}}
	n := newNode(t, new(perdure.MemStore), scripted(func(*perdure.Agent, int64) []perdure.Action {
		return []perdure.Action{perdure.Execute{Tool: "pay"}}
	}), pay)
	var log strings.Builder
	n.Grace, n.Log = 50*time.Millisecond, slog.New(slog.NewTextHandler(&log, nil))
	id := create(t, n, perdure.Genesis{})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	<-began
	stop()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("Run did not return")
	}
	if f := load(t, n.Store, id); len(f.Open) != 1 || !f.Open[0].Doubt {
		t.Errorf("got %+v open, want it in doubt", f.Open)
	}
	if !strings.Contains(log.String(), "tool=pay") {
		t.Errorf("the log does not name the tool: %s", &log)
	}
}

// TestAnAdvisorThatIgnoresItsContextDoesNotHoldUpRun.
func TestAnAdvisorThatIgnoresItsContextDoesNotHoldUpRun(t *testing.T) {
	t.Parallel()
	release, began := make(chan struct{}), make(chan struct{})
	defer close(release)
	n := newNode(t, new(perdure.MemStore), asked(func(context.Context, *perdure.Agent) (perdure.Advice, error) {
		close(began)
		<-release
		return perdure.Advice{}, nil
	}))
	create(t, n, perdure.Genesis{})
	n.Grace = 50 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	<-began
	stop()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatal("Run did not return")
	}
}

// TestAdviceUnderWayIsCutOffByAPauseAndAnEnd, and the pause has it on record.
func TestAdviceUnderWayIsCutOffByAPauseAndAnEnd(t *testing.T) {
	t.Parallel()
	for name, notice := range map[string]perdure.Notice{"pause": perdure.Pause{Note: "wait"},
		"cancel": perdure.Cancel{Note: "enough"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := make(chan struct{})
				n := newNode(t, new(perdure.MemStore), asked(
					func(ctx context.Context, _ *perdure.Agent) (perdure.Advice, error) {
						close(began)
						<-ctx.Done()
						return perdure.Advice{}, ctx.Err()
					}))
				id := create(t, n, perdure.Genesis{})
				done := make(chan perdure.Idle)
				go func() { done <- run(t, n, id) }()
				<-began
				if _, err := n.Tell(t.Context(), id, perdure.Event{Name: name, Notice: notice}); err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				<-done
				if took := time.Since(begun); took > 5*time.Second {
					t.Errorf("it took %s to stop", took)
				}
				all := bodies(t, n.Store, id)
				if a, ok := all[len(all)-1].(perdure.Advice); name == "pause" &&
					(!ok || a.Signal != perdure.Denied || !strings.Contains(a.Text, "paused")) {
					t.Errorf("got %+v last, want the advice that was cut off", all[len(all)-1])
				}
			})
		})
	}
}

// TestAnAgentWithoutMoneyRests with a recorded reason, waits for a person, and goes on when they grant more.
func TestAnAgentWithoutMoneyRests(t *testing.T) {
	t.Parallel()
	for name, amounts := range map[string]struct {
		budget perdure.Budget
		grant  perdure.Spend
	}{
		"cost":   {perdure.Budget{Cost: new(int64)}, perdure.Spend{Cost: 1000}},
		"tokens": {perdure.Budget{Tokens: new(int64)}, perdure.Spend{Tokens: 1000}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			budget := amounts.budget
			s := newResting(t, perdure.Genesis{Intent: perdure.Intent{Budget: &budget}},
				[]perdure.Action{perdure.End{Signal: perdure.OK}})
			for range 3 {
				idle := s.run()
				if !idle.Person || !idle.Is(phase.RestBudget) ||
					!strings.Contains(idle.Reasons[0].Note, "the budget is used up ("+name) {
					t.Fatalf("got %+v, want it to wait for a grant", idle)
				}
			}
			f := s.fold()
			if f.Sleep == nil || f.Count != 2 || !waiting(t, s.n.Store, s.id) {
				t.Fatalf("got %d entries and sleep %+v, want it put to sleep once", f.Count, f.Sleep)
			}
			owner := s.n
			if _, err := owner.Tell(t.Context(), s.id, perdure.Event{Name: "grant",
				Notice: perdure.Grant{Amount: amounts.grant}}); err != nil {
				t.Fatal(err)
			}
			s.run()
			if s.fold().Ended == nil {
				t.Error("it did not go on after the grant")
			}
		})
	}
}
