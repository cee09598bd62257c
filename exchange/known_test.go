package exchange_test

import (
	"context"
	"iter"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
)

// knowing is a place that can say what it has.
type knowing struct{ *place }

func (k knowing) Known(ctx context.Context, o exchange.Offer) ([]perdure.Hash, bool, error) {
	return exchange.Known(ctx, k.place, o)
}

// asked counts what is asked for, and sent.
type asked struct {
	*place
	times, sent int
}

func (a *asked) Missing(ctx context.Context, o exchange.Offer) iter.Seq2[*perdure.Entry, error] {
	a.times++
	return func(yield func(*perdure.Entry, error) bool) {
		for e, err := range a.place.Missing(ctx, o) {
			if a.sent++; !yield(e, err) {
				return
			}
		}
	}
}

// Nothing is asked for that is here, whoever has news; what is asked for is what is missing, and no more than a few
// entries around it, also long after the last snapshot.
func TestNothingIsAskedForThatIsHere(t *testing.T) {
	t.Parallel()
	k := key(t, "owner")
	for _, size := range []int{0, 3, 20, 400} {
		here, there := newPlace(t, k), newPlace(t, k)
		id := there.create(t)
		there.node.SnapshotEvery = 100_000
		there.grow(t, id, 64, 32)
		there.hear(t, id, size)
		if s := sync(t, knowing{here}, there, id, exchange.Pull); s.Pulled == nil || !s.Pulled.Created {
			t.Fatalf("%d: %+v, want it created", size, s)
		}
		here.hear(t, id, 1)
		from := &asked{place: there}
		if s := sync(t, knowing{here}, from, id, exchange.Pull); s.Pulled != nil || from.times != 0 {
			t.Errorf("%d: asked %d times for what is here: %+v", size, from.times, s.Pulled)
		}
		there.hear(t, id, 1)
		if s := sync(t, knowing{here}, from, id, exchange.Pull); s.Pulled == nil || s.Pulled.Entries != 1 ||
			from.sent != 1 {
			t.Errorf("%d: %d entries were sent: %+v, want the one that is new", size, from.sent, s.Pulled)
		}
		// Both went on for a while.
		here.hear(t, id, 30)
		there.hear(t, id, 5)
		from.sent = 0
		if s := sync(t, knowing{here}, from, id, exchange.Both); s.Pulled == nil || s.Pulled.Entries != 5 ||
			from.sent > 5+8 || here.fold(t, id) != there.fold(t, id) {
			t.Errorf("%d: %d entries were sent: %+v, want five and a few", size, from.sent, s.Pulled)
		}
	}
}

// receiving counts what is sent to a place, new there or not, and what it is asked for.
type receiving struct {
	*asked
	came int
}

func (r *receiving) Take(ctx context.Context, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) (
	*exchange.Receipt, error) {
	return r.place.Take(ctx, id, func(yield func(*perdure.Entry, error) bool) {
		for e, err := range entries {
			if r.came++; !yield(e, err) {
				return
			}
		}
	})
}

// What is only pushed is what is missing there, and no more than a few entries around it, also where the other place
// has gone on and long after the last snapshot that both have. What has come there stays there.
func TestAPushSendsWhatIsMissing(t *testing.T) {
	t.Parallel()
	k := key(t, "owner")
	for _, size := range []int{0, 3, 20, 400} {
		here, there := newPlace(t, k), newPlace(t, k)
		id := here.create(t)
		here.node.SnapshotEvery, there.node.SnapshotEvery = 100_000, 100_000
		here.grow(t, id, 64, 32)
		here.hear(t, id, size)
		sync(t, knowing{here}, there, id, exchange.Push)
		for _, x := range []struct{ here, there int }{{1, 0}, {5, 1}, {10, 30}, {100, 3}, {1, 300}} {
			here.hear(t, id, x.here)
			there.hear(t, id, x.there)
			to := &receiving{asked: &asked{place: there}}
			s := sync(t, knowing{here}, to, id, exchange.Push)
			if s.Pushed == nil || s.Pushed.Entries != int64(x.here) || to.came > x.here+16 {
				t.Errorf("%d: %+v: %d entries were sent: %+v, want %d and a few", size, x, to.came, s.Pushed, x.here)
			}
			if x.there == 0 && to.times > 0 || to.sent > 300 {
				t.Errorf("%d: %+v: %d entries were asked for", size, x, to.sent)
			}
			sync(t, knowing{here}, there, id, exchange.Pull)
			if here.fold(t, id) != there.fold(t, id) {
				t.Errorf("%d: %+v: the folds differ", size, x)
			}
		}
	}
}
