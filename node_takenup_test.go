package perdure_test

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// leftOpen is an agent of a node that died with calls of tools open, whose time is up.
func leftOpen(t *testing.T, n *perdure.Node, tools ...string) perdure.AgentID {
	t.Helper()
	id := create(t, n, perdure.Genesis{})
	s := on(t, loaded(t, n.Store, id))
	s.key = n.Key
	for _, name := range tools {
		s.write(open(name, perdure.Idempotent))
	}
	put(t, n.Store, id, s.all...)
	return id
}

// Policy is asked about each effect that is taken up, not about the first alone.
func TestPolicyIsAskedAboutEachEffectTakenUp(t *testing.T) {
	t.Parallel()
	store := new(perdure.MemStore)
	good, did := counter("good", perdure.Idempotent)
	bad, wrong := counter("bad", perdure.Idempotent)
	n := newNode(t, store, scripted(nothing), good, bad)
	n.Policy = perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
		if x, ok := r.Action.(perdure.Execute); ok && x.Tool == "bad" {
			return perdure.Verdict{}
		}
		return perdure.Verdict{Answer: perdure.Allow}
	})
	id := leftOpen(t, n, "good", "bad", "good")
	run(t, n, id)
	if _, total := calls(wrong); total != 0 {
		t.Errorf("what policy forbids was called %d times", total)
	}
	if keys, total := calls(did); keys != 2 || total != 2 {
		t.Errorf("what policy allows was called %d times under %d keys, want twice under two", total, keys)
	}
	if f := load(t, store, id); len(f.Open) > 0 {
		t.Errorf("%d effects are open, want an outcome of each", len(f.Open))
	}
}

// A node takes up what is open one by one at least, whatever it is told.
func TestFewerThanNoneAtOnceIsOne(t *testing.T) {
	t.Parallel()
	store := new(perdure.MemStore)
	good, did := counter("good", perdure.Idempotent)
	n := newNode(t, store, scripted(nothing), good)
	n.Parallel = -1
	id := leftOpen(t, n, "good", "good")
	for range 16 {
		if _, err := n.Cycle(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	if _, total := calls(did); total != 2 {
		t.Errorf("%d of 2 calls were made", total)
	}
}

// Tools that end their goroutines, side by side, end the run as one alone does: each would be called again without end.
// What came of the call beside them is kept.
func TestToolsThatEndTheirGoroutinesSideBySideEndTheRun(t *testing.T) {
	t.Parallel()
	store := new(perdure.MemStore)
	good, did := counter("good", perdure.Idempotent)
	var gone atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	vanish := &tool{spec: perdure.Spec{Name: "vanish", Effect: perdure.Idempotent},
		call: func(context.Context, perdure.Call) (perdure.Result, error) {
			if gone.Add(1) > 16 {
				cancel() // it goes on without end
			}
			runtime.Goexit()
			return perdure.Result{}, nil
		}}
	n := newNode(t, store, scripted(nothing), good, vanish)
	id := leftOpen(t, n, "vanish", "good", "vanish")
	ended, returned := make(chan struct{}), false
	go func() {
		defer close(ended)
		_, _ = n.RunAgent(ctx, id) // what it returns, if it does, is not what this is about
		returned = true
	}()
	<-ended
	if returned || gone.Load() != 2 {
		t.Errorf("they were called %d times, and the run returned: %v; want twice, and that it ends with them",
			gone.Load(), returned)
	}
	if _, total := calls(did); total != 1 || len(load(t, store, id).Open) != 2 {
		t.Errorf("%d calls beside them, and %d effects are open, want one and two", total,
			len(load(t, store, id).Open))
	}
}
