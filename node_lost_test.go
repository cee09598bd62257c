package perdure_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// severed is a store whose renewals do not get through while it is cut off.
type severed struct {
	*perdure.MemStore
	off atomic.Bool
}

func (s *severed) Renew(ctx context.Context, c perdure.Claim, lease time.Duration) error {
	if s.off.Load() {
		return errFlaky
	}
	return s.MemStore.Renew(ctx, c, lease)
}

// TestWhoHasLostAnAgentLeavesIt takes an agent from a node that is cut off in the middle of a call.
func TestWhoHasLostAnAgentLeavesIt(t *testing.T) {
	for name, other := range map[string]struct {
		heals time.Duration // after which its renewals get through again: before the call ends, or as it does
		tells bool          // the other node writes something
	}{
		"told by a renewal": {15 * time.Second, false},
		"finding an entry":  {20*time.Second - 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &severed{MemStore: new(perdure.MemStore)}
				var begun atomic.Int64
				slow := &tool{spec: perdure.Spec{Name: "slow", Effect: perdure.Read},
					call: func(context.Context, perdure.Call) (perdure.Result, error) {
						if begun.Add(1) == 1 {
							time.Sleep(20 * time.Second)
						}
						return perdure.Result{}, nil
					}}
				n := newNode(t, s, scripted(steps("slow", 3)), slow)
				id := create(t, n, perdure.Genesis{})
				s.off.Store(true)
				go func() {
					time.Sleep(11 * time.Second)
					if _, err := s.Claim(t.Context(), id, perdure.Key{1}, time.Hour); err != nil {
						t.Error(err)
					}
					if other.tells {
						if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "news"}); err != nil {
							t.Error(err)
						}
					}
					time.Sleep(other.heals - 11*time.Second)
					s.off.Store(false)
				}()
				idle, err := n.RunAgent(t.Context(), id)
				if !errors.Is(err, perdure.ErrConflict) {
					t.Errorf("it rests for %+v, %v; want to leave it to the other", idle, err)
				}
				if begun.Load() != 1 {
					t.Errorf("%d calls began, want only the one that was under way", begun.Load())
				}
			})
		})
	}
}

// TestAKeyIsDurableBeforeItIsUsed has a proposal carried out that is durable, because another beside it is asked about:
// its decision is in the store before it begins, and its key with it.
func TestAKeyIsDurableBeforeItIsUsed(t *testing.T) {
	store := new(perdure.MemStore)
	var id perdure.AgentID
	var called atomic.Int64
	put := &tool{spec: perdure.Spec{Name: "put", Effect: perdure.Idempotent},
		call: func(_ context.Context, c perdure.Call) (perdure.Result, error) {
			called.Add(1)
			f := load(t, store, id)
			if len(f.Asks) != 1 {
				t.Error("the proposal is not durable: this test shows nothing")
			}
			if len(f.Open) != 1 || f.Open[0].Key.String() != c.Key {
				t.Errorf("the store has %+v, want a decision with key %s", f.Open, c.Key)
			}
			return perdure.Result{}, nil
		}}
	pay, _ := counter("pay", perdure.Once)
	n := newNode(t, store, scripted(func(*perdure.Agent, int64) []perdure.Action {
		return []perdure.Action{perdure.Execute{Tool: "pay"}, perdure.Execute{Tool: "put"}}
	}), put, pay)
	n.Policy = perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
		if x, ok := r.Action.(perdure.Execute); ok && x.Tool == "pay" {
			return perdure.Verdict{Answer: perdure.Ask}
		}
		return perdure.Verdict{Answer: perdure.Allow}
	})
	id = create(t, n, perdure.Genesis{})
	run(t, n, id)
	if called.Load() != 1 {
		t.Errorf("it was called %d times, want once", called.Load())
	}
}
