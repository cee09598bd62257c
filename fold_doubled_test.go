package perdure_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

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

// Copies that both pay and then end, or go on, at their own pace: a person is asked, whoever was first, and whether the
// copies were asked about the payment before they parted, or each had advice of its own.
func TestWhatWasDoubledByCopiesThatEndedIsFound(t *testing.T) {
	for _, asked := range []string{"", "pay"} { // before the copies parted
		for _, ends := range []bool{false, true} {
			for _, early := range []int{0, 1, 9} { // how much more happened to one of them before
				t.Run(fmt.Sprint(asked, ends, early), func(t *testing.T) { doubledBy(t, asked, ends, early) })
			}
		}
	}
}

func doubledBy(t *testing.T, asked string, ends bool, early int) {
	pay, seen := counter("pay", perdure.Once)
	payer := func() *perdure.Node {
		n := newNode(t, new(perdure.MemStore), scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
			switch {
			case turn == 0:
				return []perdure.Action{perdure.Execute{Tool: "pay"}}
			case ends:
				return []perdure.Action{perdure.End{Signal: perdure.OK}}
			}
			return []perdure.Action{perdure.Sleep{Trigger: perdure.On{Event: "x"}}}
		}), pay)
		n.Place, n.SnapshotEvery = perdure.Place{ID: perdure.HashOf(nil)}, 100_000
		n.Policy = perdure.PolicyFunc(func(a *perdure.Agent, r perdure.Request, now time.Time) perdure.Verdict {
			if x, ok := r.Action.(perdure.Execute); ok && x.Tool == asked {
				return perdure.Verdict{Answer: perdure.Ask}
			}
			return allow(a, r, now)
		})
		return n
	}
	a, b := payer(), payer()
	b.Key = a.Key
	id := create(t, a, perdure.Genesis{})
	if asked != "" {
		run(t, a, id)
	}
	merge(t, a.Store, b.Store, id)
	for i, n := range []*perdure.Node{a, b} {
		for range i * early {
			if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "hello"}); err != nil {
				t.Fatal(err)
			}
		}
		if asks := load(t, n.Store, id).Asks; len(asks) > 0 {
			approve(t, n, id, &asks[0])
		}
		run(t, n, id)
	}
	if _, total := calls(seen); total != 2 {
		t.Fatalf("%d payments", total)
	}
	merge(t, b.Store, a.Store, id)
	merge(t, a.Store, b.Store, id)
	for _, n := range []*perdure.Node{a, b} {
		if d := load(t, n.Store, id).Doubles(); len(d) != 1 {
			t.Errorf("%d found decided twice, want 1", len(d))
		}
	}
	run(t, a, id)
	f := load(t, a.Store, id)
	if len(f.Doubled) != 1 || (f.Ended != nil) != ends {
		t.Fatalf("%d on record, want 1", len(f.Doubled))
	}
	settle := perdure.Settle{Decision: f.Doubled[0].Second, Signal: perdure.OK}
	if _, err := a.Settle(t.Context(), id, settle); err != nil {
		t.Error(err)
	}
	if f := load(t, a.Store, id); len(f.Doubles()) > 0 {
		t.Error("it is still asked after it was settled")
	}
}
