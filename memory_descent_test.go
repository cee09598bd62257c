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

	_, told, err := perdure.VerifyDescent(genesisOf(t, store, child), perdure.Memory(t.Context(), store, parent))
	if err != nil {
		t.Fatal(err)
	}
	if ended := load(t, store, child).Ended; told == nil || told.Signal != perdure.OK || told.Head != ended.Entry {
		t.Errorf("the parent was told %+v, want that the child ended ok at %s", told, ended.Entry.Short())
	}
	refused := func(what string, genesis *perdure.Entry, of perdure.AgentID) {
		t.Helper()
		if _, _, err := perdure.VerifyDescent(genesis, perdure.Memory(t.Context(), store, of)); !errors.Is(err,
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
	if from, ended, err := perdure.VerifyDescent(fork, perdure.Memory(t.Context(), store, parent)); err != nil ||
		from != real.Cause || ended != nil {
		t.Errorf("a fork of an entry that is there: from %s, %+v, %v", from.Short(), ended, err)
	}
}
