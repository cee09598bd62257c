package perdure_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// outcomesOf counts the outcomes in a memory.
func outcomesOf(t *testing.T, s perdure.Store, id perdure.AgentID) (n int) {
	t.Helper()
	for e, err := range s.Entries(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == perdure.KindOutcome {
			n++
		}
	}
	return n
}

// A payment is answered at once, and a call beside it takes a minute: what came of the payment is durable meanwhile.
func TestAnOutcomeDoesNotWaitForASlowerOne(t *testing.T) {
	t.Parallel()
	for _, told := range []bool{false, true} { // somebody else writes meanwhile
		synctest.Test(t, func(t *testing.T) {
			store := new(perdure.MemStore)
			takes := func(name string, d time.Duration) *tool {
				return &tool{spec: perdure.Spec{Name: name, Effect: perdure.Once},
					call: func(context.Context, perdure.Call) (perdure.Result, error) {
						time.Sleep(d)
						return perdure.Result{}, nil
					}}
			}
			n := newNode(t, store, scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
				if turn > 0 {
					return []perdure.Action{perdure.End{Signal: perdure.OK}}
				}
				return []perdure.Action{perdure.Execute{Tool: "slow"}, perdure.Execute{Tool: "pay"},
					perdure.Execute{Tool: "pay2"}}
			}), takes("slow", time.Minute), takes("pay", time.Second), takes("pay2", time.Second+time.Millisecond))
			id := create(t, n, perdure.Genesis{})
			done := make(chan error)
			go func() {
				_, err := n.RunAgent(t.Context(), id)
				done <- err
			}()
			time.Sleep(500 * time.Millisecond)
			if told {
				if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "news"}); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(3 * time.Second)
			if got := outcomesOf(t, store, id); got != 2 {
				t.Errorf("told %v: %d outcomes are durable while the slow call goes on, want 2", told, got)
			}
			if err := <-done; err != nil {
				t.Fatal(err)
			}
			f := load(t, store, id)
			if got := outcomesOf(t, store, id); got != 3 || f.Ended == nil || len(f.Conflicts) > 0 {
				t.Errorf("told %v: %d outcomes, want 3; ended %+v, conflicts %+v", told, got, f.Ended, f.Conflicts)
			}
			if slices.ContainsFunc(f.Open, func(o perdure.Open) bool { return o.Doubt }) {
				t.Error("something is in doubt")
			}
		})
	}
}
