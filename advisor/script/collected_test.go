package script_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/copytest"
)

// forgetful is an agent whose bodies are kept for an hour.
func forgetful(t *testing.T, n *perdure.Node) perdure.AgentID {
	t.Helper()
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "try", TTL: time.Hour.Milliseconds()},
		Charter: perdure.Charter{Scope: "test", Owner: n.Key.Key()}})
	if err != nil {
		t.Fatal(err)
	}
	return a.ID()
}

// collect drops what a memory says, two hours later.
func collect(t *testing.T, n *perdure.Node, id perdure.AgentID) {
	t.Helper()
	time.Sleep(2 * time.Hour)
	if c, err := n.Collect(t.Context(), id); err != nil || c.Entries == 0 {
		t.Fatalf("collected %d bodies: %v", c.Entries, err)
	}
}

// Where nothing is left to read of what a script did, it goes on where it was when its seat moves on.
func TestACollectedScriptGoesOnWhereItsSeatMoves(t *testing.T) {
	const text = `
turns:
  - {execute: {tool: echo, args: {n: 1}}, repeat: 2}
  - sleep: {on: go}
    repeat: 2
  - end: {result: done}
`
	synctest.Test(t, func(t *testing.T) {
		s, other := read(t, text), read(t, text)
		here, there, e := new(perdure.MemStore), new(perdure.MemStore), new(echo)
		s.Store, other.Store = here, there
		n := newNode(t, here, s, e)
		id := forgetful(t, n)
		run(t, n, id)
		for range 2 { // to another store, and back
			collect(t, n, id)
			if err := n.GiveSeat(t.Context(), id, perdure.Key{}, ""); err != nil {
				t.Fatal(err)
			}
			copytest.Merge(t, here, there, id)
			here, there = there, here
			s, other = other, s
			n = newNode(t, here, s, e)
			tell(t, n, id, perdure.Event{Name: "go"})
			run(t, n, id)
		}
		ended(t, load(t, n, id), perdure.OK, `"done"`)
		if diff := cmp.Diff([]string{`{"n":1}`, `{"n":1}`}, e.calls); diff != "" {
			t.Error(diff)
		}
	})
}

// What of a turn nobody decided where the seat was is done where it is, and the rest of the turn not again.
func TestACollectedTurnThatWasCutOffIsFinished(t *testing.T) {
	const text = `
turns:
  - do:
      - execute: {tool: echo, args: {n: 1}}
      - sleep: {on: go}
  - end: {result: done}
`
	for _, cycles := range []int{1, 2, 3} {
		synctest.Test(t, func(t *testing.T) {
			s, other := read(t, text), read(t, text)
			here, there, e := new(perdure.MemStore), new(perdure.MemStore), new(echo)
			s.Store, other.Store = here, there
			n := newNode(t, here, s, e)
			id := forgetful(t, n)
			for range cycles {
				if _, err := n.Cycle(t.Context(), id); err != nil {
					t.Fatal(err)
				}
			}
			if err := n.TakeSeat(t.Context(), id, "it is here"); err != nil {
				t.Fatal(err)
			}
			collect(t, n, id)
			if err := n.GiveSeat(t.Context(), id, perdure.Key{}, ""); err != nil {
				t.Fatal(err)
			}
			copytest.Merge(t, here, there, id)
			n = newNode(t, there, other, e)
			run(t, n, id)
			tell(t, n, id, perdure.Event{Name: "go"})
			run(t, n, id)
			ended(t, load(t, n, id), perdure.OK, `"done"`)
			if diff := cmp.Diff([]string{`{"n":1}`}, e.calls); diff != "" {
				t.Errorf("after %d cycles: %s", cycles, diff)
			}
		})
	}
}

// What copies did apart is kept until the advisor was asked knowing all of it: of the copy that was further the fold
// keeps nothing.
func TestWhatCopiesDidApartIsKeptUntilTheScriptGoesOn(t *testing.T) {
	const text = `
turns:
  - execute: {tool: echo, args: {n: 1}}
  - execute: {tool: echo, args: {n: 2}}
  - sleep: {on: go}
  - end: {result: done}
`
	synctest.Test(t, func(t *testing.T) {
		s, other := read(t, text), read(t, text)
		here, there, e := new(perdure.MemStore), new(perdure.MemStore), new(echo)
		s.Store, other.Store = here, there
		n := newNode(t, here, s, e)
		id := forgetful(t, n)
		copytest.Merge(t, here, there, id)
		for range 40 { // so that what is done here comes last in the order of memory
			copytest.Write(t, here, id, n.Key, perdure.Event{Name: "noise"})
		}
		for len(e.calls) == 0 {
			if _, err := n.Cycle(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
		run(t, newNode(t, there, other, e), id)
		copytest.Merge(t, there, here, id)
		n = newNode(t, here, s, e)
		collect(t, n, id)
		tell(t, n, id, perdure.Event{Name: "go"})
		run(t, n, id)
		ended(t, load(t, n, id), perdure.OK, `"done"`)
		if diff := cmp.Diff([]string{`{"n":1}`, `{"n":1}`, `{"n":2}`}, e.calls); diff != "" {
			t.Error(diff)
		}
	})
}
