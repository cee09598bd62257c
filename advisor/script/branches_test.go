package script_test

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/copytest"
)

func run(t *testing.T, n *perdure.Node, id perdure.AgentID) {
	t.Helper()
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
}

func tell(t *testing.T, n *perdure.Node, id perdure.AgentID, ev perdure.Event) {
	t.Helper()
	if _, err := n.Tell(t.Context(), id, ev); err != nil {
		t.Fatal(err)
	}
}

// A stolen key moves no script on, and gives it no results, however much it writes: what it said last counts for as
// little as what it said first.
func TestAStolenKeyDoesNotMoveAScript(t *testing.T) {
	for _, more := range []int{0, 65, 200} {
		t.Run(fmt.Sprint(more), func(t *testing.T) {
			s := read(t, `
turns:
  - {execute: {tool: echo, args: {n: 1}}, as: first}
  - sleep: {on: go}
  - {execute: {tool: echo, args: {n: 2}}, as: second}
  - end: {result: ["${results.first.result.n}", "${results.second.result.n}"]}
`)
			here, e := new(perdure.MemStore), new(echo)
			s.Store = here
			n := newNode(t, here, s, e)
			id := create(t, n, nil)
			run(t, n, id)
			eve := copytest.Steal(t, here, id)
			for _, at := range []string{"first#1.1.0", "x#999.1.0"} {
				eve.Forge(perdure.Advice{Seen: []perdure.Hash{}, Actions: []perdure.Action{
					perdure.Execute{Tool: "echo", Call: at}}}, map[string]any{"n": 666})
			}
			eve.Noise(more, perdure.Event{Name: "noise"})
			eve.Caught(n)
			n = newNode(t, here, s, e)
			tell(t, n, id, perdure.Event{Name: "go"})
			run(t, n, id)
			ended(t, load(t, n, id), perdure.OK, "[1,2]")
		})
	}
}

// Copies that only read have nothing on record that did not go together, and still one that was behind does not do
// again what the other did.
func TestOfCopiesThatOnlyReadTheFurthestTurnCounts(t *testing.T) {
	m := newMoving(t, twoCalls)
	m.part()
	if c := load(t, m.n, m.id).Fold().Conflicts; len(c) > 0 {
		t.Fatalf("there are conflicts: %v", c)
	}
	m.resume()
	m.did(`{"n":1}`, `{"n":1}`, `{"n":2}`)
}

// What a script costs does not grow with the memory because copies met once, long ago, and did not agree.
func TestAnOldConflictDoesNotCostEveryTurn(t *testing.T) {
	const every = 16
	for _, rounds := range []int{40, 160} {
		store := &copytest.Counter{MemStore: new(perdure.MemStore)}
		s := read(t, fmt.Sprintf(`
turns:
  - {execute: {tool: echo, args: {n: 1}}, repeat: %d}
  - sleep: {on: go}
`, rounds))
		s.Store = store
		n := newNode(t, store, s, new(echo))
		n.SnapshotEvery = every
		id := create(t, n, nil)
		there := new(perdure.MemStore)
		copytest.Merge(t, store, there, id)
		nothing := perdure.HashOf([]byte("nothing"))
		copytest.Write(t, there, id, n.Key, perdure.Event{Name: "approval",
			Notice: perdure.Approval{Decision: nothing, Digest: nothing}})
		copytest.Write(t, store, id, n.Key, perdure.Event{Name: "beside"})
		copytest.Merge(t, there, store, id)
		run(t, n, id)
		a := load(t, n, id)
		if f := a.Fold(); len(f.Conflicts) == 0 || a.Straight() || f.Count < int64(3*rounds) {
			t.Fatalf("%d conflicts, straight %v, %d entries", len(f.Conflicts), a.Straight(), f.Count)
		}
		store.Read = 0
		if _, err := s.Advise(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if store.Read > 3*every {
			t.Errorf("of a memory of %d entries, %d were read, want at most %d", a.Fold().Count, store.Read, 3*every)
		}
	}
}
