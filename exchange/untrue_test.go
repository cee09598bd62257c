package exchange_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
)

// deceiver is a place that says what is not so.
type deceiver struct {
	*place
	heads  []perdure.Hash // that it says it has, beside its own
	keeps  bool           // nothing of what is sent to it
	claims int64          // how many entries of that it says it took
}

func (d *deceiver) Offer(ctx context.Context, id perdure.AgentID) (exchange.Offer, error) {
	o, err := d.place.Offer(ctx, id)
	o.Heads = append(o.Heads, d.heads...)
	return o, err
}

func (d *deceiver) Take(ctx context.Context, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) (
	*exchange.Receipt, error) {
	if !d.keeps {
		return d.place.Take(ctx, id, entries)
	}
	for _, err := range entries {
		if err != nil {
			return nil, err
		}
	}
	heads, err := d.Heads(ctx, id)
	return &exchange.Receipt{Agent: id, Heads: heads, Entries: d.claims}, err
}

// A place that names heads it does not send, or that has not got what was sent to it, is not believed.
func TestAPlaceThatDeceivesIsNamed(t *testing.T) {
	t.Parallel()
	k := key(t, "owner")
	for name, d := range map[string]*deceiver{
		"takes nothing, and says so":      {keeps: true},
		"takes nothing, and says it did":  {keeps: true, claims: 3},
		"names a head it has not":         {heads: []perdure.Hash{{7}}},
		"names one beside those it sends": {heads: []perdure.Hash{{7}}},
	} {
		here := newPlace(t, k)
		d.place = newPlace(t, k)
		id := here.create(t)
		sync(t, knowing{here}, d.place, id, exchange.Push)
		way := exchange.Pull
		if d.keeps {
			way = exchange.Push
			here.hear(t, id, 3)
		} else if name != "names a head it has not" {
			d.hear(t, id, 3)
		}
		for _, way := range []exchange.Way{way, exchange.Both} {
			if s, err := exchange.Sync(t.Context(), knowing{here}, d, id, way); !errors.Is(err, exchange.ErrUntrue) {
				t.Errorf("%s: %+v %v, want ErrUntrue", name, s, err)
			}
		}
	}
}

// failing is a place that can send once what it has.
type failing struct {
	knowing
	sent  bool
	fault error // of every other time
}

func (f *failing) Missing(ctx context.Context, o exchange.Offer) iter.Seq2[*perdure.Entry, error] {
	if f.sent {
		return func(yield func(*perdure.Entry, error) bool) { yield(nil, f.fault) }
	}
	f.sent = true
	return f.knowing.Missing(ctx, o)
}

// A store here that fails while a receipt is checked says so. An agent that is no longer passed on is no fault.
func TestAStoreThatFailsWhileAReceiptIsCheckedSaysSo(t *testing.T) {
	t.Parallel()
	k, broken := key(t, "owner"), errors.New("the disk is broken")
	for fault, want := range map[error]error{broken: broken, perdure.ErrDenied: nil, perdure.ErrNotFound: nil} {
		here, there := newPlace(t, k), newPlace(t, k)
		id := here.create(t)
		sync(t, knowing{here}, there, id, exchange.Push)
		here.hear(t, id, 3)
		f := &failing{knowing: knowing{here}, fault: fault}
		d := &deceiver{place: there, keeps: true, claims: 3}
		if _, err := exchange.Sync(t.Context(), f, d, id, exchange.Push); !errors.Is(err, want) {
			t.Errorf("%v: got %v, want %v", fault, err, want)
		}
	}
}

// It is no deceit to have gone on meanwhile, or to have more than the other place knows of.
func TestWhoHasMoreDoesNotDeceive(t *testing.T) {
	t.Parallel()
	k := key(t, "owner")
	here, there := newPlace(t, k), newPlace(t, k)
	id := here.create(t)
	sync(t, knowing{here}, there, id, exchange.Push)
	for range 3 {
		here.hear(t, id, 3)
		there.hear(t, id, 2)
		sync(t, knowing{here}, there, id, exchange.Push)
		there.hear(t, id, 1)
		sync(t, knowing{here}, there, id, exchange.Push)
	}
	sync(t, knowing{here}, there, id, exchange.Both)
	if here.fold(t, id) != there.fold(t, id) {
		t.Error("the folds differ")
	}
}

// racing is a place that does something while entries are on their way to it.
type racing struct {
	*place
	meanwhile func()
}

func (r *racing) Take(ctx context.Context, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) (
	*exchange.Receipt, error) {
	var all []*perdure.Entry
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	r.meanwhile()
	return r.place.Take(ctx, id, func(yield func(*perdure.Entry, error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	})
}

// It is no deceit to have got what was sent by another way meanwhile, and what follows it, which is known here by now.
func TestPlacesThatSyncBothWaysDoNotDeceive(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]struct{ before, here, there, after int }{
		"one entry":                  {1, 1, 0, 0},
		"a snapshot, too":            {1, 40, 0, 0},
		"both went on":               {2, 1, 1, 0},
		"both went on, and again":    {2, 1, 1, 1},
		"both wrote snapshots":       {40, 40, 40, 40},
		"nothing but what is pushed": {3, 0, 0, 0},
	} {
		k := key(t, "owner")
		here, there := newPlace(t, k), newPlace(t, k)
		id := here.create(t)
		sync(t, knowing{here}, there, id, exchange.Push)
		here.hear(t, id, more.before)
		r := &racing{place: there, meanwhile: func() {
			here.hear(t, id, more.here)
			there.hear(t, id, more.there)
			sync(t, knowing{there}, here, id, exchange.Both)
			here.hear(t, id, more.after)
			sync(t, knowing{there}, here, id, exchange.Pull)
		}}
		if s, err := exchange.Sync(t.Context(), knowing{here}, r, id, exchange.Push); err != nil {
			t.Errorf("%s: %+v %v", name, s, err)
		}
	}
}

// To tell whether a head that did not come is here takes no more than a few snapshots' worth of a long memory.
func TestAFalseHeadCostsLittle(t *testing.T) {
	t.Parallel()
	k := key(t, "owner")
	here := newPlace(t, k)
	d := &deceiver{place: newPlace(t, k), heads: []perdure.Hash{{7}}}
	id := here.create(t)
	here.node.SnapshotEvery = 4
	here.hear(t, id, 40*4)
	sync(t, knowing{here}, d.place, id, exchange.Push)
	here.reads = 0
	if s := sync(t, knowing{here}, d, id, exchange.Pull); s.Pulled != nil || here.reads > 40 {
		t.Errorf("%d entries were read: %+v", here.reads, s)
	}
}
