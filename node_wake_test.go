package perdure_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

func TestWhatArrivesBeforeTheLastCommitIsNotSleptThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		var n *perdure.Node
		pay, _ := counter("pay", perdure.Once)
		post := &tool{spec: perdure.Spec{Name: "post", Effect: perdure.Once, Deadline: time.Second},
			call: func(ctx context.Context, c perdure.Call) (perdure.Result, error) {
				<-ctx.Done() // in doubt; but before anybody notes that, somebody settles it
				_, err := n.Tell(context.Background(), c.Agent, perdure.Event{Name: "settled",
					Notice: perdure.Settle{Decision: c.Decision, Signal: perdure.OK}})
				if err != nil {
					t.Error(err)
				}
				return perdure.Result{}, ctx.Err()
			}}
		n = newNode(t, store, scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
			if turn == 0 {
				return []perdure.Action{perdure.Execute{Tool: "pay"}, perdure.Execute{Tool: "post"}}
			}
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}), pay, post)
		id := create(t, n, perdure.Genesis{})
		idle := run(t, n, id)
		if f := load(t, store, id); f.Ended == nil {
			t.Errorf("the node left the agent (%+v), which is %s, and it is settled what it waits for", idle.Reasons,
				f.State())
		}
	})
}

// lateStore is a store in which something arrives just after an agent was given up.
type lateStore struct {
	*perdure.MemStore
	once sync.Once
	late func()
}

func (s *lateStore) Release(ctx context.Context, c perdure.Claim, heads []perdure.Hash, due perdure.Time) error {
	err := s.MemStore.Release(ctx, c, heads, due)
	s.once.Do(s.late)
	return err
}

func TestWhatArrivesJustAfterAnAgentWasLeftWakesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &lateStore{MemStore: new(perdure.MemStore)}
		n := newNode(t, store, scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
			if turn == 0 {
				return []perdure.Action{perdure.Sleep{Trigger: perdure.On{Event: "go"}}}
			}
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}))
		id := create(t, n, perdure.Genesis{})
		store.late = func() {
			if _, err := n.Tell(context.Background(), id, perdure.Event{Name: "go"}); err != nil {
				t.Error(err)
			}
		}
		ctx, stop := context.WithCancel(t.Context())
		ran := make(chan error)
		go func() { ran <- n.Run(ctx) }()
		time.Sleep(3 * time.Second)
		if f := load(t, store, id); f.Ended == nil {
			t.Errorf("three seconds after the event the agent is %s", f.State())
		}
		stop()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}
