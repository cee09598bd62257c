package turns

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

func TestOneAtATimeHasATurn(t *testing.T) {
	var turns Turns[string]
	var wait sync.WaitGroup
	var a, b int // each belongs to whoever has the turn
	for range 16 {
		for of, n := range map[string]*int{"a": &a, "b": &b} {
			wait.Go(func() {
				for range 100 {
					done, err := turns.Take(t.Context(), of)
					if err != nil {
						t.Error(err)
						return
					}
					*n++
					done()
				}
			})
		}
	}
	wait.Wait()
	if a != 1600 || b != 1600 || len(turns.waiting) != 0 {
		t.Fatalf("%d and %d turns were taken, and %d are left; want 1600 each and none", a, b, len(turns.waiting))
	}
}

// Turns come in the order they were asked for, and one who gives up holds nobody up.
func TestTurnsComeInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns Turns[int]
		first, err := turns.Take(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		var order []int
		impatient, leave := context.WithCancel(t.Context())
		for i := range 3 {
			ctx := t.Context()
			if i == 1 {
				ctx = impatient
			}
			go func() {
				done, err := turns.Take(ctx, 1)
				if err != nil {
					if !errors.Is(err, context.Canceled) {
						t.Error(err)
					}
					return
				}
				order = append(order, i)
				done()
			}()
			synctest.Wait()
		}
		leave()
		synctest.Wait()
		first()
		synctest.Wait()
		if len(order) != 2 || order[0] != 0 || order[1] != 2 || len(turns.waiting) != 0 {
			t.Fatalf("turns were had by %v, and %d are left; want 0, 2 and none", order, len(turns.waiting))
		}
	})
}
