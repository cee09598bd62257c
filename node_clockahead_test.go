package perdure_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// TestAnEntryOfAClockThatWasAheadHoldsNobodyUp works on agents until they rest, and then turns the clock back by a
// year: what they rest on was written while it was ahead.
func TestAnEntryOfAClockThatWasAheadHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		act  []perdure.Action
		ends func() (perdure.Result, error)
		ask  bool // the advisor fails
	}{
		"sleep": {act: []perdure.Action{perdure.Sleep{Trigger: perdure.After{Millis: 3_600_000}}}},
		"poll": {act: []perdure.Action{perdure.Sleep{Trigger: perdure.Every{Millis: 3_600_000,
			Poll: perdure.Execute{Tool: "look"}, Until: "result == 1"}}}},
		"throttled": {act: []perdure.Action{perdure.Execute{Tool: "look"}}, ends: func() (perdure.Result, error) {
			return perdure.Result{Signal: perdure.Throttled, RetryAfter: 600_000}, nil
		}},
		"advisor": {ask: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := new(perdure.MemStore)
			look := &tool{spec: perdure.Spec{Name: "look", Effect: perdure.Read},
				call: func(context.Context, perdure.Call) (perdure.Result, error) {
					if c.ends != nil {
						return c.ends()
					}
					return perdure.Result{}, nil
				}}
			advisor := perdure.AdvisorFunc(func(context.Context, *perdure.Agent) (perdure.Advice, error) {
				if c.ask {
					return perdure.Advice{}, errors.New("out of order")
				}
				return perdure.Advice{Actions: c.act}, nil
			})
			n := newNode(t, store, advisor, look)
			id := create(t, n, perdure.Genesis{})
			if idle := run(t, n, id); idle.Until == 0 {
				t.Fatalf("it does not wait for a time: %+v", idle)
			}
			a := loaded(t, store, id)
			then := time.Now().AddDate(-1, 0, 0)
			caps := perdure.Capabilities{All: true, Claimed: true}
			if idle, rests := perdure.Plan(a, caps, then).(perdure.Idle); rests &&
				idle.Until.Go().After(then.Add(perdure.MaxLease)) {
				t.Errorf("a year ahead of what it rests on it waits until %s: %+v", idle.Until, idle.Reasons)
			}
			if due := a.Fold().Due(then); due.Go().After(then.Add(perdure.MaxLease)) {
				t.Errorf("it is due %s", due)
			}
			if idle, rests := perdure.Plan(a, caps, time.Now().Add(-time.Minute)).(perdure.Idle); !rests {
				t.Errorf("a minute ahead counts as a year: %#v, want to wait",
					perdure.Plan(a, caps, time.Now().Add(-time.Minute)))
			} else if idle.Until == 0 {
				t.Errorf("a minute ahead: it waits for nothing: %+v", idle)
			}
		})
	}
}

func TestAnEffectBegunWhileTheClockWasAheadIsLookedIntoNow(t *testing.T) {
	t.Parallel()
	store := new(perdure.MemStore)
	pay, _ := counter("pay", perdure.Once)
	n := newNode(t, store, scripted(steps("pay", 1)), pay)
	id := create(t, n, perdure.Genesis{})
	a := loaded(t, store, id)
	now := time.Now()
	ahead := now.AddDate(1, 0, 0)
	advised, a, err := n.Key.Commit(a, ahead,
		perdure.Draft{Body: perdure.Advice{Actions: []perdure.Action{perdure.Execute{Tool: "pay"}}}})
	if err != nil {
		t.Fatal(err)
	}
	_, a, err = n.Key.Commit(a, ahead, perdure.Draft{Body: perdure.Decision{Advice: advised[0].Name,
		Effect:  perdure.Once,
		Verdict: perdure.Verdict{Answer: perdure.Allow}, Deadline: perdure.TimeOf(ahead.Add(5 * time.Minute))}})
	if err != nil {
		t.Fatal(err)
	}
	caps := perdure.Capabilities{Node: n.Key.Key(), Tools: map[string]perdure.Spec{"pay": pay.spec},
		Advisors: []string{""}}
	if idle, ok := perdure.Plan(a, caps, now).(perdure.Idle); !ok || idle.Person {
		t.Errorf("who does not hold the agent: %+v, want to leave it to who does", idle)
	}
	caps.Claimed = true
	if step := perdure.Plan(a, caps, now); step.Doing().What != phase.StepReconcile {
		t.Errorf("who holds the agent: %#v, want to look into it at once, not in a year", step)
	}
	if due := a.Fold().Due(now); due.Go().After(now.Add(perdure.MaxLease)) {
		t.Errorf("it is due %s", due)
	}
}

// A machine whose clock is a year ahead tells an agent something. When a node should look is by its clock: a node that
// runs looks all the same.
func TestAWordFromAClockThatIsAheadIsHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		n := newNode(t, store, perdure.AdvisorFunc(func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
			if a.Fold().Turns == 0 {
				return perdure.Advice{Actions: []perdure.Action{perdure.Sleep{Trigger: perdure.On{Event: "go"}}}}, nil
			}
			return perdure.Advice{Actions: []perdure.Action{perdure.End{Signal: perdure.OK}}}, nil
		}))
		id := create(t, n, perdure.Genesis{})
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- n.Run(ctx) }()
		time.Sleep(time.Minute)
		a := loaded(t, store, id)
		if a.Fold().Sleep == nil {
			t.Fatal("it does not sleep")
		}
		ahead := time.Now().AddDate(1, 0, 0)
		told, a, err := n.Key.Commit(a, ahead, perdure.Draft{Body: perdure.Event{Name: "go"}})
		if err == nil {
			err = store.Append(ctx, id, told[0].Parents, told...)
		}
		if err == nil {
			err = store.Index(ctx, a.Heads(), a.Listing(ahead))
		}
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Minute)
		if a := loaded(t, store, id); a.Fold().Ended == nil {
			t.Errorf("nobody has looked: %+v", perdure.Plan(a, perdure.Capabilities{All: true}, time.Now()))
		}
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}
