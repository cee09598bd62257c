package perdure_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// thinking hides that an advisor is instant, so that what it advises is durable before it is acted upon.
type thinking struct{ perdure.Advisor }

func TestEffectDoneAgainAfterItsDeadlineGetsItsTimeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		left := time.Duration(-1)
		put := &tool{spec: perdure.Spec{Name: "put", Effect: perdure.Idempotent, Deadline: time.Minute},
			call: func(ctx context.Context, c perdure.Call) (perdure.Result, error) {
				if !c.Again {
					<-ctx.Done() // until its node is stopped
					return perdure.Result{}, ctx.Err()
				}
				deadline, _ := ctx.Deadline()
				left = time.Until(deadline)
				return perdure.Result{}, ctx.Err()
			}}
		adv := scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
			if turn == 0 {
				return []perdure.Action{perdure.Execute{Tool: "put"}}
			}
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		})
		n := newNode(t, store, thinking{adv}, put)
		id := create(t, n, perdure.Genesis{})
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, stop)
		if _, err := n.RunAgent(ctx, id); err == nil {
			t.Fatal("a node that is stopped in the middle of a call says nothing of it")
		}
		time.Sleep(time.Hour)
		run(t, newNode(t, store, thinking{adv}, put), id)
		if left != time.Minute {
			t.Errorf("the second attempt, an hour later, had %v, want the minute the first had", left)
		}
		if f := load(t, store, id); f.Ended == nil {
			t.Errorf("the agent has not ended: %s", f.State())
		}
	})
}
