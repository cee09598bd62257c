package perdure_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// tallied is a store that counts the entries it yields.
type tallied struct {
	perdure.Store
	entries int
}

func (s *tallied) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item,
	error] {
	return func(yield func(perdure.Item, error) bool) {
		for item, err := range s.Store.Entries(ctx, id, after) {
			if s.entries++; !yield(item, err) {
				return
			}
		}
	}
}

// TestAPointInThePastCostsWhatIsNearIt: an agent at any entry is what folding everything up to it gives, and takes no
// more entries than lie between two snapshots, however long its memory is.
func TestAPointInThePastCostsWhatIsNearIt(t *testing.T) {
	const every, entries = 20, 600
	key, err := perdure.GenerateSigner("author")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	g, err := key.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "go on"},
		Charter: perdure.Charter{Scope: "acme"}}, now)
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	s := &tallied{Store: new(perdure.MemStore)}
	all := []*perdure.Entry{g}
	for len(all) < entries {
		draft := perdure.Draft{Body: perdure.Event{Name: "tick"}}
		if len(all)%every == 0 {
			draft.Body = perdure.Snapshot{Fold: *a.Fold()}
		}
		es, next, err := key.Commit(a, now, draft)
		if err != nil {
			t.Fatal(err)
		}
		a, all = next, append(all, es...)
	}
	if err := s.Put(t.Context(), g.ID(), all...); err != nil {
		t.Fatal(err)
	}
	trust := new(perdure.Trust).With(perdure.Trustee{Key: key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	for _, at := range []int{0, 1, 19, 20, 21, 333, 400, 599} {
		want, err := perdure.AgentAt(perdure.Memory(t.Context(), s.Store, g.ID()), all[at].Name)
		if err != nil {
			t.Fatal(err)
		}
		s.entries = 0
		got, err := trust.LoadAt(t.Context(), s, a, all[at])
		if err != nil {
			t.Fatal(err)
		}
		if x, y := hashOf(t, want), hashOf(t, got); !bytes.Equal(x[:], y[:]) {
			t.Errorf("at %d: the fold differs from that of everything before", at)
		}
		if s.entries > every+1 {
			t.Errorf("at %d of %d: read %d entries, want at most %d", at, entries, s.entries, every+1)
		}
		if n := len(recentOf(got)); n > every+1 && at > 3*every {
			t.Errorf("at %d: %d entries are held", at, n)
		}
	}
	stranger := new(perdure.Trust)
	s.entries = 0
	if _, err := stranger.LoadAt(t.Context(), s, a, all[333]); err != nil || s.entries < 333 {
		t.Errorf("read %d entries (%v), want everything: nobody trusted vouches for the snapshots", s.entries, err)
	}
}

// sought is a store that counts the snapshots it yields, and from how many places it is read.
type sought struct {
	*perdure.MemStore
	snapshots, places int
}

func (s *sought) Snapshots(ctx context.Context, id perdure.AgentID) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		for item, err := range s.MemStore.Snapshots(ctx, id) {
			if s.snapshots++; !yield(item, err) {
				return
			}
		}
	}
}

func (s *sought) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item, error] {
	s.places++
	return s.MemStore.Entries(ctx, id, after)
}

// TestLaterSnapshotsAreNotRead: a point at the beginning of an agent with many snapshots takes a look at a few of them.
func TestLaterSnapshotsAreNotRead(t *testing.T) {
	const snapshots = 500
	store := new(perdure.MemStore)
	n := newNode(t, store, nil)
	id := create(t, n, perdure.Genesis{Intent: perdure.Intent{Goal: "go on"}})
	s := on(t, loaded(t, store, id))
	for range snapshots {
		s.write(perdure.Event{Name: "tick"}, perdure.Snapshot{Fold: *s.a.Fold()})
	}
	put(t, store, id, s.all...)
	counted := &sought{MemStore: store}
	for seq, want := range map[int64]int64{0: -1, 1: -1, 2: 2, 3: 2, 40: 40, 41: 40, 2 * snapshots: 2 * snapshots} {
		got := int64(-1)
		for snap, err := range perdure.SnapshotsUpTo(t.Context(), counted, id, seq) {
			if err != nil {
				t.Fatal(err)
			}
			got = snap.Seq
			break
		}
		if got != want {
			t.Errorf("the newest snapshot up to %d is at %d, want %d", seq, got, want)
		}
		if counted.snapshots > 0 || counted.places > 12 {
			t.Errorf("up to %d: %d snapshots and %d places are read of %d", seq, counted.snapshots, counted.places,
				snapshots)
		}
		counted.places = 0
	}
}

// unreadable is a store that cannot read from one place.
type unreadable struct {
	*sought
	at  perdure.Cursor
	err error
}

func (s *unreadable) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[
	perdure.Item, error] {
	if after == s.at {
		return func(yield func(perdure.Item, error) bool) { yield(perdure.Item{}, s.err) }
	}
	return s.sought.Entries(ctx, id, after)
}

// TestASnapshotThatCannotBeReadIsNotPassedOver: what is left is read from far before it, and nobody is told why. One
// that was dropped since is.
func TestASnapshotThatCannotBeReadIsNotPassedOver(t *testing.T) {
	t.Parallel()
	store := new(perdure.MemStore)
	id := create(t, newNode(t, store, nil), perdure.Genesis{Intent: perdure.Intent{Goal: "go on"}})
	s := on(t, loaded(t, store, id))
	for range 50 {
		s.write(perdure.Event{Name: "tick"}, perdure.Snapshot{Fold: *s.a.Fold()})
	}
	put(t, store, id, s.all...)
	counted := &sought{MemStore: store}
	places, err := counted.SnapshotCursors(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("input/output error")
	for _, fault := range []error{failed, perdure.ErrNotFound} {
		broken := &unreadable{counted, places[2] - 1, fault}
		var got []error
		for _, err := range perdure.SnapshotsUpTo(t.Context(), broken, id, 1<<40) {
			if got = append(got, err); len(got) == 3 {
				break
			}
		}
		if fault == failed && !errors.Is(got[2], failed) || fault != failed && got[2] != nil {
			t.Errorf("%v: %v", fault, got)
		}
	}
}

func hashOf(t *testing.T, a *perdure.Agent) perdure.Hash {
	t.Helper()
	h, err := a.Fold().Hash()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func recentOf(a *perdure.Agent) (out []*perdure.Entry) {
	for e := range a.Recent() {
		out = append(out, e)
	}
	return out
}

// A stranger's snapshot says nothing of the past of an agent whose entries are there.
func TestAStrangersSnapshotIsNoPointInThePast(t *testing.T) {
	store := new(perdure.MemStore)
	n := newNode(t, store, nil)
	id := create(t, n, perdure.Genesis{Intent: perdure.Intent{Goal: "pay ann"}})
	s := on(t, loaded(t, store, id))
	lie := *s.a.Fold()
	lie.Intent.Goal = "pay mallory"
	s.write(perdure.Snapshot{Fold: lie}, perdure.Event{Name: "hello"})
	put(t, store, id, s.all...)
	a, err := n.Trusted().LoadAt(t.Context(), store, loaded(t, store, id), s.all[len(s.all)-1])
	if err != nil || a.Fold().Intent.Goal != "pay ann" {
		t.Errorf("its goal was %q, %v", a.Fold().Intent.Goal, err)
	}
}
