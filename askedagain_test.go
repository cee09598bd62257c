package perdure_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// TestAnEffectThatIsAskedAboutAgainKeepsItsKey holds against approved effects that were tried again, after another approval, as new ones: under
// a key of their own, so that what is behind an idempotent tool did them twice.
func TestAnEffectThatIsAskedAboutAgainKeepsItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys []string
		var tries atomic.Int32
		spec := perdure.Spec{Name: "note", Effect: perdure.Idempotent, Deadline: time.Second}
		note := &tool{spec: spec, call: func(ctx context.Context, c perdure.Call) (perdure.Result, error) {
			keys = append(keys, c.Key)
			if tries.Add(1) == 1 {
				<-ctx.Done()
				return perdure.Result{}, ctx.Err()
			}
			return perdure.Result{}, nil
		}}
		advise := func(_ *perdure.Agent, turn int64) []perdure.Action {
			if turn > 0 {
				return []perdure.Action{perdure.End{Signal: perdure.OK}}
			}
			return []perdure.Action{perdure.Mutate{Labels: map[string]string{"a": "b"}}, perdure.Execute{Tool: "note"}}
		}
		n := newNode(t, new(perdure.MemStore), scripted(advise), note)
		n.Policy = perdure.PolicyFunc(askWrites)
		id := create(t, n, perdure.Genesis{})
		for range 2 {
			run(t, n, id)
			f := load(t, n.Store, id)
			if len(f.Asks) != 1 {
				t.Fatalf("%d questions, want one", len(f.Asks))
			}
			approve(t, n, id, &f.Asks[0])
			run(t, n, id)
			time.Sleep(time.Minute)
		}
		if len(keys) != 2 || len(slices.Compact(keys)) != 1 {
			t.Errorf("it was called under the keys %v, want one key twice", keys)
		}
	})
}
