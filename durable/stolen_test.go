package durable_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/durable"
	"github.com/perdure/perdure/internal/copytest"
)

// A step that only a stolen key says was done is done, however much else the key has said since: far more than a fold
// remembers conflicts. So it is where the agent holds all of its memory, and where it is read from the store.
func TestAStepThatAStolenKeyForgedIsDone(t *testing.T) {
	for _, more := range []int{0, 65, 200} {
		for _, every := range []int{0, 1} { // with a snapshot after every step, an agent does not hold its past
			t.Run(fmt.Sprint(more, every), func(t *testing.T) {
				here := new(perdure.MemStore)
				done := 0
				owner := newNode(t, here)
				owner.SnapshotEvery = every
				paid(owner, "paid", &done)
				id := start(t, owner, "f", "")
				eve := copytest.Steal(t, here, id)
				forge(t, eve)
				eve.Noise(more, perdure.Event{Name: "noise"})
				eve.Caught(owner)
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

// forge writes what a node writes that does the step, with another result.
func forge(t *testing.T, eve *copytest.Thief) {
	t.Helper()
	real, done := new(perdure.MemStore), 0
	copytest.Merge(t, eve.Store, real, eve.ID)
	n := newNode(t, real)
	paid(n, "forged", &done)
	if _, err := n.RunAgent(t.Context(), eve.ID); err != nil {
		t.Fatal(err)
	}
	names := map[perdure.Hash]perdure.Hash{} // of the real entries: the forged ones
	for e, err := range perdure.Memory(t.Context(), real, eve.ID) {
		if err != nil {
			t.Fatal(err)
		}
		switch b := e.Content().(type) {
		case perdure.Advice:
			names[e.Name] = eve.Write(b)
		case perdure.Decision:
			b.Advice = names[b.Advice]
			names[e.Name] = eve.Write(b)
		case perdure.Outcome:
			b.Decision = names[b.Decision]
			eve.Write(b)
			if done != 1 {
				t.Fatalf("the step was done %d times in the copy", done)
			}
			return
		}
	}
	t.Fatal("no outcome was written in the copy")
}
