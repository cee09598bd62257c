package perdure_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/storetest"
)

// faultyStore fails its n-th write, before or after it was made; after that it is dead if the process is killed there.
type faultyStore struct {
	*perdure.MemStore
	at, count int
	after     bool // it was made, and the answer is lost
	kill      bool // nothing more reaches the store
}

func (s *faultyStore) write(do func() error) error {
	s.count++
	if s.kill && s.at > 0 && s.count > s.at {
		return errFault
	}
	if s.count != s.at {
		return do()
	}
	if s.after {
		return errors.Join(errFault, do())
	}
	return errFault
}

func (s *faultyStore) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash,
	es ...*perdure.Entry) error {
	return s.write(func() error { return s.MemStore.Append(ctx, id, heads, es...) })
}

func (s *faultyStore) Put(ctx context.Context, id perdure.AgentID, es ...*perdure.Entry) error {
	return s.write(func() error { return s.MemStore.Put(ctx, id, es...) })
}

func (s *faultyStore) Index(ctx context.Context, heads []perdure.Hash, l perdure.Listing) error {
	return s.write(func() error { return s.MemStore.Index(ctx, heads, l) })
}

func (s *faultyStore) Release(ctx context.Context, c perdure.Claim, heads []perdure.Hash, due perdure.Time) error {
	return s.write(func() error { return s.MemStore.Release(ctx, c, heads, due) })
}

func (s *faultyStore) Claim(ctx context.Context, id perdure.AgentID, node perdure.Key,
	lease time.Duration) (c perdure.Claim, err error) {
	err = s.write(func() (err error) { c, err = s.MemStore.Claim(ctx, id, node, lease); return err })
	return c, err
}

func (s *faultyStore) Prune(ctx context.Context, id perdure.AgentID, heads, names []perdure.Hash,
	es ...*perdure.Entry) (n int64, err error) {
	// as where it takes two writes, and who is cut off between them has dropped nothing
	if err := s.write(func() error { return s.MemStore.Append(ctx, id, heads, es...) }); err != nil {
		return 0, err
	}
	err = s.write(func() (err error) { n, err = storetest.Prune(ctx, s.MemStore, id, names...); return err })
	return n, err
}

// eachFault calls f with a fault at every write that an operation makes, until none is left to be hit.
func eachFault(t *testing.T, f func(t *testing.T, at int, after, kill bool) (writes int)) {
	for _, kind := range []struct {
		name        string
		after, kill bool
	}{{"fails before", false, false}, {"fails after", true, false}, {"killed before", false, true},
		{"killed after", true, true}} {
		writes := 0
		for at := 0; at <= writes; at++ { // first without
			t.Run(fmt.Sprintf("write %d %s", at, kind.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { writes = max(writes, f(t, at, kind.after, kind.kill)) })
			})
			if writes < 2 {
				t.Fatalf("%s: there were only %d writes to hit", kind.name, writes)
			}
		}
	}
}

// TestAFaultWhileTheSeatIsTakenIsMadeGoodByTakingItAgain: whatever write fails, trying again ends with one seat, here,
// and one payment.
func TestAFaultWhileTheSeatIsTakenIsMadeGoodByTakingItAgain(t *testing.T) {
	t.Parallel()
	eachFault(t, func(t *testing.T, at int, after, kill bool) int {
		p := newPayers(t)
		s := &faultyStore{MemStore: p.there, after: after, kill: kill}
		faulty := newNode(t, s, p.b.Advisors[""], p.b.Tools...)
		faulty.Key, faulty.Place = p.a.Key, perdure.Place{ID: perdure.HashOf([]byte("there"))}
		p.b.Key, p.b.Place = p.a.Key, faulty.Place
		s.at = at
		if err := faulty.TakeSeat(t.Context(), p.id, "it burned"); err == nil && at <= s.count-1 && !after {
			t.Logf("write %d failed, and nobody minded", at) // an index
		}
		time.Sleep(perdure.MaxLease) // what a killed process held is free by then
		if err := p.b.TakeSeat(t.Context(), p.id, "it burned"); err != nil {
			t.Fatal(err)
		}
		if _, err := p.b.RunAgent(t.Context(), p.id); err != nil {
			t.Fatal(err)
		}
		f := load(t, p.there, p.id)
		if len(f.Seats) != 1 || f.Seats[0].At != faulty.Place.ID || f.Disputed() || f.Ended == nil || p.paid() != 1 {
			t.Errorf("seats %v, disputed %v, ended %v, paid %d times", f.Seats, f.Disputed(), f.Ended, p.paid())
		}
		return s.count
	})
}

// TestACollectionBesideAHandOverLosesNothing: an agent with a past to collect is handed over and goes on there, with a
// collection before, between and after, each of which may be cut off at any write. It can be taken in there, pays once,
// and comes back.
func TestACollectionBesideAHandOverLosesNothing(t *testing.T) {
	t.Parallel()
	for _, order := range []string{"collect give", "give wait collect", "give take wait collect"} {
		t.Run(order, func(t *testing.T) {
			eachFault(t, func(t *testing.T, at int, after, kill bool) int {
				return handOverBesideCollection(t, order, at, after, kill)
			})
		})
	}
}

func handOverBesideCollection(t *testing.T, order string, at int, after, kill bool) int {
	p := newPayers(t)
	p.id = create(t, p.a, perdure.Genesis{Intent: perdure.Intent{TTL: time.Hour.Milliseconds()}})
	for range 3 {
		if _, err := p.a.Tell(t.Context(), p.id, perdure.Event{Name: "word"}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(2 * time.Hour)
	s := &faultyStore{MemStore: p.here, after: after, kill: kill}
	faulty := newNode(t, s, p.a.Advisors[""], p.a.Tools...)
	place, err := p.here.Place(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	faulty.Key, faulty.Place = p.a.Key, place
	took := 0
	for _, step := range strings.Fields(order) {
		switch step {
		case "collect":
			s.at, s.count = at, 0
			_, _ = faulty.Collect(t.Context(), p.id) // it may fail
			took = s.count
			if _, err := p.a.Collect(t.Context(), p.id); err != nil {
				t.Fatalf("collect again: %v", err)
			}
		case "wait":
			time.Sleep(2 * time.Hour)
		case "give":
			if err := p.a.GiveSeat(t.Context(), p.id, perdure.Key{}, "moving"); err != nil {
				t.Fatal(err)
			}
		case "take":
			merge(t, p.here, p.there, p.id)
			run(t, p.b, p.id)
		}
	}
	taken := func(from, to *perdure.MemStore) {
		err := perdure.Mergeable(perdure.Memory(t.Context(), to, p.id), perdure.Memory(t.Context(), from, p.id))
		if err != nil {
			t.Fatalf("it cannot be taken in: %v", err)
		}
		merge(t, from, to, p.id)
	}
	taken(p.here, p.there)
	run(t, p.b, p.id)
	taken(p.there, p.here)
	for _, store := range []*perdure.MemStore{p.here, p.there} {
		if f := load(t, store, p.id); f.Ended == nil || len(f.Seats) != 1 || f.Seats[0].Epoch != 2 ||
			len(f.Conflicts) > 0 || p.paid() != 1 {
			t.Errorf("ended %v, seats %v, conflicts %v, paid %d times", f.Ended, f.Seats, f.Conflicts, p.paid())
		}
	}
	return took
}
