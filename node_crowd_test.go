package perdure_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// faraway is a store that takes a while to answer, and counts claims.
type faraway struct {
	*perdure.MemStore
	made, refused atomic.Int64
}

func (s *faraway) Claim(ctx context.Context, id perdure.AgentID, node perdure.Key, lease time.Duration) (perdure.Claim,
	error) {
	time.Sleep(time.Millisecond)
	c, err := s.MemStore.Claim(ctx, id, node, lease)
	if s.made.Add(1); err != nil {
		s.refused.Add(1)
	}
	return c, err
}

// TestManyNodesDoNotAllWantTheSameAgents lets many agents be due at once, and many nodes look for work at that moment.
func TestManyNodesDoNotAllWantTheSameAgents(t *testing.T) {
	const agents, nodes = 1_000, 16
	s := &faraway{MemStore: new(perdure.MemStore)}
	trust := new(perdure.Trust)
	keys := make([]*perdure.Signer, nodes)
	for i := range keys {
		k, err := perdure.GenerateSigner(fmt.Sprint("node-", i))
		if err != nil {
			t.Fatal(err)
		}
		keys[i] = k
		trust = trust.With(perdure.Trustee{Key: k.Key(), Name: k.Name, Rights: perdure.MayOwn,
			Scope: perdure.AnyScope})
	}
	maker := &perdure.Node{Store: s, Key: keys[0], Trust: trust}
	ids := make([]perdure.AgentID, agents)
	for i := range ids {
		ids[i] = create(t, maker, perdure.Genesis{Intent: perdure.Intent{Name: fmt.Sprint(i)}})
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))) // later than the agents
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error, nodes)
		for _, k := range keys {
			n := &perdure.Node{Store: s, Key: k, Trust: trust, Policy: perdure.PolicyFunc(allow), Concurrency: 16,
				Advisors: map[string]perdure.Advisor{"": perdure.AdvisorFunc(func(context.Context, *perdure.Agent) (
					perdure.Advice, error) {
					time.Sleep(50 * time.Millisecond)
					return perdure.Advice{Actions: []perdure.Action{perdure.End{Signal: perdure.OK}}}, nil
				})}}
			go func() { ended <- n.Run(ctx) }()
		}
		time.Sleep(time.Minute)
		for _, id := range ids {
			if load(t, s, id).Ended == nil {
				t.Fatalf("agent %s was left", id.Short())
			}
		}
		t.Logf("%d claims, %d refused, of %d agents", s.made.Load(), s.refused.Load(), agents)
		if s.made.Load() > 4*agents {
			t.Errorf("%d claims for %d agents", s.made.Load(), agents)
		}
		stop()
		for range keys {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}
