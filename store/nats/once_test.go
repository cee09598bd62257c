package nats

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/natstest"
)

// till is a tool whose effect must happen once for each agent. It counts how often it does.
type till struct {
	mu   sync.Mutex
	paid map[perdure.AgentID]int
}

func (t *till) Spec() perdure.Spec { return perdure.Spec{Name: "pay", Effect: perdure.Once} }

func (t *till) Call(_ context.Context, c perdure.Call) (perdure.Result, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.paid[c.Agent]++
	return perdure.Result{}, nil
}

// TestOnceEffectsHappenOnceWhileLeadersDie has two nodes, each with a connection of its own, run agents that pay once,
// while the leader of the log is killed: nobody pays twice, and every agent ends.
func TestOnceEffectsHappenOnceWhileLeadersDie(t *testing.T) {
	t.Parallel()
	c := natstest.StartCluster(t, 3)
	agents, kills := 60, 2
	if testing.Short() {
		agents, kills = 20, 1
	}
	pay := &till{paid: map[perdure.AgentID]int{}}
	advisor := perdure.AdvisorFunc(func(context.Context, *perdure.Agent) (perdure.Advice, error) {
		pay, end := perdure.Execute{Tool: "pay"}, perdure.End{Signal: perdure.OK}
		return perdure.Advice{Actions: []perdure.Action{pay, end}}, nil
	})
	policy := perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
		return perdure.Verdict{Answer: perdure.Allow, Rules: []string{"all"}}
	})
	trust := new(perdure.Trust)
	var nodes []*perdure.Node
	for range 2 {
		key, err := perdure.GenerateSigner("node")
		if err != nil {
			t.Fatal(err)
		}
		trust = trust.With(perdure.Trustee{Key: key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
		nodes = append(nodes, &perdure.Node{
			Store: open(t, c.URL("once"), Options{Patience: patient}), Key: key, Policy: policy,
			Tools: []perdure.Tool{pay}, Advisors: map[string]perdure.Advisor{"": advisor},
		})
	}
	for _, n := range nodes {
		n.Trust = trust
	}
	ctx, stop := context.WithCancel(t.Context())
	var group sync.WaitGroup
	var killing sync.Mutex // one after the other: two dead ones of three are another test
	for _, n := range nodes {
		group.Go(func() {
			for ctx.Err() == nil { // a node that gives up is started again
				if err := n.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
					t.Logf("node: %v", err)
				}
			}
		})
	}
	var ids []perdure.AgentID
	for i := range agents {
		a, err := nodes[i%2].Create(t.Context(), perdure.Genesis{
			Intent: perdure.Intent{Goal: "pay"}, Charter: perdure.Charter{Scope: "acme"},
		})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, a.ID())
		if i%(agents/kills) == agents/kills/2 {
			group.Go(func() {
				killing.Lock()
				defer killing.Unlock()
				killLeader(t, c, nodes[0].Store.(*Store))
			})
		}
	}
	open := ids
	for began := time.Now(); len(open) > 0 && time.Since(began) < patient; {
		if open = unended(t, nodes[0].Store, open); len(open) > 0 {
			<-time.After(100 * time.Millisecond)
		}
	}
	stop()
	group.Wait()
	if len(open) > 0 {
		t.Errorf("%d of %d agents did not end", len(open), agents)
	}
	for _, id := range ids {
		if n := pay.paid[id]; n != 1 {
			t.Errorf("agent %s paid %d times", id.Short(), n)
		}
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
