package perdure_test

import (
	"slices"
	"testing"

	"github.com/perdure/perdure"
)

// Two copies that both may pay: one pays many bills and bill 0 last, the other only bill 0. However many there were, a
// person is asked about bill 0.
func TestWhatWasDoubledFarApartIsFound(t *testing.T) {
	for _, before := range []int64{0, 1, 70, 300} {
		arg := func(i int64) perdure.Data { d, _ := perdure.DataOf(map[string]any{"bill": i}); return d }
		pay, seen := counter("pay", perdure.Once)
		payer := func(others int64) *perdure.Node {
			n := newNode(t, new(perdure.MemStore), scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
				if turn > others {
					return []perdure.Action{perdure.Sleep{Trigger: perdure.On{Event: "x"}}}
				}
				return []perdure.Action{perdure.Execute{Tool: "pay", Args: arg(others - turn)}}
			}), pay)
			n.Place, n.SnapshotEvery = perdure.Place{ID: perdure.HashOf(nil)}, 100_000
			return n
		}
		a, b := payer(before), payer(0)
		id := create(t, a, perdure.Genesis{})
		merge(t, a.Store, b.Store, id)
		run(t, a, id)
		run(t, b, id)
		merge(t, b.Store, a.Store, id)
		run(t, a, id)
		if _, total := calls(seen); total != int(before)+2 {
			t.Fatalf("%d others: %d payments", before, total)
		}
		if d := load(t, a.Store, id).Doubles(); len(d) == 0 {
			t.Errorf("%d others: nobody is asked about the bill that was paid twice", before)
		}
	}
}

// What one copy did after it had seen everything the other did is not asked about, however much that was.
func TestWhatWasSeenIsNotTakenForDoubled(t *testing.T) {
	arg := func(i int64) perdure.Data { d, _ := perdure.DataOf(i); return d }
	pay, _ := counter("pay", perdure.Once)
	n := newNode(t, new(perdure.MemStore), scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		if turn%10 == 9 {
			return []perdure.Action{perdure.Sleep{Trigger: perdure.On{Event: "more"}}}
		}
		return []perdure.Action{perdure.Execute{Tool: "pay", Args: arg(turn)}}
	}), pay)
	n.SnapshotEvery = 100_000
	other := new(perdure.MemStore)
	id := create(t, n, perdure.Genesis{})
	for range 40 {
		run(t, n, id)
		merge(t, n.Store, other, id)
		teller := newNode(t, other, scripted(nothing))
		teller.Key = n.Key
		for _, s := range []*perdure.Node{teller, n} { // on both sides, unseen by the other
			if _, err := s.Tell(t.Context(), id, perdure.Event{Name: "more"}); err != nil {
				t.Fatal(err)
			}
		}
		run(t, n, id)
		merge(t, other, n.Store, id)
	}
	run(t, n, id)
	f := load(t, n.Store, id)
	if d := f.Doubles(); len(d) > 0 {
		t.Errorf("%d payments are taken for doubled, such as %+v", len(d), d[0])
	}
	if i := slices.IndexFunc(f.Tools, func(r perdure.ToolRecord) bool {
		return r.Tool == "pay"
	}); i < 0 || f.Tools[i].Calls < 300 {
		t.Fatalf("it is not about many payments: %+v", f.Tools)
	}
}
