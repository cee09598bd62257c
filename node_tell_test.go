package perdure_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/copytest"
)

// told is an agent in a store of its own, and nodes with one key that tell it things.
type told struct {
	store *copytest.Counter
	key   *perdure.Signer
	id    perdure.AgentID
}

func newTold(t testing.TB) *told {
	t.Helper()
	key, err := perdure.GenerateSigner("owner")
	if err != nil {
		t.Fatal(err)
	}
	l := &told{store: &copytest.Counter{MemStore: new(perdure.MemStore)}, key: key}
	l.id = l.create(t, l.node())
	return l
}

func (l *told) node() *perdure.Node { return &perdure.Node{Store: l.store, Key: l.key} }

func (l *told) create(t testing.TB, by *perdure.Node) perdure.AgentID {
	t.Helper()
	g := perdure.Genesis{Intent: perdure.Intent{Name: "told", Goal: "listen"}, Charter: perdure.Charter{Scope: "acme"}}
	a, err := by.Create(context.Background(), g)
	if err != nil {
		t.Fatal(err)
	}
	return a.ID()
}

// tell tells the agent something each time by the node that by returns, and returns how many entries were read for it.
func (l *told) tell(t testing.TB, events int, by func() *perdure.Node) int {
	t.Helper()
	before := l.store.Read
	for i := range events {
		if _, err := by().Tell(context.Background(), l.id, perdure.Event{Name: fmt.Sprint("event-", i)}); err != nil {
			t.Fatal(err)
		}
	}
	return l.store.Read - before
}

// What a node tells an agent costs what is new, however long the memory: also where no node works on the agent, and a
// process tells it one thing and ends.
func TestTellReadsWhatIsNew(t *testing.T) {
	t.Parallel()
	const events, every = 800, 256
	t.Run("one node", func(t *testing.T) {
		l := newTold(t)
		n := l.node()
		if read := l.tell(t, events, func() *perdure.Node { return n }); read > events {
			t.Errorf("%d events made a node read %d entries", events, read)
		}
	})
	t.Run("a node for each", func(t *testing.T) {
		l := newTold(t)
		l.tell(t, events, l.node)
		if read := l.tell(t, 1, l.node); read > every+8 {
			t.Errorf("after %d events one more made a new node read %d entries", events, read)
		}
	})
}

func TestAnEventThatWasReceivedIsNotWrittenAgain(t *testing.T) {
	l := newTold(t)
	book, err1 := perdure.DataOf("book")
	another, err2 := perdure.DataOf("another")
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	first, err := l.node().Tell(t.Context(), l.id, perdure.Event{Name: "order", By: "shop", ID: "order-17", Data: book})
	if err != nil {
		t.Fatal(err)
	}
	n := l.node()
	for range 3 {
		again, err := n.Tell(t.Context(), l.id, perdure.Event{Name: "order", By: "shop", ID: "order-17", Data: another})
		if err != nil || again.Name != first.Name {
			t.Fatalf("told again: %v, %v, want the first entry %v", again, err, first.Name)
		}
	}
	for _, other := range []perdure.Event{{Name: "order", By: "bank", ID: "order-17"}, {Name: "order", By: "shop"},
		{Name: "order", By: "shop", ID: "order-18"}} {
		if e, err := n.Tell(t.Context(), l.id, other); err != nil || e.Name == first.Name {
			t.Errorf("%+v is another event; got %v, %v", other, e, err)
		}
	}
	a, err := perdure.Load(t.Context(), l.store, l.id)
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Fold().Count; got != 5 {
		t.Errorf("there are %d entries, want genesis and four events", got)
	}
}

func BenchmarkTell(b *testing.B) {
	for _, events := range []int{75, 150, 300, 600} {
		for _, kind := range []string{"one-node", "a-node-each"} {
			b.Run(fmt.Sprintf("%s/events=%d", kind, events), func(b *testing.B) {
				for b.Loop() {
					l := newTold(b)
					n := l.node()
					by := func() *perdure.Node { return n }
					if kind != "one-node" {
						by = l.node
					}
					l.tell(b, events, by)
				}
				b.ReportMetric(float64(b.Elapsed())/float64(time.Microsecond)/float64(b.N*events), "µs/event")
			})
		}
	}
}

// lengthen writes events and a snapshot after them, so many times.
func (l *told) lengthen(t *testing.T, times, events int) {
	t.Helper()
	n := l.node()
	for range times {
		a, err := perdure.Load(t.Context(), l.store, l.id)
		if err != nil {
			t.Fatal(err)
		}
		drafts := make([]perdure.Draft, events)
		for i := range drafts {
			drafts[i].Body = perdure.Advice{Advisor: "m"}
		}
		entries, _, err := l.key.Commit(a, time.Now(), drafts...)
		if err == nil {
			err = l.store.Put(t.Context(), l.id, entries...)
		}
		if err == nil {
			_, err = n.Snapshot(t.Context(), l.id)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// What is looked for in a long memory costs what came after it, not all that came before.
func TestWhatIsLookedForCostsWhatCameAfterIt(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	l.lengthen(t, 40, 100)
	ev := perdure.Event{Name: "order", By: "shop", ID: "order-17"}
	first, err := l.node().Tell(t.Context(), l.id, ev)
	if err != nil {
		t.Fatal(err)
	}
	l.lengthen(t, 3, 100)
	for what, look := range map[string]func() error{
		"an event again": func() error {
			e, err := l.node().Tell(t.Context(), l.id, ev)
			if err == nil && e.Name != first.Name {
				err = fmt.Errorf("got %s, want %s", e.Name, first.Name)
			}
			return err
		},
		"an entry": func() error {
			a, err := perdure.Load(t.Context(), l.store, l.id)
			if err != nil {
				return err
			}
			e, err := a.Find(t.Context(), l.store, first.Name)
			if err == nil && (e == nil || e.Name != first.Name) {
				err = fmt.Errorf("got %v, want %s", e, first.Name)
			}
			return err
		},
		"what was seen": func() error {
			a, err := perdure.Load(t.Context(), l.store, l.id)
			if err != nil {
				return err
			}
			missing, _, err := a.Behind(t.Context(), l.store, perdure.Place{}, nil,
				perdure.Sighting{Heads: []perdure.Hash{first.Name}})
			if err == nil && len(missing) > 0 {
				err = fmt.Errorf("%v is missing", missing)
			}
			return err
		},
	} {
		before := l.store.Read
		if err := look(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if read := l.store.Read - before; read > 5*100+50 {
			t.Errorf("%s: %d entries were read, and 300 came after it", what, read)
		}
	}
}

// Backwards yields what there is, once.
func TestBackwardsYieldsEveryEntryOnce(t *testing.T) {
	t.Parallel()
	l := newTold(t)
	l.lengthen(t, 5, 7)
	if _, err := l.node().Tell(t.Context(), l.id, perdure.Event{Name: "last"}); err != nil {
		t.Fatal(err)
	}
	want, got := map[perdure.Hash]bool{}, map[perdure.Hash]bool{}
	for e, err := range perdure.Memory(t.Context(), l.store, l.id) {
		if err != nil {
			t.Fatal(err)
		}
		want[e.Name] = true
	}
	for e, err := range perdure.Backwards(t.Context(), l.store, l.id, nil) {
		if err != nil || got[e.Name] || !want[e.Name] {
			t.Fatalf("%v %v comes twice, or is not there", e, err)
		}
		got[e.Name] = true
	}
	if len(got) != len(want) {
		t.Errorf("%d of %d entries", len(got), len(want))
	}
}
