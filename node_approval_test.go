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

// TestAnEffectThatIsAskedAboutAgainKeepsItsKey holds against approved effects that were tried again, after another
// approval, as new ones: under a key of their own, so that what is behind an idempotent tool did them twice.
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

// TestAnApprovalRepeatedInACopyDoesNotUndoItsUse holds against a payment made twice: a person approved it, it was made,
// and in a copy that did not know the same person had approved it again. Merged, the repetition took the place of the
// approval that was used.
func TestAnApprovalRepeatedInACopyDoesNotUndoItsUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pay, seen := counter("pay", perdure.Once)
		n := newNode(t, new(perdure.MemStore), scripted(steps("pay", 2)), pay)
		n.Policy = perdure.PolicyFunc(askWrites)
		id := create(t, n, perdure.Genesis{})
		run(t, n, id)
		there := newNode(t, new(perdure.MemStore), scripted(steps("pay", 2)), pay)
		there.Key, there.Policy = n.Key, n.Policy
		move := func(from, to perdure.Store) { copyTo(t, from, to, id) }
		ask := load(t, n.Store, id).Asks[0]
		approve(t, n, id, &ask)
		move(n.Store, there.Store)
		approve(t, there, id, &ask) // at the seq of the decision below, or before it
		if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "meanwhile"}); err != nil {
			t.Fatal(err)
		}
		run(t, n, id)
		move(there.Store, n.Store)
		run(t, n, id)
		if _, total := calls(seen); total != 1 {
			t.Errorf("%d payments, want one", total)
		}
		if f := load(t, n.Store, id); len(f.Asks) != 1 || f.Asks[0].Decision == ask.Decision {
			t.Errorf("%d questions are open, want one about the second payment", len(f.Asks))
		}
	})
}

// TestOnePersonIsOneVoterHoweverOften holds against a quorum of two that one person made by approving in two copies.
func TestOnePersonIsOneVoterHoweverOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pay, seen := counter("pay", perdure.Once)
		n := newNode(t, new(perdure.MemStore), scripted(steps("pay", 1)), pay)
		n.Policy = perdure.PolicyFunc(func(a *perdure.Agent, r perdure.Request, now time.Time) perdure.Verdict {
			v := askWrites(a, r, now)
			v.Quorum = 2
			return v
		})
		id := create(t, n, perdure.Genesis{})
		run(t, n, id)
		q := load(t, n.Store, id).Asks[0]
		for range 3 {
			approve(t, n, id, &q)
		}
		run(t, n, id)
		if _, total := calls(seen); total != 0 {
			t.Errorf("%d payments by the approval of one person, want none", total)
		}
		if f := load(t, n.Store, id); len(f.Asks) != 1 {
			t.Errorf("%d questions are open, want the one that lacks an approval", len(f.Asks))
		}
	})
}
