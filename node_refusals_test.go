package perdure_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/copytest"
)

// gapped is the memory of a stranger's agent that lacks a body before its snapshot.
func gapped(t *testing.T) (key *perdure.Signer, a *perdure.Agent, all []*perdure.Entry) {
	t.Helper()
	key, err := perdure.GenerateSigner("stranger")
	if err != nil {
		t.Fatal(err)
	}
	g := perdure.Genesis{Intent: perdure.Intent{Goal: "g", TTL: 1}, Charter: perdure.Charter{Scope: "test"}}
	e, err := key.Genesis(g, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err = perdure.Begin(e)
	if err != nil {
		t.Fatal(err)
	}
	all = []*perdure.Entry{e}
	commit := func(b perdure.Body) {
		t.Helper()
		more, next, err := key.Commit(a, time.Now(), perdure.Draft{Body: b})
		if err != nil {
			t.Fatal(err)
		}
		a, all = next, append(all, more...)
	}
	for range 100 {
		commit(perdure.Event{Name: "x"})
	}
	commit(perdure.Snapshot{Fold: *a.Fold()})
	all[50] = all[50].Drop()
	return key, a, all
}

// TestRefusedMemoriesAreNotReadAtEveryLook: to see that nobody trusted vouches for a memory takes reading it; that is
// not done again until something changes. Once its author is trusted, the agent runs.
func TestRefusedMemoriesAreNotReadAtEveryLook(t *testing.T) {
	t.Parallel()
	key, a, all := gapped(t)
	id := all[0].ID()
	s := &copytest.Counter{MemStore: new(perdure.MemStore)}
	if err := s.Put(t.Context(), id, all...); err != nil {
		t.Fatal(err)
	}
	n := newNode(t, s, scripted(steps("do", 1)))
	look := func() (idle perdure.Idle, read int) {
		t.Helper()
		before := s.Read
		return run(t, n, id), s.Read - before
	}
	_, first := look()
	look()
	idle, last := look()
	if first < len(all) || last > 0 || idle.Until == 0 {
		t.Errorf("%d entries are read at first, %d later, of %d; next look %v", first, last, len(all), idle.Until)
	}
	n.SetTrust(perdure.NewTrust(perdure.Trustee{Key: key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope}))
	if _, read := look(); read == 0 || load(t, s, id).Count == a.Fold().Count {
		t.Error("the agent is refused although its author is trusted now")
	}
}

// hookedStore has something happen each time a memory was read.
type hookedStore struct {
	*perdure.MemStore
	on func()
}

func (s *hookedStore) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item,
	error] {
	return func(yield func(perdure.Item, error) bool) {
		for it, err := range s.MemStore.Entries(ctx, id, after) {
			if !yield(it, err) {
				return
			}
		}
		if s.on != nil {
			s.on()
		}
	}
}

// TestTrustThatChangesDuringARefusalCounts: what a memory was refused by is the trust it was read under.
func TestTrustThatChangesDuringARefusalCounts(t *testing.T) {
	t.Parallel()
	key, a, all := gapped(t)
	id := all[0].ID()
	s := &hookedStore{MemStore: new(perdure.MemStore)}
	if err := s.Put(t.Context(), id, all...); err != nil {
		t.Fatal(err)
	}
	n := newNode(t, s, scripted(steps("do", 1)))
	run(t, n, id)   // refused; nobody looked at the heads
	s.on = func() { // the trust file is read again while the memory is being judged
		s.on = nil
		n.SetTrust(perdure.NewTrust(perdure.Trustee{Key: key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope}))
	}
	run(t, n, id)
	if s.on != nil {
		t.Fatal("hook did not run")
	}
	run(t, n, id)
	if load(t, s, id).Count == a.Fold().Count {
		t.Error("the agent is refused although its author is trusted now")
	}
}

// A node that waits for the next time something is due looks again when whom it trusts changes, or a person wants it to
// try again.
func TestAChangeOfTrustWakesANodeThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNode(t, new(perdure.MemStore), scripted(func(*perdure.Agent, int64) []perdure.Action {
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}))
		s := newStranger(t, perdure.Genesis{})
		put(t, n.Store, s.a.ID(), s.all...)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- n.Run(ctx) }()
		time.Sleep(10*time.Minute + 30*time.Second)
		begun := time.Now()
		n.SetTrust(perdure.NewTrust(perdure.Trustee{Key: s.key.Key(), Rights: perdure.MayOwn,
			Scope: perdure.AnyScope}))
		synctest.Wait()
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
		if f := load(t, n.Store, s.a.ID()); f.Ended == nil {
			t.Errorf("it has not ended %s after its author is trusted", time.Since(begun))
		}
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
