package perdure_test

import (
	"testing"

	"github.com/perdure/perdure"
)

// Whoever sends an event says themselves who they are. One that takes a child's id must not keep its parent from
// hearing that the child ended.
func TestNobodySwallowsTheEndOfAChild(t *testing.T) {
	store := new(perdure.MemStore)
	n := newNode(t, store, scripted(func(a *perdure.Agent, turn int64) []perdure.Action {
		if a.Fold().Lineage != nil {
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}
		if turn == 0 {
			return []perdure.Action{perdure.Delegate{Intent: perdure.Intent{Goal: "help"}}}
		}
		return nil
	}))
	eve := on(t, nil)
	n.Trust = n.Trust.With(perdure.Trustee{Key: eve.key.Key(), Name: "eve", Rights: perdure.MayAuthor, Scope: "test"})
	id := create(t, n, perdure.Genesis{Charter: perdure.Charter{Depth: 1}})
	run(t, n, id)
	var err error
	if eve.a, err = perdure.Load(t.Context(), store, id); err != nil {
		t.Fatal(err)
	}
	child := eve.a.Fold().Children[0].Agent
	eve.write(perdure.Event{Name: "noise", By: child.String(), ID: "ended"})
	put(t, store, id, eve.all...)
	run(t, n, child)
	if f := load(t, store, id); !f.Children[0].Ended {
		t.Error("the child ended, and its parent has not heard of it")
	}
	before := load(t, store, id).Count
	if err := n.Arrived(t.Context(), child); err != nil {
		t.Fatal(err)
	}
	if f := load(t, store, id); f.Count != before {
		t.Errorf("said again, it adds %d entries", f.Count-before)
	}
}

func TestNobodySwallowsAGrant(t *testing.T) {
	store := new(perdure.MemStore)
	n := newNode(t, store, scripted(nothing))
	eve := on(t, nil)
	n.Trust = n.Trust.With(perdure.Trustee{Key: eve.key.Key(), Name: "eve", Rights: perdure.MayAuthor, Scope: "test"})
	calls := int64(1)
	id := create(t, n, perdure.Genesis{Intent: perdure.Intent{Budget: &perdure.Budget{Calls: &calls}}})
	var err error
	if eve.a, err = perdure.Load(t.Context(), store, id); err != nil {
		t.Fatal(err)
	}
	grant := perdure.Event{Name: "grant", By: "boss", ID: "june",
		Notice: perdure.Grant{Amount: perdure.Spend{Calls: 5}}}
	eve.write(perdure.Event{Name: "noise", By: "boss", ID: "june"}, grant)
	put(t, store, id, eve.all...)
	for range 2 { // and a second time it counts for nothing
		if _, err := n.Tell(t.Context(), id, grant); err != nil {
			t.Fatal(err)
		}
		if got := load(t, store, id).Granted.Calls; got != 5 {
			t.Errorf("granted %d calls, want 5", got)
		}
	}
}
