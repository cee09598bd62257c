package exchange_test

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/store/sqlite"
)

// metered is a place of which what it reads and sends is counted, in bytes.
type metered struct {
	*place
	read, sent int
}

func (m *metered) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item,
	error] {
	return func(yield func(perdure.Item, error) bool) {
		for item, err := range m.place.Entries(ctx, id, after) {
			if err == nil {
				m.read += len(item.HeaderBytes()) + len(item.BodyBytes())
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

func (m *metered) Snapshots(ctx context.Context, id perdure.AgentID) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		for item, err := range m.place.Snapshots(ctx, id) {
			if err == nil {
				m.reads++
				m.read += len(item.HeaderBytes()) + len(item.BodyBytes())
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

func (m *metered) Offer(ctx context.Context, id perdure.AgentID) (exchange.Offer, error) {
	return exchange.Of(ctx, m, id)
}

func (m *metered) Missing(ctx context.Context, o exchange.Offer) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		for e, err := range exchange.Missing(ctx, m, o) {
			if err == nil {
				m.sent += len(e.HeaderBytes()) + len(e.BodyBytes())
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// grow adds many events to an agent, with a snapshot after every so many, as nodes write them.
func (p *place) grow(t *testing.T, id perdure.AgentID, events, every int) {
	t.Helper()
	for done := 0; done < events; done += every {
		a, err := perdure.Load(t.Context(), p.Store, id)
		if err != nil {
			t.Fatal(err)
		}
		drafts := make([]perdure.Draft, 0, every)
		for i := range every {
			drafts = append(drafts, perdure.Draft{Body: perdure.Event{Name: fmt.Sprint("e", done+i)}})
		}
		entries, told, err := p.node.Key.Commit(a, time.Now(), drafts...)
		if err == nil { // its advisor has seen the last of them, so that there is room in its inbox
			var seen []perdure.Hash
			for _, m := range told.Fold().Inbox {
				seen = append(seen, m.Event)
			}
			var advice []*perdure.Entry
			saw := perdure.Advice{Advisor: "m", Seen: seen}
			advice, _, err = p.node.Key.Commit(told, time.Now(), perdure.Draft{Body: saw})
			entries = append(entries, advice...)
		}
		if err == nil {
			err = p.Put(t.Context(), id, entries...)
		}
		if err == nil {
			_, err = p.node.Snapshot(t.Context(), id)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// What it costs to pass ten entries does not depend on how many there are before them.
func TestTenOfAHundredThousandCostTen(t *testing.T) {
	t.Parallel()
	cost := map[int][3]int{}
	for _, size := range []int{2_000, 100_000} {
		if testing.Short() && size > 2_000 {
			continue
		}
		k := key(t, "owner")
		a, b := &metered{place: newPlace(t, k)}, &metered{place: newPlace(t, k)}
		id := a.create(t)
		a.grow(t, id, size, 250)
		sync(t, a, b, id, exchange.Push)
		a.hear(t, id, 10)
		*a, *b = metered{place: a.place}, metered{place: b.place}
		a.reads, b.reads = 0, 0
		s := sync(t, a, b, id, exchange.Both)
		if s.Pushed == nil || s.Pushed.Entries < 10 || s.Pushed.Entries > 12 {
			t.Fatalf("%d: %+v, want ten entries", size, s.Pushed)
		}
		cost[size] = [3]int{a.reads + b.reads, a.read + b.read, a.sent + b.sent}
		if a.fold(t, id) != b.fold(t, id) {
			t.Errorf("%d: the folds differ", size)
		}
		t.Logf("%d entries: %d read (%d bytes), %d bytes sent", size, cost[size][0], cost[size][1], cost[size][2])
	}
	small, large := cost[2_000], cost[100_000]
	for i, what := range []string{"entries read", "bytes read", "bytes sent"} {
		if large[i] > 6*small[i] { // an offer names up to 32 snapshots, of which the small one has 8
			t.Errorf("%s: %d of 2,000 entries, %d of 100,000", what, small[i], large[i])
		}
	}
}

// unread is a place whose snapshots are not to be read.
type unread struct {
	*sqlite.Store
	t *testing.T
}

func (u unread) Snapshots(ctx context.Context, id perdure.AgentID) iter.Seq2[perdure.Item, error] {
	u.t.Error("the body of a snapshot is read")
	return u.Store.Snapshots(ctx, id)
}

// TestSnapshotsAreNamedUnread asks a store for what it has and for what another place lacks: both name snapshots, and
// read none.
func TestSnapshotsAreNamedUnread(t *testing.T) {
	s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "agents.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	p := newPlace(t, key(t, "owner"))
	p.Store, p.node.Store = s, s
	id := p.create(t)
	p.grow(t, id, 100, 50)
	u := unread{s, t}
	before, err := exchange.Of(t.Context(), u, id)
	if err != nil || len(before.Anchors) != 2 {
		t.Fatalf("%d snapshots are named: %v, want 2", len(before.Anchors), err)
	}
	p.hear(t, id, 10)
	sent := 0
	for _, err := range exchange.Missing(t.Context(), u, before) {
		if sent++; err != nil {
			t.Fatal(err)
		}
	}
	if sent != 10 {
		t.Errorf("%d entries are missing, want 10", sent)
	}
	if recent, all, err := exchange.Known(t.Context(), u, before); !all || err != nil {
		t.Errorf("known: %d recent, all %v, %v, want all", len(recent), all, err)
	}
}
