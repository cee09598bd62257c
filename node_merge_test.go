package perdure_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/perdure/perdure"
)

// Copies of an agent are sent bills, some of them the same under one id, run, are merged with each other and write
// snapshots, in any order. Once all of it is where the seat is, each bill has been paid there once, and no bill is left
// unseen: no wake-up is lost, and none counts twice.
func TestWhateverCopiesWereToldIsPaidOnce(t *testing.T) {
	seeds, err := strconv.ParseUint(os.Getenv("PERDURE_HISTORIES"), 10, 64)
	if err != nil {
		t.Skip("set PERDURE_HISTORIES to a number")
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		b := newBillers(t, 1+r.IntN(3), r.IntN(2) == 0)
		told := map[string]bool{}
		steps := 10 + r.IntN(30)
		for i := range steps {
			at := r.IntN(len(b.nodes))
			switch r.IntN(8) {
			case 0, 1:
				what := fmt.Sprint("bill ", i)
				b.bill(at, what, "")
				told[what] = true
			case 2: // perhaps told in another copy as well
				what := fmt.Sprint("order ", r.IntN(6))
				b.bill(at, what, what)
				told[what] = true
			case 3:
				tellTimes(t, b.nodes[at], b.id, 1+r.IntN(3), perdure.Event{Name: "hello"})
			case 4, 5:
				run(t, b.fresh(at), b.id)
			case 6:
				merge(t, b.stores[at], b.stores[r.IntN(len(b.stores))], b.id)
			case 7:
				n := b.fresh(at)
				n.SnapshotEvery = 1
				tellTimes(t, n, b.id, 1, perdure.Event{Name: "hello"})
			}
		}
		for range 2 { // what it does about what comes may be merged as well
			for _, s := range b.stores {
				merge(t, s, b.stores[0], b.id)
			}
			run(t, b.fresh(0), b.id)
			for _, s := range b.stores {
				merge(t, b.stores[0], s, b.id)
			}
			for i := range b.nodes {
				run(t, b.fresh(i), b.id)
			}
		}
		for what := range told {
			if b.paid[what] != 1 {
				t.Errorf("seed %d: %s was paid %d times", seed, what, b.paid[what])
			}
		}
		bill := func(m perdure.Message) bool { return m.Name == "bill" }
		f := load(t, b.stores[0], b.id)
		if slices.ContainsFunc(f.Unseen(), bill) || len(f.Doubles()) > 0 || f.Sleep == nil {
			t.Errorf("seed %d: unseen %v, doubled %v, asleep: %v", seed, f.Unseen(), f.Doubles(), f.Sleep != nil)
		}
	}
}
