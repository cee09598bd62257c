package perdure_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// claims is a store that counts claims and reads of heads.
type claims struct {
	*perdure.MemStore
	made, heads atomic.Int64
}

func (s *claims) Claim(ctx context.Context, id perdure.AgentID, node perdure.Key, lease time.Duration) (perdure.Claim,
	error) {
	s.made.Add(1)
	return s.MemStore.Claim(ctx, id, node, lease)
}

func (s *claims) Heads(ctx context.Context, id perdure.AgentID) ([]perdure.Hash, error) {
	s.heads.Add(1)
	return s.MemStore.Heads(ctx, id)
}

func TestAgentsNobodyHereCanServeCostNextToNothing(t *testing.T) {
	agents := 10_000
	if testing.Short() {
		agents = 3_000 // more than were remembered once
	}
	s := &claims{MemStore: new(perdure.MemStore)}
	keys, trust := fleet()
	maker := &perdure.Node{Store: s, Key: keys[0], Trust: trust}
	for i := range agents {
		create(t, maker, perdure.Genesis{Intent: perdure.Intent{Name: fmt.Sprint(i), Advisor: "elsewhere"}})
	}
	synctest.Test(t, func(t *testing.T) { // the clock of a bubble is behind that of the agents: make it later
		time.Sleep(time.Until(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)))
		n := newNode(t, s, scripted(func(*perdure.Agent, int64) []perdure.Action {
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}))
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error)
		go func() { ended <- n.Run(ctx) }()
		time.Sleep(time.Minute)
		first := s.made.Swap(0)
		if first < int64(agents) || first > int64(agents)+10 {
			t.Errorf("%d claims at first, want one for each of %d agents", first, agents)
		}
		s.heads.Store(0)
		time.Sleep(10 * time.Minute)
		if got := s.made.Load(); got > 60 {
			t.Errorf("%d claims in ten minutes in which nothing happened", got)
		}
		if got := s.heads.Load(); got > int64(agents) {
			t.Errorf("%d reads of heads in ten minutes in which nothing happened, of %d agents", got, agents)
		}
		for range 20 { // others find their node at once
			id := create(t, n, perdure.Genesis{})
			time.Sleep(time.Second)
			if load(t, s, id).Ended == nil {
				t.Fatal("a new agent was not found within a second")
			}
		}
		if got := s.made.Load(); got > 120 {
			t.Errorf("%d claims for 20 agents", got)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestANodeSetUpAnewTriesAtOnceWhatItCouldNotDo(t *testing.T) {
	synctest.Test(t, testSetUpAnew)
}

func testSetUpAnew(t *testing.T) {
	s := new(perdure.MemStore)
	keys, trust := fleet()
	able := false
	asked := 0
	adv := perdure.AdvisorFunc(func(context.Context, *perdure.Agent) (perdure.Advice, error) {
		if asked++; !able {
			return perdure.Advice{}, fmt.Errorf("no price for the model: %w", perdure.ErrIncapable)
		}
		return perdure.Advice{Actions: []perdure.Action{perdure.End{Signal: perdure.OK}}}, nil
	})
	node := func() *perdure.Node {
		return &perdure.Node{Store: s, Key: keys[1], Trust: trust, Policy: perdure.PolicyFunc(allow),
			Advisors: map[string]perdure.Advisor{"": adv}}
	}
	first := node()
	id := create(t, first, perdure.Genesis{})
	if idle := run(t, first, id); idle.Needs == "" {
		t.Fatalf("got %+v, want that it cannot", idle)
	}
	if run(t, first, id); asked != 1 {
		t.Fatalf("asked %d times, want once: nothing has changed", asked)
	}
	able = true
	time.Sleep(time.Second) // a process does not start in the millisecond in which the one before wrote its last entry
	if run(t, node(), id); load(t, s, id).Ended == nil {
		t.Fatal("a node that was set up anew did not try")
	}
}

func TestWhatOneNodeDoesNotTrustAnotherGoesOnWith(t *testing.T) {
	s := new(perdure.MemStore)
	end := scripted(func(*perdure.Agent, int64) []perdure.Action {
		return []perdure.Action{perdure.End{Signal: perdure.OK}}
	})
	able := newNode(t, s, end)
	stranger, err := perdure.GenerateSigner("stranger")
	if err != nil {
		t.Fatal(err)
	}
	id := create(t, able, perdure.Genesis{})
	wary := &perdure.Node{Store: s, Key: stranger, Policy: perdure.PolicyFunc(allow),
		Advisors: map[string]perdure.Advisor{"": end}}
	if idle := run(t, wary, id); !idle.Is(phase.RestHeld) {
		t.Fatalf("got %+v, want that it is held", idle)
	}
	for look, err := range s.Due(t.Context(), time.Now()) {
		if err != nil || look.Agent != id {
			t.Fatal(look, err)
		}
		return
	}
	t.Fatal("a node that does not trust the agent hid it from those that do")
}

// TestAClockThatWasAheadLeavesNoAgentIdle: outside the bubble it is today, a quarter of a century ahead of the clock in
// it.
func TestAClockThatWasAheadLeavesNoAgentIdle(t *testing.T) {
	s := new(perdure.MemStore)
	end := scripted(func(*perdure.Agent, int64) []perdure.Action {
		return []perdure.Action{perdure.End{Signal: perdure.OK}}
	})
	n := newNode(t, s, end)
	made, claimed := create(t, n, perdure.Genesis{}), create(t, n, perdure.Genesis{})
	if _, err := s.Claim(t.Context(), claimed, perdure.Key{9}, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- newNode(t, s, end).Run(ctx) }()
		time.Sleep(time.Minute)
		for name, id := range map[string]perdure.AgentID{"made": made, "claimed": claimed} {
			if load(t, s, id).Ended == nil {
				t.Errorf("the agent that was %s while the clock was ahead is idle", name)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
