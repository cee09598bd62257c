package perdure_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// A tool that ends the goroutine it is called in takes the agent from nobody for longer than a lease, and whoever waits
// for the end of the agent hears of it.
func TestAToolThatEndsItsGoroutineKeepsNoClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, calls := new(perdure.MemStore), 0
		vanish := &tool{spec: perdure.Spec{Name: "vanish", Effect: perdure.Idempotent, Deadline: time.Minute},
			call: func(context.Context, perdure.Call) (perdure.Result, error) {
				if calls++; calls == 1 {
					runtime.Goexit()
				}
				return perdure.Result{}, nil
			}}
		adv := scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
			if turn == 0 {
				return []perdure.Action{perdure.Execute{Tool: "vanish"}}
			}
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		})
		one, other := newNode(t, s, adv, vanish), newNode(t, s, adv, vanish)
		id := create(t, one, perdure.Genesis{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		waited := make(chan error, 1)
		go func() {
			_, err := one.Ended(ctx, id)
			waited <- err
		}()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = one.RunAgent(ctx, id)
		}()
		<-ended
		if _, err := other.RunAgent(ctx, id); !errors.Is(err, perdure.ErrConflict) {
			t.Fatalf("while the lease lasts another node gets: %v, want a conflict", err)
		}
		time.Sleep(15 * time.Second)
		if _, err := other.RunAgent(ctx, id); err != nil {
			t.Fatalf("after the lease another node does not get the agent: %v", err)
		}
		time.Sleep(5 * time.Minute) // the decision that was under way is taken up after its deadline
		run(t, other, id)
		if f := load(t, s, id); f.Ended == nil {
			t.Fatalf("the agent does not go on after %d calls", calls)
		}
		if err := <-waited; err != nil {
			t.Errorf("who waits for its end: %v", err)
		}
	})
}
