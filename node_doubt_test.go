package perdure_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

func TestAToolCanSayAtOnceThatNobodyKnows(t *testing.T) {
	doubtful := func(effect perdure.Effect) (perdure.Tool, *int) {
		calls := new(int)
		return &tool{spec: perdure.Spec{Name: "pay", Effect: effect},
			call: func(_ context.Context, c perdure.Call) (perdure.Result, error) {
				if *calls++; *calls == 1 {
					return perdure.Result{}, fmt.Errorf("the connection broke: %w", perdure.ErrInDoubt)
				}
				return perdure.Result{}, nil
			}}, calls
	}
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		pay, calls := doubtful(perdure.Once)
		n := newNode(t, store, scripted(steps("pay", 1)), pay)
		id := create(t, n, perdure.Genesis{})
		start := time.Now()
		idle := run(t, n, id)
		if !idle.Person || !idle.Is(phase.RestDoubt) || time.Since(start) > 0 {
			t.Errorf("idle %+v after %v, want a person asked at once", idle, time.Since(start))
		}
		o := load(t, store, id).Open[0]
		if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "settle",
			Notice: perdure.Settle{Decision: o.Decision, Signal: perdure.OK}}); err != nil {
			t.Fatal(err)
		}
		run(t, n, id)
		if f := load(t, store, id); f.Ended == nil || *calls != 1 {
			t.Errorf("after it was settled the agent is %s with %d calls, want it ended with one", f.State(), *calls)
		}
	})
	t.Run("idempotent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			store := new(perdure.MemStore)
			pay, calls := doubtful(perdure.Idempotent)
			n := newNode(t, store, scripted(steps("pay", 1)), pay)
			id := create(t, n, perdure.Genesis{})
			run(t, n, id)
			time.Sleep(time.Minute)
			run(t, n, id)
			if f := load(t, store, id); f.Ended == nil || *calls != 2 {
				t.Errorf("the agent is %s after %d calls, want it ended after a second one under the same key",
					f.State(), *calls)
			}
		})
	})
	t.Run("reconciled", func(t *testing.T) {
		store := new(perdure.MemStore)
		pay := &looker{tool{spec: perdure.Spec{Name: "pay", Effect: perdure.Once},
			call: func(context.Context, perdure.Call) (perdure.Result, error) {
				return perdure.Result{}, perdure.ErrInDoubt
			}, reconcile: func(perdure.Call) (perdure.Result, error) {
				return perdure.Result{Note: "it is in the books"}, nil
			}}}
		n := newNode(t, store, scripted(steps("pay", 1)), pay)
		id := create(t, n, perdure.Genesis{})
		run(t, n, id)
		if f := load(t, store, id); f.Ended == nil {
			t.Errorf("the agent is %s, want it ended: the tool looked", f.State())
		}
	})
}

// costly is an advisor whose advice is not free, during which something happens.
type costly struct {
	asked  int
	during func()
}

func (c *costly) Advise(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
	if c.asked++; c.asked == 1 {
		c.during()
	}
	adv := perdure.Advice{Usage: &perdure.Usage{In: 100}}
	if a.Fold().Turns > 0 {
		adv.Actions = []perdure.Action{perdure.End{Signal: perdure.OK}}
		return adv, nil
	}
	adv.Actions = []perdure.Action{perdure.Execute{Tool: "step"}}
	return adv, nil
}

func TestAdviceIsNotPaidForTwiceBecauseSomethingArrived(t *testing.T) {
	store := new(perdure.MemStore)
	step, seen := counter("step", perdure.Once)
	adv := new(costly)
	n := newNode(t, store, adv, step)
	id := create(t, n, perdure.Genesis{})
	adv.during = func() {
		if _, err := n.Tell(context.Background(), id, perdure.Event{Name: "news"}); err != nil {
			t.Error(err)
		}
	}
	run(t, n, id)
	f := load(t, store, id)
	if _, total := calls(seen); adv.asked != 2 || total != 1 || f.Spent.Tokens != 200 || f.Ended == nil {
		t.Errorf("asked %d times for %d tokens, %d effects, %s; want 2, 200, 1, terminated", adv.asked, f.Spent.Tokens,
			total, f.State())
	}
}

func TestAdviceForAnAgentThatWasEditedMeanwhileIsOnlyPaidFor(t *testing.T) {
	store := new(perdure.MemStore)
	step, seen := counter("step", perdure.Once)
	adv := new(costly)
	n := newNode(t, store, adv, step)
	id := create(t, n, perdure.Genesis{})
	goal := "do nothing"
	adv.during = func() {
		if _, err := n.Edit(t.Context(), id, perdure.Mutate{Goal: &goal}, nil); err != nil {
			t.Error(err)
		}
	}
	run(t, n, id)
	f := load(t, store, id)
	if _, total := calls(seen); adv.asked != 2 || total != 0 || f.Spent.Tokens != 200 || f.Ended == nil ||
		len(f.Inbox) != 0 {
		t.Errorf("asked %d times for %d tokens, %d effects, %s; want 2, 200, none, terminated, and told of the edit",
			adv.asked, f.Spent.Tokens, total, f.State())
	}
}

func TestAdviceForAnAgentThatEndedMeanwhileIsOnlyPaidFor(t *testing.T) {
	store := new(perdure.MemStore)
	step, seen := counter("step", perdure.Once)
	adv := new(costly)
	n := newNode(t, store, adv, step)
	id := create(t, n, perdure.Genesis{})
	adv.during = func() {
		if _, err := n.Tell(context.Background(), id, perdure.Event{Name: "cancel",
			Notice: perdure.Cancel{}}); err != nil {
			t.Error(err)
		}
	}
	run(t, n, id)
	f := load(t, store, id)
	if _, total := calls(seen); total != 0 || f.Spent.Tokens != 100 {
		t.Errorf("%d effects and %d tokens, want none and the 100 of the advice", total, f.Spent.Tokens)
	}
}

func TestANodeThatCouldNotIsAskedAgainLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		able := false
		train := &tool{spec: perdure.Spec{Name: "train", Effect: perdure.Read},
			call: func(context.Context, perdure.Call) (perdure.Result, error) {
				if !able {
					return perdure.Result{}, fmt.Errorf("no key is set: %w", perdure.ErrIncapable)
				}
				return perdure.Result{}, nil
			}}
		n := newNode(t, store, scripted(steps("train", 1)), train)
		id := create(t, n, perdure.Genesis{})
		if idle := run(t, n, id); idle.Needs != "train" || !strings.Contains(idle.Reasons[0].Note, "no key is set") {
			t.Errorf("idle: %+v, want it to say what it lacks and why", idle)
		}
		able = true
		time.Sleep(30 * time.Second)
		run(t, n, id)
		if load(t, store, id).Ended != nil {
			t.Error("asked again within the minute")
		}
		time.Sleep(31 * time.Second)
		run(t, n, id)
		if f := load(t, store, id); f.Ended == nil {
			t.Errorf("a minute later the agent is still %s", f.State())
		}
	})
}

// TestWhatHappenedIsNotTriedAgainOnWhatSomebodySaid holds against an effect that was owed, and done again, because its
// settlement by a person came before the outcome of the node that was performing it.
func TestWhatHappenedIsNotTriedAgainOnWhatSomebodySaid(t *testing.T) {
	for _, signal := range []perdure.Signal{perdure.Throttled, perdure.Incapable} {
		synctest.Test(t, func(t *testing.T) {
			var n *perdure.Node
			var id perdure.AgentID
			total := 0
			pay := &tool{spec: perdure.Spec{Name: "pay", Effect: perdure.Once, Deadline: time.Minute}}
			pay.call = func(ctx context.Context, _ perdure.Call) (perdure.Result, error) {
				if total++; total == 1 {
					said := perdure.Settle{Decision: load(t, n.Store, id).Open[0].Decision, Signal: signal}
					if _, err := n.Tell(ctx, id, perdure.Event{Name: "settle", Notice: said}); err != nil {
						t.Error(err)
					}
				}
				return perdure.Result{}, nil
			}
			n = newNode(t, new(perdure.MemStore), scripted(steps("pay", 1)), pay)
			id = create(t, n, perdure.Genesis{})
			for range 5 {
				run(t, n, id)
				time.Sleep(time.Hour)
			}
			if total != 1 {
				t.Errorf("%s: it was done %d times", signal, total)
			}
		})
	}
}
