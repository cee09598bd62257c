package script_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
)

// merge brings to a store what another has of an agent.
func merge(t *testing.T, from, to perdure.Store, id perdure.AgentID) {
	t.Helper()
	for e, err := range perdure.Memory(t.Context(), from, id) {
		if err == nil {
			err = to.Put(t.Context(), id, e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// write writes an entry to an agent in a store with a key.
func write(t *testing.T, s perdure.Store, id perdure.AgentID, key *perdure.Signer, body perdure.Body) perdure.Hash {
	t.Helper()
	a, err := perdure.Load(t.Context(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := key.Commit(a, time.Now(), perdure.Draft{Body: body})
	if err == nil {
		err = s.Put(t.Context(), id, entries...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return entries[0].Name
}

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
			here, there, e := new(perdure.MemStore), new(perdure.MemStore), new(echo)
			s.Store = here
			n := newNode(t, here, s, e)
			id := create(t, n, nil)
			run(t, n, id)
			merge(t, here, there, id)
			eve, err := perdure.GenerateSigner("eve")
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range []string{"first#1.1.0", "x#999.1.0"} {
				advice := write(t, there, id, eve, perdure.Advice{Seen: []perdure.Hash{}, Actions: []perdure.Action{
					perdure.Execute{Tool: "echo", Call: at}}})
				decision := write(t, there, id, eve, perdure.Decision{Advice: advice, Effect: perdure.Read,
					Verdict: perdure.Verdict{Answer: perdure.Allow}})
				forged, err := perdure.DataOf(map[string]any{"n": 666})
				if err != nil {
					t.Fatal(err)
				}
				write(t, there, id, eve, perdure.Outcome{Decision: decision, Signal: perdure.OK, Result: forged})
			}
			for range more {
				write(t, there, id, eve, perdure.Event{Name: "noise"})
			}
			tell(t, n, id, perdure.Event{Name: "revoke", Notice: perdure.KeyChange{Revoke: eve.Key()}})
			merge(t, there, here, id)
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
	const text = `
turns:
  - execute: {tool: echo, args: {n: 1}}
  - execute: {tool: echo, args: {n: 2}}
  - sleep: {on: go}
  - end: {result: done}
`
	s, other := read(t, text), read(t, text)
	here, there, e := new(perdure.MemStore), new(perdure.MemStore), new(echo)
	s.Store = here
	n := newNode(t, here, s, e)
	id := create(t, n, nil)
	merge(t, here, there, id)
	for range 40 { // so that what is done here comes last in the order of memory
		write(t, here, id, n.Key, perdure.Event{Name: "noise"})
	}
	for len(e.calls) == 0 {
		if _, err := n.Cycle(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	other.Store = there
	run(t, newNode(t, there, other, e), id)
	merge(t, there, here, id)
	n = newNode(t, here, s, e)
	if c := load(t, n, id).Fold().Conflicts; len(c) > 0 {
		t.Fatalf("there are conflicts: %v", c)
	}
	tell(t, n, id, perdure.Event{Name: "go"})
	run(t, n, id)
	ended(t, load(t, n, id), perdure.OK, `"done"`)
	if diff := cmp.Diff([]string{`{"n":1}`, `{"n":1}`, `{"n":2}`}, e.calls); diff != "" {
		t.Error(diff)
	}
}

// counter counts the entries that are read from a store.
type counter struct {
	*perdure.MemStore
	read int
}

func (s *counter) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item,
	error] {
	return s.counted(s.MemStore.Entries(ctx, id, after))
}

func (s *counter) Snapshots(ctx context.Context, id perdure.AgentID) iter.Seq2[perdure.Item, error] {
	return s.counted(s.MemStore.Snapshots(ctx, id))
}

func (s *counter) counted(items iter.Seq2[perdure.Item, error]) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		for item, err := range items {
			s.read++
			if !yield(item, err) {
				return
			}
		}
	}
}

// What a script costs does not grow with the memory because copies met once, long ago, and did not agree.
func TestAnOldConflictDoesNotCostEveryTurn(t *testing.T) {
	const every = 16
	for _, rounds := range []int{40, 160} {
		store := &counter{MemStore: new(perdure.MemStore)}
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
		merge(t, store, there, id)
		nothing := perdure.HashOf([]byte("nothing"))
		write(t, there, id, n.Key, perdure.Event{Name: "approval",
			Notice: perdure.Approval{Decision: nothing, Digest: nothing}})
		write(t, store, id, n.Key, perdure.Event{Name: "beside"})
		merge(t, there, store, id)
		run(t, n, id)
		a := load(t, n, id)
		if f := a.Fold(); len(f.Conflicts) == 0 || a.Straight() || f.Count < int64(3*rounds) {
			t.Fatalf("%d conflicts, straight %v, %d entries", len(f.Conflicts), a.Straight(), f.Count)
		}
		store.read = 0
		if _, err := s.Advise(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		if store.read > 3*every {
			t.Errorf("of a memory of %d entries, %d were read, want at most %d", a.Fold().Count, store.read, 3*every)
		}
	}
}
