package exchange_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
)

// place is a store that goes by a trust of its own.
type place struct {
	perdure.Store
	node  *perdure.Node
	trust *perdure.Trust
	reads int // entries read
	taken int // entries that came
}

func newPlace(t *testing.T, key *perdure.Signer, trusted ...*perdure.Signer) *place {
	t.Helper()
	p := &place{Store: new(perdure.MemStore)}
	p.trust = perdure.NewTrust(perdure.Trustee{Key: key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	for _, k := range trusted {
		p.trust = p.trust.With(perdure.Trustee{Key: k.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	}
	p.node = &perdure.Node{Store: p.Store, Key: key, Trust: p.trust, SnapshotEvery: 32}
	return p
}

// Entries counts what is read.
func (p *place) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		for item, err := range p.Store.Entries(ctx, id, after) {
			if p.reads++; !yield(item, err) {
				return
			}
		}
	}
}

func (p *place) Offer(ctx context.Context, id perdure.AgentID) (exchange.Offer, error) {
	return exchange.Of(ctx, p, id)
}

func (p *place) Missing(ctx context.Context, o exchange.Offer) iter.Seq2[*perdure.Entry, error] {
	return exchange.Missing(ctx, p, o)
}

func (p *place) Take(ctx context.Context, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) (
	*exchange.Receipt, error) {
	var all []*perdure.Entry
	for e, err := range entries {
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	again := func(yield func(*perdure.Entry, error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	}
	if _, err := p.Heads(ctx, id); errors.Is(err, perdure.ErrNotFound) {
		a, err := perdure.FoldEntries(again)
		if err != nil {
			return nil, err
		}
		p.taken += len(all)
		return &exchange.Receipt{Agent: id, Heads: a.Heads(), Entries: int64(len(all)), Created: true},
			perdure.PutAll(ctx, p, id, again)
	}
	a, added, err := p.trust.Join(ctx, p, id, again)
	if err != nil {
		return nil, err
	}
	p.taken += added
	return &exchange.Receipt{Agent: id, Heads: a.Heads(), Entries: int64(added)}, nil
}

// hear tells the agent n things here.
func (p *place) hear(t *testing.T, id perdure.AgentID, n int) {
	t.Helper()
	for i := range n {
		if _, err := p.node.Tell(t.Context(), id, perdure.Event{Name: fmt.Sprintf("e%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *place) create(t *testing.T) perdure.AgentID {
	t.Helper()
	a, err := p.node.Create(t.Context(), perdure.Genesis{Charter: perdure.Charter{Scope: "x"},
		Intent: perdure.Intent{Name: "a", Goal: "hear"}})
	if err != nil {
		t.Fatal(err)
	}
	return a.ID()
}

func (p *place) fold(t *testing.T, id perdure.AgentID) perdure.Hash {
	t.Helper()
	a, err := perdure.FoldEntries(perdure.Memory(t.Context(), p, id))
	if err != nil {
		t.Fatal(err)
	}
	h, err := a.Fold().Hash()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func sync(t *testing.T, here, there exchange.Peer, id perdure.AgentID, way exchange.Way) *exchange.Synced {
	t.Helper()
	s, err := exchange.Sync(t.Context(), here, there, id, way)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func key(t *testing.T, name string) *perdure.Signer {
	t.Helper()
	k, err := perdure.GenerateSigner(name)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestOnlyWhatIsMissingPasses(t *testing.T) {
	t.Parallel()
	k := key(t, "owner")
	a, b := newPlace(t, k), newPlace(t, k)
	id := a.create(t)
	a.grow(t, id, 2000, 50)
	if s := sync(t, a, b, id, exchange.Push); s.Pushed == nil || !s.Pushed.Created {
		t.Fatalf("%+v, want it created", s.Pushed)
	}
	a.hear(t, id, 10)
	a.reads, b.reads, b.taken = 0, 0, 0
	s := sync(t, a, b, id, exchange.Both)
	if s.Pulled != nil || s.Pushed == nil || s.Pushed.Entries < 10 || s.Pushed.Entries > 12 {
		t.Fatalf("pulled %+v, pushed %+v, want ten entries pushed", s.Pulled, s.Pushed)
	}
	if work := a.reads + b.reads; work > 1000 {
		t.Errorf("%d entries read to pass ten of 2,000", work)
	}
	if a.fold(t, id) != b.fold(t, id) {
		t.Error("the folds differ")
	}
	if s := sync(t, a, b, id, exchange.Both); s.Pulled != nil || s.Pushed != nil {
		t.Errorf("again: %+v %+v, want nothing", s.Pulled, s.Pushed)
	}
}

func TestCopiesThatPartedBecomeOne(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		ka, kb := key(t, "a"), key(t, "b")
		a, b := newPlace(t, ka, kb), newPlace(t, kb, ka)
		id := a.create(t)
		a.hear(t, id, r.IntN(100))
		sync(t, b, a, id, exchange.Pull)
		for range 5 {
			a.hear(t, id, r.IntN(50))
			b.hear(t, id, r.IntN(50))
			sync(t, a, b, id, exchange.Way(r.IntN(3)))
		}
		sync(t, a, b, id, exchange.Both)
		if a.fold(t, id) != b.fold(t, id) {
			t.Errorf("seed %d: the folds differ", seed)
		}
	}
}

func TestStrangersPassNothing(t *testing.T) {
	t.Parallel()
	owner, stranger := key(t, "owner"), key(t, "stranger")
	a, b := newPlace(t, owner), newPlace(t, stranger, owner)
	id := a.create(t)
	sync(t, a, b, id, exchange.Push)
	b.hear(t, id, 1)
	before := a.fold(t, id)
	_, err := exchange.Sync(t.Context(), b, a, id, exchange.Push)
	var r *perdure.Rejection
	if !errors.As(err, &r) || r.Predicate != "key.trusted" {
		t.Fatalf("%v, want key.trusted", err)
	}
	if a.fold(t, id) != before {
		t.Error("something was written all the same")
	}
}

func TestNobodyHasIt(t *testing.T) {
	t.Parallel()
	k := key(t, "k")
	_, err := exchange.Sync(t.Context(), newPlace(t, k), newPlace(t, k), perdure.AgentID{1}, exchange.Both)
	if !errors.Is(err, perdure.ErrNotFound) {
		t.Errorf("%v, want not found", err)
	}
}
