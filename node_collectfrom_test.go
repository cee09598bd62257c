package perdure

import (
	"bytes"
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"
)

// TestACopyOfTheLastEntriesIsCollected: its fold counts entries that it does not have.
func TestACopyOfTheLastEntriesIsCollected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, other := new(MemStore), new(MemStore)
		n := &Node{Store: s, Key: people["owner"]}
		a, err := n.Create(t.Context(), Genesis{Intent: Intent{Name: "a", Goal: "g", TTL: 1},
			Charter: Charter{Scope: "acme"}})
		if err != nil {
			t.Fatal(err)
		}
		id := a.ID()
		for range 5 {
			if _, err := n.Tell(t.Context(), id, Event{Name: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		snap, err := n.Snapshot(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Tell(t.Context(), id, Event{Name: "y"}); err != nil {
			t.Fatal(err)
		}
		err = other.Replace(t.Context(), id, nil, Last(2), func(yield func(*Entry, error) bool) {
			from := false
			for e, err := range Memory(t.Context(), s, id) {
				if from = from || e.Name == snap.Name; from && !yield(e, err) {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		m := &Node{Store: other, Key: n.Key}
		if want, err := m.Expired(t.Context(), id); err != nil || want.Entries == 0 {
			t.Fatalf("expired: %d, %v", want.Entries, err)
		}
		if got, err := m.Collect(t.Context(), id); err != nil || got.Entries == 0 {
			t.Errorf("collected %d bodies: %v", got.Entries, err)
		}
	})
}

// TestAClockThatIsAheadKeepsNothingFromCollection: what a ttl promised goes, whatever one author's clock said.
func TestAClockThatIsAheadKeepsNothingFromCollection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(MemStore)
		n := &Node{Store: s, Key: people["owner"]}
		a, err := n.Create(t.Context(), Genesis{Intent: Intent{Name: "a", Goal: "g", TTL: 5},
			Charter: Charter{Scope: "acme"}})
		if err != nil {
			t.Fatal(err)
		}
		es, _, err := n.Key.Commit(a, time.Now().Add(365*24*time.Hour), Draft{Body: Event{Name: "early"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(t.Context(), a.ID(), es...); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if _, err := n.Tell(t.Context(), a.ID(), Event{Name: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Hour)
		if c, err := n.Collect(t.Context(), a.ID()); err != nil || c.Entries < 20 {
			t.Errorf("collected %d bodies: %v", c.Entries, err)
		}
		if _, err := n.Load(t.Context(), a.ID()); err != nil {
			t.Error(err)
		}
	})
}

// readCounter counts the entries that are read from a store.
type readCounter struct {
	*MemStore
	n int
}

func (c *readCounter) Entries(ctx context.Context, id AgentID, after Cursor) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for i, err := range c.MemStore.Entries(ctx, id, after) {
			if c.n++; !yield(i, err) {
				return
			}
		}
	}
}

// TestWhatComesTooLateCostsWhatCameSince: whether an entry is there already is known without reading all of memory.
func TestWhatComesTooLateCostsWhatCameSince(t *testing.T) {
	for _, size := range []int{300, 1500} {
		s := &readCounter{MemStore: new(MemStore)}
		n := &Node{Store: s, Key: people["owner"], SnapshotEvery: 64}
		a, err := n.Create(t.Context(), Genesis{Intent: Intent{Name: "a", Goal: "g"}, Charter: Charter{Scope: "acme"}})
		if err != nil {
			t.Fatal(err)
		}
		var late []*Entry
		for i := range size {
			if i == size-200 {
				b, err := n.load(t.Context(), a.ID())
				if err != nil {
					t.Fatal(err)
				}
				if late, _, err = n.Key.Commit(b, epoch, Draft{Body: Event{Name: "late"}}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := n.Tell(t.Context(), a.ID(), Event{Name: "x", Notice: Pause{Note: "p"}}); err != nil {
				t.Fatal(err)
			}
		}
		s.n = 0
		if err := n.beside(t.Context(), a.ID(), late...); err == nil {
			t.Fatal("an entry from before the snapshot was added")
		}
		if s.n > 600 {
			t.Errorf("of a memory of %d entries %d were read", size, s.n)
		}
	}
}

// TestWhatIsUnreadAndExpiredIsSoonInNoSnapshot: a collection stands on a snapshot of the very heads there are, which
// says once more what is still to be read. A node drops it as soon as nothing can have been written beside it.
func TestWhatIsUnreadAndExpiredIsSoonInNoSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(MemStore)
		n := &Node{Store: s, Key: people["owner"], CollectEvery: 10 * time.Second}
		a, err := n.Create(t.Context(), Genesis{Intent: Intent{Name: "a", Goal: "g",
			TTL: (30 * 24 * time.Hour).Milliseconds()}, Charter: Charter{Scope: "acme"}})
		if err != nil {
			t.Fatal(err)
		}
		data, err := DataOf("sesame")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Pause(t.Context(), a.ID(), ""); err != nil {
			t.Fatal(err)
		}
		if _, err := n.Tell(t.Context(), a.ID(), Event{Name: "said", Data: data}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan error)
		go func() { over <- n.Run(ctx) }()
		time.Sleep(30*24*time.Hour + 5*time.Minute)
		stop()
		<-over // it was told to stop
		for e, err := range Memory(t.Context(), s, a.ID()) {
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(e.body, []byte("sesame")) {
				t.Errorf("%s at seq %d still says it", e.Kind, e.Seq)
			}
		}
	})
}

// TestACollectionHidesNoMessageThatFell: where a snapshot would keep a message from the advisor, none is written, also
// not to drop what another message said.
func TestACollectionHidesNoMessageThatFell(t *testing.T) {
	s := new(MemStore)
	n := &Node{Store: s, Key: people["owner"], SnapshotEvery: 1 << 20}
	a, err := n.Create(t.Context(), Genesis{Intent: Intent{Name: "a", Goal: "g"}, Charter: Charter{Scope: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	said, err := DataOf("said")
	if err != nil {
		t.Fatal(err)
	}
	var drafts []Draft
	for range maxInbox + 1 {
		drafts = append(drafts, Draft{Body: Event{Name: "told", Data: said}})
	}
	drafts[maxInbox].TTL = time.Second
	entries, next, err := n.Key.Commit(a, epoch, drafts...)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), a.ID(), a.Heads(), entries...); err != nil {
		t.Fatal(err)
	}
	if len(next.fold.fallen) != 1 {
		t.Fatalf("%d messages fell, want one", len(next.fold.fallen))
	}
	if _, err := n.Collect(t.Context(), a.ID()); err != nil {
		t.Fatal(err)
	}
	fresh, err := Load(t.Context(), s, a.ID())
	if err != nil {
		t.Fatal(err)
	}
	if got := len(fresh.fold.Unseen()); got != maxInbox+1 {
		t.Errorf("%d messages are there for the advisor, want %d", got, maxInbox+1)
	}
}
