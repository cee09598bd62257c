package script_test

import (
	"testing"

	"github.com/perdure/perdure"
)

// TestAForkGoesOnAtItsTurn of the script, with the results of the turns before.
func TestAForkGoesOnAtItsTurn(t *testing.T) {
	s := read(t, `
turns:
  - {execute: {tool: echo, args: {n: 1}}, as: first}
  - sleep: {on: go}
  - {execute: {tool: echo, args: {n: 2}}, as: second}
  - end: {result: ["${results.first.result.n}", "${results.second.result.n}"]}
`)
	store, e := new(perdure.MemStore), new(echo)
	s.Store = store
	n := newNode(t, store, s, e)
	id := create(t, n, nil)
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	from := load(t, n, id)
	fork, err := n.Fork(t.Context(), from, from.Fold().ForkGenesis(from.Heads()[0], true))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.RunAgent(t.Context(), fork.ID()); err != nil {
		t.Fatal(err)
	}
	ended(t, load(t, n, fork.ID()), perdure.OK, "[1,2]")
	if len(e.calls) != 2 {
		t.Errorf("got calls %v, want one each", e.calls)
	}
}
