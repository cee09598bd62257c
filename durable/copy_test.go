package durable_test

import (
	"context"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/durable"
	"github.com/perdure/perdure/internal/copytest"
)

// A copy without the seat proposes what must be done once, alone or beside other steps. Where the seat is that is not
// done, since the copy may not know what was done there; the function has not been refused anything, and is asked
// again.
func TestAFunctionTakesNoOutdatedProposalForARefusal(t *testing.T) {
	pay := func(n *perdure.Node, both bool, done *int) {
		once := func(context.Context) (string, error) { *done++; return "paid", nil }
		durable.Handle(n, "f", func(r *durable.Run, _ string) (string, error) {
			if !both {
				return durable.Once(r, "pay", once)
			}
			looks := durable.Go(r, "look", func(context.Context) (string, error) { return "seen", nil })
			pays := durable.GoOnce(r, "pay", once)
			if _, err := looks.Wait(); err != nil {
				return "", err
			}
			return pays.Wait()
		})
	}
	for _, both := range []bool{false, true} {
		here, there := new(perdure.MemStore), new(perdure.MemStore)
		done := 0
		seat, other := newNode(t, here), newNode(t, there)
		pay(seat, both, &done)
		pay(other, both, &done)
		id := start(t, seat, "f", "")
		copytest.Merge(t, here, there, id)
		if _, err := other.RunAgent(t.Context(), id); err != nil || done != 0 {
			t.Fatalf("the copy did it %d times (%v)", done, err)
		}
		copytest.Merge(t, there, here, id)
		again := newNode(t, here)
		pay(again, both, &done)
		if _, err := again.RunAgent(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if got, err := result[string](t, here, id); done != 1 || got != "paid" || err != nil {
			t.Errorf("beside others %v: done %d times, and the function ended with %q (%v)", both, done, got, err)
		}
	}
}
