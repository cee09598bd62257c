package durable_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/durable"
)

// A step that only a stolen key says was done is done, however much else the key has said since: far more than a fold
// remembers conflicts. So it is where the agent holds all of its memory, and where it is read from the store.
func TestAStepThatAStolenKeyForgedIsDone(t *testing.T) {
	for _, more := range []int{0, 65, 200} {
		for _, every := range []int{0, 1} { // with a snapshot after every step, an agent does not hold its past
			t.Run(fmt.Sprint(more, every), func(t *testing.T) {
				here, there := new(perdure.MemStore), new(perdure.MemStore)
				done := 0
				owner := newNode(t, here)
				owner.SnapshotEvery = every
				paid(owner, "paid", &done)
				id := start(t, owner, "f", "")
				put(t, here, there, id)
				eve, err := perdure.GenerateSigner("eve")
				if err != nil {
					t.Fatal(err)
				}
				forge(t, there, id, eve)
				for range more {
					signed(t, there, id, eve, perdure.Event{Name: "noise"})
				}
				if _, err := owner.Tell(t.Context(), id, perdure.Event{Name: "revoke",
					Notice: perdure.KeyChange{Revoke: eve.Key()}}); err != nil {
					t.Fatal(err)
				}
				put(t, there, here, id)
				again := newNode(t, here)
				again.SnapshotEvery = every
				paid(again, "paid", &done)
				if _, err := again.RunAgent(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				if got, err := result[string](t, here, id); done != 1 || got != "paid" || err != nil {
					t.Errorf("done %d times, and the function ended with %q (%v), want once and %q", done, got, err,
						"paid")
				}
			})
		}
	}
}

// paid is a function that ends with what a step of it came to.
func paid(n *perdure.Node, receipt string, done *int) {
	durable.Handle(n, "f", func(r *durable.Run, _ string) (string, error) {
		return durable.Step(r, "pay", func(context.Context) (string, error) { *done++; return receipt, nil })
	})
}

// put brings to a store what another has of an agent.
func put(t *testing.T, from, to perdure.Store, id perdure.AgentID) {
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

// signed writes an entry to an agent in a store with a key.
func signed(t *testing.T, s perdure.Store, id perdure.AgentID, key *perdure.Signer, body perdure.Body) perdure.Hash {
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

// forge writes with a key what a node writes that does the step, with another result.
func forge(t *testing.T, s perdure.Store, id perdure.AgentID, key *perdure.Signer) {
	t.Helper()
	real, done := new(perdure.MemStore), 0
	put(t, s, real, id)
	n := newNode(t, real)
	paid(n, "forged", &done)
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	names := map[perdure.Hash]perdure.Hash{} // of the real entries: the forged ones
	for e, err := range perdure.Memory(t.Context(), real, id) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Content().(type) {
		case perdure.Advice:
			names[e.Name] = signed(t, s, id, key, b)
		case perdure.Decision:
			b.Advice = names[b.Advice]
			names[e.Name] = signed(t, s, id, key, b)
		case perdure.Outcome:
			b.Decision = names[b.Decision]
			signed(t, s, id, key, b)
			if done != 1 {
				t.Fatalf("the step was done %d times in the copy", done)
			}
			return
		}
	}
	t.Fatal("no outcome was written in the copy")
}
