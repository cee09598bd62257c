package perdure_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/perdure/perdure"
)

// A copy without the seat is sent a bill, and its advice to pay it waits. Where the seat is another one is sent and
// paid. Merged, both are paid once each: whichever advice is folded first, whether the agent sleeps by then, and
// whatever happens in between.
func TestWhatACopyWasToldIsActedOnWhereTheSeatIs(t *testing.T) {
	between := map[string]func(*billers){
		"nothing": func(*billers) {},
		"snapshots": func(b *billers) {
			b.nodes[0].SnapshotEvery = 1
			tellTimes(b.T, b.nodes[0], b.id, 3, perdure.Event{Name: "hello"})
		},
		"a snapshot in the copy": func(b *billers) {
			if _, err := b.nodes[1].Snapshot(b.Context(), b.id); err != nil {
				b.Fatal(err)
			}
			merge(b.T, b.stores[1], b.stores[0], b.id)
		},
		"merged both ways": func(b *billers) { merge(b.T, b.stores[0], b.stores[1], b.id) },
	}
	for then, do := range between {
		for _, quick := range []bool{false, true} {
			for first := range 5 { // which is folded first
				b := newBillers(t, 2, quick)
				tellTimes(t, b.nodes[0], b.id, first, perdure.Event{Name: "hello"})
				tellTimes(t, b.nodes[1], b.id, 4-first, perdure.Event{Name: "hello"})
				b.bill(0, "rent", "")
				run(t, b.nodes[0], b.id)
				b.bill(1, "water", "")
				run(t, b.nodes[1], b.id)
				if b.paid["water"] != 0 {
					t.Fatal("the copy paid")
				}
				merge(t, b.stores[1], b.stores[0], b.id)
				do(b)
				run(t, b.fresh(0), b.id)
				run(t, b.fresh(0), b.id)
				merge(t, b.stores[0], b.stores[1], b.id)
				run(t, b.fresh(1), b.id)
				merge(t, b.stores[1], b.stores[0], b.id)
				run(t, b.fresh(0), b.id)
				what := fmt.Sprintf("%s, quick %v, %d first", then, quick, first)
				if b.paid["rent"] != 1 || b.paid["water"] != 1 {
					t.Errorf("%s: paid %v", what, b.paid)
				}
				f := load(t, b.stores[0], b.id)
				if len(f.Unseen()) != 0 || len(f.Doubles()) != 0 || f.Sleep == nil {
					t.Errorf("%s: unseen %v, doubled %v, asleep: %v", what, f.Unseen(), f.Doubles(), f.Sleep != nil)
				}
				count := func(s string) int {
					shown := slices.Clone(b.advice[0].shown)
					return len(slices.DeleteFunc(shown, func(o string) bool { return o != s }))
				}
				if count("rent") != 1 || count("water") != 1 {
					t.Errorf("%s: shown %v", what, b.advice[0].shown)
				}
			}
		}
	}
}

// A bill that was sent before the agent was copied is seen by the advice of both copies. It is paid where the seat is,
// and not told again for the copy's sake.
func TestWhatBothCopiesHaveSeenIsNotToldAgain(t *testing.T) {
	for _, snapshots := range []bool{false, true} {
		for first := range 5 {
			b := newBillers(t, 2, false)
			b.bill(0, "rent", "")
			merge(t, b.stores[0], b.stores[1], b.id)
			tellTimes(t, b.nodes[0], b.id, first, perdure.Event{Name: "hello"})
			tellTimes(t, b.nodes[1], b.id, 4-first, perdure.Event{Name: "hello"})
			run(t, b.nodes[0], b.id)
			run(t, b.nodes[1], b.id)
			merge(t, b.stores[1], b.stores[0], b.id)
			if snapshots {
				b.nodes[0].SnapshotEvery = 1
				tellTimes(t, b.nodes[0], b.id, 3, perdure.Event{Name: "hello"})
			}
			run(t, b.fresh(0), b.id)
			if b.paid["rent"] != 1 {
				t.Errorf("snapshots %v, %d first: paid %v", snapshots, first, b.paid)
			}
		}
	}
}

// Two copies without the seat have seen it, and nobody who counts: it is told again once.
func TestWhatOnlyCopiesHaveSeenIsToldAgainOnce(t *testing.T) {
	b := newBillers(t, 3, false)
	b.bill(0, "rent", "")
	for _, at := range []int{1, 2} {
		merge(t, b.stores[0], b.stores[at], b.id)
		run(t, b.nodes[at], b.id)
	}
	for _, at := range []int{1, 2} {
		merge(t, b.stores[at], b.stores[0], b.id)
	}
	run(t, b.fresh(0), b.id)
	for _, at := range []int{1, 2, 0} {
		merge(t, b.stores[0], b.stores[at], b.id)
		run(t, b.fresh(at), b.id)
		merge(t, b.stores[at], b.stores[0], b.id)
	}
	run(t, b.fresh(0), b.id)
	if b.paid["rent"] != 1 || len(load(t, b.stores[0], b.id).Unseen()) > 0 {
		t.Errorf("paid %v", b.paid)
	}
}

// A store that gets the seat drops what was proposed under the last one, and hears again what that was for.
func TestASeatThatMovesLosesNoEvent(t *testing.T) {
	b := newBillers(t, 2, false)
	b.bill(1, "water", "")
	run(t, b.nodes[1], b.id) // whose advice waits for the seat
	merge(t, b.stores[1], b.stores[0], b.id)
	if err := b.nodes[0].GiveSeat(t.Context(), b.id, b.nodes[1].Key.Key(), "moving"); err != nil {
		t.Fatal(err)
	}
	merge(t, b.stores[0], b.stores[1], b.id)
	run(t, b.fresh(1), b.id)
	if b.paid["water"] != 1 {
		t.Errorf("paid %v", b.paid)
	}
}

// The seat moves in the middle of a turn: bills are paid, and the agent does not sleep yet. What is left of the advice
// is dropped, and the bills that were paid are not told again.
func TestASeatThatMovesInATurnPaysNothingTwice(t *testing.T) {
	b := newBillers(t, 2, false)
	b.bill(0, "water", "")
	b.bill(0, "rent", "")
	for i := 0; b.paid["water"]+b.paid["rent"] == 0; i++ {
		if _, err := b.nodes[0].Cycle(t.Context(), b.id); err != nil || i == 20 {
			t.Fatalf("nothing is paid: %v", err)
		}
	}
	if load(t, b.stores[0], b.id).Sleep != nil {
		t.Fatal("it sleeps: this shows nothing")
	}
	if err := b.nodes[0].GiveSeat(t.Context(), b.id, b.nodes[1].Key.Key(), "moving"); err != nil {
		t.Fatal(err)
	}
	merge(t, b.stores[0], b.stores[1], b.id)
	run(t, b.fresh(1), b.id)
	if b.paid["water"] > 1 || b.paid["rent"] > 1 {
		t.Errorf("paid %v", b.paid)
	}
}
