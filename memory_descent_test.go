package perdure_test

import (
	"errors"
	"testing"

	"github.com/perdure/perdure"
)

func genesisOf(t *testing.T, s perdure.Store, id perdure.AgentID) *perdure.Entry {
	t.Helper()
	for e, err := range perdure.Memory(t.Context(), s, id) {
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	t.Fatal("no entries")
	return nil
}

func TestDescentIsHeldAgainstTheMemoryOfTheParent(t *testing.T) {
	store := new(perdure.MemStore)
	n := newNode(t, store, scripted(func(a *perdure.Agent, turn int64) []perdure.Action {
		if turn == 0 && a.Fold().Charter.Depth > 0 {
			return []perdure.Action{perdure.Delegate{Intent: perdure.Intent{Goal: "help"}}}
		}
		return []perdure.Action{perdure.End{Signal: perdure.OK}}
	}))
	parent := create(t, n, perdure.Genesis{Charter: perdure.Charter{Scope: "test", Depth: 1}})
	stranger := create(t, n, perdure.Genesis{Charter: perdure.Charter{Scope: "test", Depth: 1}})
	if _, err := n.Cycle(t.Context(), parent); err != nil { // the advice
		t.Fatal(err)
	}
	if _, err := n.Cycle(t.Context(), parent); err != nil { // the delegation
		t.Fatal(err)
	}
	child := load(t, store, parent).Children[0].Agent
	run(t, n, child)
	run(t, n, parent)
	run(t, n, stranger)

	d, err := perdure.VerifyDescent(genesisOf(t, store, child), perdure.Memory(t.Context(), store, parent))
	if err != nil {
		t.Fatal(err)
	}
	if ended := load(t, store, child).Ended; d.Relation != perdure.Child || !d.Ended || d.Signal != perdure.OK ||
		d.Head != ended.Entry {
		t.Errorf("descent: %+v, want that of a child that ended ok at %s", d, ended.Entry.Short())
	}
	refused := func(what string, genesis *perdure.Entry, of perdure.AgentID) {
		t.Helper()
		if _, err := perdure.VerifyDescent(genesis, perdure.Memory(t.Context(), store, of)); !errors.Is(err,
			perdure.ErrRejected) {
			t.Errorf("%s: %v, want a rejection", what, err)
		}
	}
	refused("another parent", genesisOf(t, store, child), stranger)
	refused("no lineage", genesisOf(t, store, stranger), parent)
	lie := func(l perdure.Lineage, depth int64) *perdure.Entry {
		e := genesisOf(t, store, create(t, n, perdure.Genesis{Charter: perdure.Charter{Scope: "test", Depth: depth},
			Lineage: &l}))
		return e
	}
	real := genesisOf(t, store, child).Content().(perdure.Genesis).Lineage
	refused("a child nobody created", lie(*real, 0), parent)
	refused("a fork of an entry that is not there", lie(perdure.Lineage{Parent: parent, Cause: perdure.Hash{1},
		Relation: perdure.Fork}, 0), parent)
	fork := lie(perdure.Lineage{Parent: parent, Cause: real.Cause, Relation: perdure.Fork}, 0)
	if d, err := perdure.VerifyDescent(fork, perdure.Memory(t.Context(), store, parent)); err != nil ||
		d.Entry != real.Cause {
		t.Errorf("a fork of an entry that is there: %+v, %v", d, err)
	}
}
