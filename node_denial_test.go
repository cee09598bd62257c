package perdure_test

import (
	"testing"

	"github.com/perdure/perdure"
)

func TestAnAdvisorThatGoesRoundInCirclesIsNotAskedForEver(t *testing.T) {
	store := new(perdure.MemStore)
	pay, seen := counter("pay", perdure.Once)
	asked := 0
	n := newNode(t, store, scripted(func(*perdure.Agent, int64) []perdure.Action {
		asked++
		return []perdure.Action{perdure.Execute{Tool: "pay"}}
	}), pay)
	n.Policy = nil // denies everything
	id := create(t, n, perdure.Genesis{})
	idle := run(t, n, id)
	if _, total := calls(seen); !idle.Person || total != 0 || asked > 20 {
		t.Fatalf("idle with %+v after asking %d times, want a person asked soon", idle, asked)
	}
	before := asked
	if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "hint"}); err != nil {
		t.Fatal(err)
	}
	run(t, n, id)
	if asked != before+1 {
		t.Errorf("asked %d times after it was told something, want once", asked-before)
	}
}
