package perdure_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// noState is a state checker that refuses every state.
type noState struct{}

func (noState) MoveState(_, _ perdure.Hash, _ map[string]perdure.Data) (map[string]perdure.Data, error) {
	return nil, perdure.ErrIncapable
}

func (noState) CheckState(perdure.Hash, map[string]perdure.Data) error {
	return errors.New("not a state")
}

// forker is a node with a key of its own over a store.
func forker(t *testing.T, s perdure.Store, name string) *perdure.Node {
	t.Helper()
	key, err := perdure.GenerateSigner(name)
	if err != nil {
		t.Fatal(err)
	}
	return &perdure.Node{Store: s, Key: key}
}

// withState is an agent of the node's key that has a variable.
func withState(t *testing.T, n *perdure.Node, g perdure.Genesis) *perdure.Agent {
	t.Helper()
	a, err := n.Create(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	v, err := perdure.DataOf("hunter2hunter2")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Tell(t.Context(), a.ID(), perdure.Event{Name: "set",
		Set: map[string]perdure.Data{"word": v}}); err != nil {
		t.Fatal(err)
	}
	return loaded(t, n.Store, a.ID())
}

func loaded(t *testing.T, s perdure.Store, id perdure.AgentID) *perdure.Agent {
	t.Helper()
	a, err := perdure.Load(context.Background(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// bounded is a genesis with bounds a fork could try to leave.
func bounded(scope string) perdure.Genesis {
	return perdure.Genesis{
		Intent:  perdure.Intent{Goal: "count", Name: "counter"},
		Charter: perdure.Charter{Scope: scope, Depth: 1, Policies: []perdure.Hash{perdure.HashOf([]byte("narrow"))}},
	}
}

func TestAForkTakesTheStateAlongAndBelongsToWhoeverForks(t *testing.T) {
	s := new(perdure.MemStore)
	alice, bob := forker(t, s, "alice"), forker(t, s, "bob")
	from := withState(t, alice, bounded("acme"))
	stranger := forker(t, s, "cy")
	if a, err := stranger.Fork(t.Context(), from, from.Fold().ForkGenesis(from.Heads()[0], false)); err != nil ||
		len(a.Fold().Paused) != 1 {
		t.Errorf("a fork of a stranger's agent: %v, want it to begin paused", err)
	}
	bob.Trust = perdure.NewTrust(perdure.Trustee{Key: alice.Key.Key(), Rights: perdure.MayOwn, Scope: "acme"})
	a, err := bob.Fork(t.Context(), from, from.Fold().ForkGenesis(from.Heads()[0], false))
	if err != nil {
		t.Fatal(err)
	}
	f := loaded(t, s, a.ID()).Fold()
	if f.Charter.Owner != bob.Key.Key() || f.Vars["word"].Text() != "hunter2hunter2" || !f.Lineage.Rehearse ||
		f.Lineage.Parent != from.ID() {
		t.Errorf("got %+v", f)
	}
	if len(f.Paused) != 0 {
		t.Error("the fork is paused, though the agent is not")
	}
}

// Whose key was revoked in an agent is told what is left to do, and does it.
func TestWhoseKeyWasRevokedForks(t *testing.T) {
	alice := forker(t, new(perdure.MemStore), "alice")
	id := withState(t, alice, bounded("acme")).ID()
	tell := func(id perdure.AgentID, k perdure.KeyChange) error {
		_, err := alice.Tell(t.Context(), id, perdure.Event{Name: "told", Notice: k})
		return err
	}
	if err := tell(id, perdure.KeyChange{Revoke: alice.Key.Key()}); err != nil {
		t.Fatal(err)
	}
	err := tell(id, perdure.KeyChange{Revoke: forker(t, alice.Store, "bob").Key.Key()})
	if err == nil || !strings.Contains(err.Error(), "key.revoked") ||
		!strings.HasSuffix(err.Error(), "perdure fork "+id.Short()) {
		t.Errorf("a revoked key is told %v, want that it can fork the agent", err)
	}
	from := loaded(t, alice.Store, id)
	fork, err := alice.Fork(t.Context(), from, from.Fold().ForkGenesis(from.Heads()[0], true))
	if err != nil {
		t.Fatal(err)
	}
	if err := tell(fork.ID(), perdure.KeyChange{Revoke: forker(t, alice.Store, "cy").Key.Key()}); err != nil {
		t.Errorf("the fork: %v", err)
	}
}

func TestAForkPassesTheGuardAndTheSchema(t *testing.T) {
	s := new(perdure.MemStore)
	alice := forker(t, s, "alice")
	from := withState(t, alice, bounded("acme"))
	g := from.Fold().ForkGenesis(from.Heads()[0], false)

	guarded := &perdure.Node{Store: s, Key: alice.Key, Guard: noSecret("hunter2hunter2")}
	if _, err := guarded.Fork(t.Context(), from, g); err == nil ||
		!strings.Contains(err.Error(), "contains the secret") {
		t.Errorf("got %v, want a refusal by the guard", err)
	}
	g.Intent.StateSchema = perdure.HashOf([]byte("schema"))
	held := &perdure.Node{Store: s, Key: alice.Key, State: noState{}}
	if _, err := held.Fork(t.Context(), from, g); err == nil || !strings.Contains(err.Error(), "not a state") {
		t.Errorf("got %v, want a refusal by the schema", err)
	}
	if n := count(t, s); n != 1 {
		t.Errorf("the store has %d agents, want the first alone", n)
	}
}

func TestOnlyTheOwnerWidensAFork(t *testing.T) {
	s := new(perdure.MemStore)
	alice, bob := forker(t, s, "alice"), forker(t, s, "bob")
	from := withState(t, alice, bounded("acme/ops"))
	for what, widen := range map[string]func(g *perdure.Genesis){
		"scope":   func(g *perdure.Genesis) { g.Charter.Scope = "acme" },
		"depth":   func(g *perdure.Genesis) { g.Charter.Depth = 2 },
		"policy":  func(g *perdure.Genesis) { g.Charter.Policies = nil },
		"lineage": func(g *perdure.Genesis) { g.Lineage = nil },
		"owner":   func(g *perdure.Genesis) { g.Charter.Owner = forker(t, s, "carol").Key.Key() },
	} {
		g := from.Fold().ForkGenesis(from.Heads()[0], true)
		widen(&g)
		if _, err := bob.Fork(t.Context(), from, g); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: got %v, want a refusal", what, err)
		}
		_, err := alice.Fork(t.Context(), from, g)
		if mine := what != "lineage" && what != "owner"; (err == nil) != mine {
			t.Errorf("%s: the owner got %v", what, err)
		}
	}
}

func TestAForkOfAPausedAgentBeginsPaused(t *testing.T) {
	s := new(perdure.MemStore)
	alice := forker(t, s, "alice")
	before := withState(t, alice, bounded("acme"))
	if _, err := alice.Tell(t.Context(), before.ID(), perdure.Event{Name: "pause",
		Notice: perdure.Pause{}}); err != nil {
		t.Fatal(err)
	}
	// from a point before the pause
	a, err := alice.Fork(t.Context(), before, before.Fold().ForkGenesis(before.Heads()[0], true))
	if err != nil {
		t.Fatal(err)
	}
	if f := loaded(t, s, a.ID()).Fold(); len(f.Paused) != 1 {
		t.Errorf("paused by %v, want once", f.Paused)
	}
}

// count is how many agents a store has.
func count(t *testing.T, s *perdure.MemStore) int {
	t.Helper()
	n := 0
	for _, err := range s.List(t.Context(), perdure.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}
