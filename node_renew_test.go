package perdure_test

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// flaky is a store that fails now and then: the first renewals, and the first watches.
type flaky struct {
	*perdure.MemStore
	renewals, watches atomic.Int64
}

var errFlaky = errors.New("the line broke")

func (s *flaky) Renew(ctx context.Context, c perdure.Claim, lease time.Duration) error {
	if s.renewals.Add(1)%2 == 1 {
		return errFlaky
	}
	return s.MemStore.Renew(ctx, c, lease)
}

func (s *flaky) Watch(ctx context.Context) iter.Seq2[perdure.AgentID, error] {
	if s.watches.Add(1) == 1 {
		return func(yield func(perdure.AgentID, error) bool) { yield(perdure.AgentID{}, errFlaky) }
	}
	return s.MemStore.Watch(ctx)
}

// TestARenewalThatFailsIsTriedAgain lets a call last for many leases in a store that does not answer every renewal.
func TestARenewalThatFailsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &flaky{MemStore: new(perdure.MemStore)}
		n := newNode(t, s, scripted(func(*perdure.Agent, int64) []perdure.Action {
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}))
		n.Lease = 6 * time.Second
		n.Advisors[""] = lengthy{n.Advisors[""], 5 * time.Minute}
		id := create(t, n, perdure.Genesis{})
		ended := make(chan error)
		go func() {
			_, err := n.RunAgent(t.Context(), id)
			ended <- err
		}()
		for range 50 {
			time.Sleep(5 * time.Second)
			if _, err := s.Claim(t.Context(), id, perdure.Key{1}, time.Second); !errors.Is(err, perdure.ErrConflict) {
				t.Fatalf("it was given up while its advisor was asked: %v", err)
			}
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	})
}

// lengthy is an advisor that takes its time.
type lengthy struct {
	perdure.Advisor
	takes time.Duration
}

func (a lengthy) Advise(ctx context.Context, g *perdure.Agent) (perdure.Advice, error) {
	time.Sleep(a.takes)
	return a.Advisor.Advise(ctx, g)
}

// TestAWatchThatBreaksIsBegunAgain lets the first watch of a store break.
func TestAWatchThatBreaksIsBegunAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &flaky{MemStore: new(perdure.MemStore)}
		n := newNode(t, s, scripted(func(*perdure.Agent, int64) []perdure.Action {
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}))
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error)
		go func() { ended <- n.Run(ctx) }()
		time.Sleep(time.Minute)
		if s.watches.Load() != 2 {
			t.Errorf("%d watches, want a second one after the first broke", s.watches.Load())
		}
		id := create(t, n, perdure.Genesis{})
		time.Sleep(100 * time.Millisecond) // sooner than it looks by itself
		if load(t, s, id).Ended == nil {
			t.Error("what arrived was not told")
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
