package storetest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

var swarming = map[string]func(*testing.T, *suite){
	"UnequalNodesStarveNobody": testUnequalNodes,
}

// tally counts the claims of agents made through a store.
type tally struct {
	perdure.Store
	perdure.Claimer
	perdure.Lister
	perdure.Watcher
	mu     *sync.Mutex
	claims *claims
}

// claims are how many claims there were: that were granted, and that were refused since another node had the agent.
type claims struct{ granted, refused int }

func (s *tally) Claim(ctx context.Context, id perdure.AgentID, node perdure.Key, lease time.Duration) (perdure.Claim,
	error) {
	c, err := s.Claimer.Claim(ctx, id, node, lease)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.claims.granted++
	} else {
		s.claims.refused++
	}
	return c, err
}

// noop is a tool that does nothing.
type noop string

func (t noop) Spec() perdure.Spec {
	return perdure.Spec{Name: string(t), Effect: perdure.Idempotent}
}

func (t noop) Call(context.Context, perdure.Call) (perdure.Result, error) {
	return perdure.Result{}, nil
}

// testUnequalNodes lets three nodes, each with one tool, work on agents that need all three in turn.
func testUnequalNodes(t *testing.T, s *suite) {
	claimer, ok := s.Store.(perdure.Claimer)
	if !ok {
		t.Skip("without claims nodes get in each other's way")
	}
	agents := 60
	switch {
	case os.Getenv("PERDURE_TORTURE") == "long":
		agents = 200
	case testing.Short():
		agents = 30
	}
	tools := []noop{"one", "two", "three"}
	advisor := perdure.AdvisorFunc(func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
		var actions []perdure.Action
		for i := range tools {
			actions = append(actions, perdure.Execute{Tool: string(tools[(i+int(a.ID()[0]))%len(tools)])})
		}
		return perdure.Advice{Actions: append(actions, perdure.End{Signal: perdure.OK})}, nil
	})
	policy := perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
		return perdure.Verdict{Answer: perdure.Allow, Rules: []string{"all"}}
	})
	counted := &tally{Store: s.Store, Claimer: claimer, mu: new(sync.Mutex), claims: new(claims)}
	trust := new(perdure.Trust)
	var nodes []*perdure.Node
	for i, tool := range tools {
		key := newAuthor(t).Signer
		trust = trust.With(perdure.Trustee{Key: key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
		store := counted
		if !s.Volatile && i > 0 { // as processes have it: a handle each
			other := s.open()
			store = &tally{Store: other, Claimer: other.(perdure.Claimer), mu: counted.mu, claims: counted.claims}
		}
		store.Lister, _ = store.Store.(perdure.Lister)
		store.Watcher, _ = store.Store.(perdure.Watcher)
		nodes = append(nodes, &perdure.Node{Store: store, Key: key, Policy: policy, Tools: []perdure.Tool{tool},
			Advisors: map[string]perdure.Advisor{"": advisor}})
	}
	var ids []perdure.AgentID
	for _, n := range nodes {
		n.Trust = trust
	}
	for i := range agents {
		a, err := nodes[i%3].Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "all three"},
			Charter: perdure.Charter{Scope: "acme"}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, a.ID())
	}
	ctx, stop := context.WithCancel(t.Context())
	begun := time.Now()
	var group sync.WaitGroup
	for _, n := range nodes {
		group.Go(func() {
			if err := n.Run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	open := ids
	for began := time.Now(); len(open) > 0 && time.Since(began) < patience; {
		open = unended(t, s.Store, open)
		if len(open) > 0 {
			wait, done := context.WithTimeout(t.Context(), 100*time.Millisecond)
			<-wait.Done() // another look, not a wait for something
			done()
		}
	}
	stop()
	group.Wait()
	if len(open) > 0 {
		t.Errorf("%d of %d agents were left by nodes that could go on with them: %s", len(open), agents,
			standing(t, s.Store, open[0]))
	}
	// Those of a slow machine are more: a node looks again at what it found idle, and at what another had, after a while.
	looks := int(time.Since(begun).Seconds())
	if most := (24 + looks/5) * agents; counted.claims.granted > most {
		t.Errorf("%d claims for %d agents, want at most %d", counted.claims.granted, agents, most)
	}
	if most := (24 + 3*looks) * agents; counted.claims.refused > most {
		t.Errorf("%d claims of %d agents were refused, want at most %d", counted.claims.refused, agents, most)
	}
}

// unended are the agents that have not ended.
func unended(t *testing.T, s perdure.Store, ids []perdure.AgentID) (out []perdure.AgentID) {
	for _, id := range ids {
		a, err := perdure.Load(t.Context(), s, id)
		if err != nil {
			t.Fatal(err)
		}
		if a.Fold().Ended == nil {
			out = append(out, id)
		}
	}
	return out
}

func standing(t *testing.T, s perdure.Store, id perdure.AgentID) string {
	a, err := perdure.Load(t.Context(), s, id)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%#v", perdure.Plan(a, perdure.Capabilities{}, time.Now()))
}
