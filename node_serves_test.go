package perdure_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// TestANodeLeavesAgentsOfOtherScopesToOthers: it claims each once, writes nothing about it, and hides it from nobody.
func TestANodeLeavesAgentsOfOtherScopesToOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &claims{MemStore: new(perdure.MemStore)}
		end := scripted(func(*perdure.Agent, int64) []perdure.Action {
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		})
		keys, trust := fleet()
		node := func(i int, scopes ...string) *perdure.Node {
			return &perdure.Node{Store: s, Key: keys[i], Trust: trust, Policy: perdure.PolicyFunc(allow),
				Advisors: map[string]perdure.Advisor{"": end}, Scopes: scopes}
		}
		maker, ops, sales := node(0), node(1, "acme/ops", "home"), node(2, "acme/sales")
		of := map[string]*perdure.Node{"acme/ops": ops, "acme/ops/night": ops, "home": ops, "acme/sales": sales,
			"acme": nil, "acme/opsx": nil}
		made := map[string]perdure.AgentID{}
		for scope := range of {
			made[scope] = create(t, maker, perdure.Genesis{Charter: perdure.Charter{Scope: scope}})
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() { ended <- ops.Run(ctx) }()
		go func() { ended <- sales.Run(ctx) }()
		time.Sleep(30 * time.Minute)
		if got, most := s.made.Load(), int64(4*len(of)); got > most {
			t.Errorf("%d claims in half an hour, want %d at most", got, most)
		}
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		for scope, want := range of {
			f := load(t, s, made[scope])
			if (f.Ended != nil) != (want != nil) {
				t.Errorf("%s: ended %v, want %v", scope, f.Ended != nil, want != nil)
			}
			for e, err := range perdure.Memory(t.Context(), s, made[scope]) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Kind != perdure.KindGenesis && (want == nil || e.Origin != want.Key.Key()) {
					t.Errorf("%s: an entry %v of a node that is not for it", scope, e.Kind)
				}
			}
		}
		if needs, err := sales.Needs(t.Context(), made["acme"]); err != nil || needs != "scope:acme" {
			t.Errorf("needs %q, %v", needs, err)
		}
		if idle := run(t, sales, made["acme/ops"]); !idle.Is(phase.RestEnded) {
			t.Errorf("of one that has ended: %+v", idle)
		}
		if run(t, maker, made["acme"]); load(t, s, made["acme"]).Ended == nil {
			t.Error("a node for all scopes found nothing to do: it was hidden from it")
		}
	})
}
