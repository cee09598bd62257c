package perdure_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// claimed is a store that counts claims, and may take its time for each.
type claimed struct {
	*perdure.MemStore
	claims atomic.Int64
	slow   atomic.Int64 // nanoseconds
}

func (s *claimed) Claim(ctx context.Context, id perdure.AgentID, node perdure.Key,
	lease time.Duration) (perdure.Claim, error) {
	s.claims.Add(1)
	time.Sleep(time.Duration(s.slow.Load()))
	return s.MemStore.Claim(ctx, id, node, lease)
}

// quietly runs nodes for a minute over an agent that polls each second and is told the same each time, and says how
// often that was.
func quietly(t *testing.T, store *claimed, nodes int) (id perdure.AgentID, asked int64) {
	t.Helper()
	var count atomic.Int64
	status := &tool{spec: perdure.Spec{Name: "status", Effect: perdure.Read}}
	status.call = func(context.Context, perdure.Call) (perdure.Result, error) {
		count.Add(1)
		data, err := perdure.DataOf(map[string]any{"ready": false})
		return perdure.Result{Data: data}, err
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, nodes)
	for i := range nodes {
		n := newNode(t, store, scripted(func(*perdure.Agent, int64) []perdure.Action {
			return []perdure.Action{perdure.Sleep{Trigger: perdure.Every{Millis: 1000,
				Poll: perdure.Execute{Tool: "status"}, Until: "result.ready"}}}
		}), status)
		if i == 0 {
			id = create(t, n, perdure.Genesis{})
		}
		go func() { done <- n.Run(ctx) }()
	}
	time.Sleep(time.Minute)
	stop()
	for range nodes {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	return id, count.Load()
}

// TestAPollThatLearnsNothingWritesNothing: the store is told once in a lease that a node looks after the agent, not at
// each poll; when the node stops, others need not wait.
func TestAPollThatLearnsNothingWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &claimed{MemStore: new(perdure.MemStore)}
		id, asked := quietly(t, store, 1)
		if asked < 55 || asked > 61 {
			t.Errorf("it was polled %d times in a minute, want 60", asked)
		}
		if got := store.claims.Load(); got > 12 {
			t.Errorf("%d claims for %d polls, want one in a lease", got, asked)
		}
		for look, err := range store.Due(t.Context(), time.Now().Add(2*time.Second)) {
			if err != nil || look.Agent != id {
				t.Errorf("got %v and %v, want the agent", look, err)
			}
			return
		}
		t.Error("the node has stopped, and nobody is to look at the agent")
	})
}

// TestManyPolledAgentsDoNotHoldUpAStop: those that a node did not come to tell the store of are looked after by others
// when its lease is up.
func TestManyPolledAgentsDoNotHoldUpAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &claimed{MemStore: new(perdure.MemStore)}
		status := &tool{spec: perdure.Spec{Name: "status", Effect: perdure.Read}}
		status.call = func(context.Context, perdure.Call) (perdure.Result, error) { return perdure.Result{}, nil }
		n := newNode(t, store, scripted(func(*perdure.Agent, int64) []perdure.Action {
			return []perdure.Action{perdure.Sleep{Trigger: perdure.Every{Millis: 1000,
				Poll: perdure.Execute{Tool: "status"}, Until: "result.ready"}}}
		}), status)
		const agents = 50
		for range agents {
			create(t, n, perdure.Genesis{})
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx) }()
		time.Sleep(time.Minute)
		store.slow.Store(int64(time.Second))
		began := time.Now()
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("to stop took %s", took)
		}
		due := map[perdure.AgentID]bool{}
		for look, err := range store.Due(t.Context(), time.Now().Add(time.Minute)) {
			if err != nil {
				t.Fatal(err)
			}
			due[look.Agent] = true
		}
		if len(due) != agents {
			t.Errorf("%d agents are looked at again, want %d", len(due), agents)
		}
	})
}

// TestNodesShareAPoll: what is to be asked once a second is, however many nodes there are.
func TestNodesShareAPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &claimed{MemStore: new(perdure.MemStore)}
		if _, asked := quietly(t, store, 3); asked < 50 || asked > 70 {
			t.Errorf("three nodes polled %d times in a minute, want about 60", asked)
		}
	})
}
