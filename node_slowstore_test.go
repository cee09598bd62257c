package perdure_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// slowStore takes longer to read a memory than a process may be stopped while it writes.
type slowStore struct {
	*perdure.MemStore
	looks int
	more  func() // happens while it is read
}

func (s *slowStore) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item,
	error] {
	s.looks++
	return func(yield func(perdure.Item, error) bool) {
		for it, err := range s.MemStore.Entries(ctx, id, after) {
			if !yield(it, err) {
				return
			}
		}
		time.Sleep(16 * time.Second)
		if s.more != nil {
			s.more()
		}
	}
}

// TestTellsThroughASlowStore: an event is told however long reading the memory takes, and where other entries keep
// arriving meanwhile, telling ends with an error.
func TestTellsThroughASlowStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &slowStore{MemStore: new(perdure.MemStore)}
		n := newNode(t, s, scripted(steps("do", 1)))
		n.CacheSize = -1
		id := create(t, n, perdure.Genesis{})
		if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "x"}); err != nil {
			t.Fatal(err)
		}
		if f := load(t, s.MemStore, id); len(f.Inbox) != 1 || s.looks > 4 {
			t.Errorf("%d messages after %d looks, want 1 after a few", len(f.Inbox), s.looks)
		}
		other := newNode(t, s.MemStore, nil)
		s.more = func() {
			if _, err := other.Tell(t.Context(), id, perdure.Event{Name: "y"}); err != nil {
				t.Error(err)
			}
		}
		s.looks = 0
		if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "x"}); err == nil || s.looks > 16 {
			t.Errorf("%v after %d looks, want an error after a few", err, s.looks)
		}
	})
}

// TestEitherOfTwoDoubledDecisionsIsSettled: whichever of the two somebody looked at.
func TestEitherOfTwoDoubledDecisionsIsSettled(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		p := newPayers(t, func(p *payers) {
			p.a.Place, p.b.Place = perdure.Place{ID: perdure.HashOf(nil)}, perdure.Place{ID: perdure.HashOf(nil)}
		})
		run(t, p.a, p.id)
		run(t, p.b, p.id)
		p.together(t)
		run(t, p.a, p.id)
		d := load(t, p.here, p.id).Doubles()
		if len(d) != 1 {
			t.Fatalf("%d doubled, want 1", len(d))
		}
		of := d[0].Second
		if first {
			of = d[0].First
		}
		if _, err := p.a.Settle(t.Context(), p.id, perdure.Settle{Decision: of, Signal: perdure.OK}); err != nil {
			t.Error(err)
		}
		if left := load(t, p.here, p.id).Doubles(); len(left) != 0 {
			t.Errorf("first %v: %d are still doubled", first, len(left))
		}
	}
}

// TestEveryVerbOfANodeWithoutAKeySaysSo: every verb that signs.
func TestEveryVerbOfANodeWithoutAKeySaysSo(t *testing.T) {
	t.Parallel()
	n := newNode(t, new(perdure.MemStore), nil)
	id := create(t, n, perdure.Genesis{})
	bare := &perdure.Node{Store: n.Store}
	ctx := t.Context()
	for name, f := range map[string]func() error{
		"HandOver":     func() error { _, err := bare.HandOver(ctx, id, perdure.Key{1}); return err },
		"Revoke":       func() error { _, err := bare.Revoke(ctx, id, perdure.Key{1}); return err },
		"Arrived":      func() error { return bare.Arrived(ctx, id) },
		"UpgradeState": func() error { _, err := bare.UpgradeState(ctx, id, perdure.Hash{1}); return err },
		"Tell":         func() error { _, err := bare.Tell(ctx, id, perdure.Event{Name: "x"}); return err },
	} {
		if f() == nil {
			t.Errorf("%s says nothing", name)
		}
	}
}
