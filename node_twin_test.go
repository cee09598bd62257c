package perdure_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/perdure/perdure"
)

// biller pays a bill for every event it is shown, and sleeps until the next. It notes what it was shown.
type biller struct {
	shown []string
	quick bool // it takes events one by one
}

func (b *biller) Instant() bool { return b.quick }

func (b *biller) Advise(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
	var out perdure.Advice
	for _, m := range a.Fold().Inbox {
		b.shown = append(b.shown, m.Data.Text())
		if b.quick {
			out.Seen = append(out.Seen, m.Event)
		}
		if m.Name == "bill" {
			out.Actions = append(out.Actions, perdure.Execute{Tool: "pay", Args: m.Data})
		}
	}
	out.Actions = append(out.Actions, perdure.Sleep{Trigger: perdure.On{Event: "bill"}})
	return out, nil
}

// billers are copies of an agent that pays bills, asleep until it is sent one.
type billers struct {
	*testing.T
	id     perdure.AgentID
	stores []*perdure.MemStore
	nodes  []*perdure.Node
	advice []*biller
	mu     sync.Mutex
	paid   map[string]int
}

func newBillers(t *testing.T, copies int, quick bool) *billers {
	t.Helper()
	b := &billers{T: t, paid: map[string]int{}}
	pay := &tool{spec: perdure.Spec{Name: "pay", Effect: perdure.Once}}
	pay.call = func(_ context.Context, c perdure.Call) (perdure.Result, error) {
		b.mu.Lock() // several are paid at once
		defer b.mu.Unlock()
		b.paid[c.Args.Text()]++
		return perdure.Result{}, nil
	}
	for i := range copies {
		b.stores, b.advice = append(b.stores, new(perdure.MemStore)), append(b.advice, &biller{quick: quick})
		b.nodes = append(b.nodes, newNode(t, b.stores[i], b.advice[i], pay))
	}
	b.id = create(t, b.nodes[0], perdure.Genesis{})
	run(t, b.nodes[0], b.id)
	for _, s := range b.stores[1:] {
		merge(t, b.stores[0], s, b.id)
	}
	return b
}

// bill sends a copy a bill, under an id if that is not empty.
func (b *billers) bill(at int, what, id string) *perdure.Entry {
	b.Helper()
	data, err := perdure.DataOf(what)
	if err != nil {
		b.Fatal(err)
	}
	e, err := b.nodes[at].Tell(b.Context(), b.id, perdure.Event{Name: "bill", Data: data, ID: id, By: "the shop"})
	if err != nil {
		b.Fatal(err)
	}
	return e
}

// fresh is a node as another process has it.
func (b *billers) fresh(at int) *perdure.Node {
	n := b.nodes[at]
	return &perdure.Node{Store: n.Store, Key: n.Key, Trust: n.Trust, Policy: n.Policy, Tools: n.Tools,
		Advisors: n.Advisors}
}

// Two copies are told the same, under one id. Whichever of the two is the event and whichever repeats it when they are
// merged, it is acted on once, and shown once where the seat is.
func TestWhatTwoCopiesWereToldUnderOneIDIsHeardOnce(t *testing.T) {
	for _, quick := range []bool{false, true} {
		for first := range 4 { // which is folded first
			b := newBillers(t, 2, quick)
			tellTimes(t, b.nodes[0], b.id, first, perdure.Event{Name: "hello"})
			tellTimes(t, b.nodes[1], b.id, 3-first, perdure.Event{Name: "hello"})
			b.bill(0, "rent", "rent-1")
			run(t, b.nodes[0], b.id)
			b.bill(1, "rent", "rent-1")
			merge(t, b.stores[1], b.stores[0], b.id)
			what := fmt.Sprintf("quick %v, %d first", quick, first)
			if f := load(t, b.stores[0], b.id); slices.ContainsFunc(f.Unseen(), func(m perdure.Message) bool {
				return m.Name == "bill"
			}) {
				t.Errorf("%s: %v is unseen", what, f.Unseen())
			}
			run(t, b.fresh(0), b.id)
			tellTimes(t, b.nodes[0], b.id, 5, perdure.Event{Name: "hello"}) // time for a snapshot
			b.nodes[0].SnapshotEvery = 1
			tellTimes(t, b.nodes[0], b.id, 2, perdure.Event{Name: "hello"})
			run(t, b.fresh(0), b.id)
			b.bill(0, "water", "")
			run(t, b.fresh(0), b.id)
			if b.paid["rent"] != 1 || b.paid["water"] != 1 {
				t.Errorf("%s: paid %v", what, b.paid)
			}
			n := len(slices.DeleteFunc(slices.Clone(b.advice[0].shown), func(s string) bool { return s != "rent" }))
			if f := load(t, b.stores[0], b.id); n != 1 || len(f.Inbox) != 0 {
				t.Errorf("%s: shown %d times, in the inbox %v", what, n, f.Inbox)
			}
		}
	}
}

// An event that only the copy without the seat has, or that nobody has seen, is still heard.
func TestWhatOnlyOneCopyWasToldIsHeard(t *testing.T) {
	b := newBillers(t, 2, false)
	b.bill(0, "rent", "rent-1")
	run(t, b.nodes[0], b.id)
	b.bill(1, "water", "water-1")
	merge(t, b.stores[1], b.stores[0], b.id)
	run(t, b.fresh(0), b.id)
	if b.paid["rent"] != 1 || b.paid["water"] != 1 {
		t.Errorf("paid %v", b.paid)
	}
}
