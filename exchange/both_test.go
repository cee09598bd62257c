package exchange_test

import (
	"context"
	"iter"
	gosync "sync"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
)

// shared is a place that several use at once: who counts what is read of it would race.
type shared struct{ *place }

func (s shared) Known(ctx context.Context, o exchange.Offer) ([]perdure.Hash, bool, error) {
	return exchange.Known(ctx, s.Store, o)
}

func (s shared) Offer(ctx context.Context, id perdure.AgentID) (exchange.Offer, error) {
	return exchange.Of(ctx, s.Store, id)
}

func (s shared) Missing(ctx context.Context, o exchange.Offer) iter.Seq2[*perdure.Entry, error] {
	return exchange.Missing(ctx, s.Store, o)
}

func (s shared) Take(ctx context.Context, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) (
	*exchange.Receipt, error) {
	a, added, err := s.trust.Join(ctx, s.Store, id, entries)
	if err != nil {
		return nil, err
	}
	return &exchange.Receipt{Agent: id, Heads: a.Heads(), Entries: int64(added)}, nil
}

// Places that write and sync with each other at the same time, each from its side, end with the same, and none says of
// the other that it deceives.
func TestPlacesThatSyncAtOnceAgree(t *testing.T) {
	t.Parallel()
	k := key(t, "owner")
	a, b := newPlace(t, k), newPlace(t, k)
	a.node.SnapshotEvery, b.node.SnapshotEvery = 4, 4
	id := a.create(t)
	sync(t, a, b, id, exchange.Push)
	for round := range 50 {
		var all gosync.WaitGroup
		for i, p := range [][2]shared{{{a}, {b}}, {{b}, {a}}} {
			all.Go(func() {
				for j := range 4 {
					if _, err := p[0].node.Tell(t.Context(), id, perdure.Event{Name: "ping"}); err != nil {
						t.Error(err)
					}
					way := exchange.Way((round + i + j) % 3)
					if s, err := exchange.Sync(t.Context(), p[0], p[1], id, way); err != nil {
						t.Errorf("round %d, way %d: %+v %v", round, way, s, err)
					}
				}
			})
		}
		all.Wait()
		if t.Failed() {
			return
		}
		sync(t, a, b, id, exchange.Both)
		if a.fold(t, id) != b.fold(t, id) {
			t.Fatalf("round %d: the folds differ", round)
		}
	}
}
