package home

import (
	"context"
	"crypto/rand"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/dir"
	"github.com/perdure/perdure/store/sqlite"
)

// The claim on an agent whose file is run lasts for longer than its lease, in every kind of store, and begins when the
// agent comes there.
func TestAnAgentWhoseFileIsRunStaysClaimed(t *testing.T) {
	t.Parallel()
	for scheme, open := range map[string]func() (claimed, error){
		"sqlite": func() (claimed, error) {
			return sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), sqlite.Options{})
		},
		"dir": func() (claimed, error) { return dir.Open(t.TempDir(), dir.Options{}) },
	} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			s, err := open()
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Close() }) // the test is over
			key, err := perdure.GenerateSigner("test")
			if err != nil {
				t.Fatal(err)
			}
			n := &perdure.Node{Store: new(perdure.MemStore), Key: key}
			a, err := n.Create(t.Context(), runInFile)
			if err != nil {
				t.Fatal(err)
			}
			ctx, lose := context.WithCancelCause(t.Context())
			k := &keeping{store: s, id: a.ID(), lease: 600 * time.Millisecond, lose: lose}
			_, _ = rand.Read(k.who[:])
			if err := k.try(ctx); err != nil {
				t.Fatal(err)
			}
			k.start(ctx)
			for e, err := range n.Store.Entries(ctx, a.ID(), 0) { // it comes into the store
				if err == nil {
					err = s.Put(ctx, a.ID(), e.Entry)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(k.lease)
			for end := time.Now().Add(3 * k.lease); time.Now().Before(end); time.Sleep(k.lease / 10) {
				if _, err := s.Claim(ctx, a.ID(), key.Key(), time.Second); !errors.Is(err, perdure.ErrConflict) {
					t.Fatalf("a node may have it while its file is run: %v", err)
				}
			}
			if err := k.end(ctx); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Claim(t.Context(), a.ID(), key.Key(), time.Second); err != nil {
				t.Errorf("nobody may have it once its file is not run any more: %v", err)
			}
		})
	}
}

// A claim that somebody else has, who is no node of this home, ends the run.
func TestAFileStopsWhenItsAgentIsLost(t *testing.T) {
	t.Parallel()
	s := new(perdure.MemStore)
	key, err := perdure.GenerateSigner("test")
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{Store: s, Key: key}
	a, err := n.Create(t.Context(), runInFile)
	if err != nil {
		t.Fatal(err)
	}
	ctx, lose := context.WithCancelCause(t.Context())
	k := &keeping{store: s, id: a.ID(), lease: 60 * time.Millisecond, lose: lose, who: perdure.Key{1}}
	if err := k.try(ctx); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * k.lease) // this process was stopped
	if _, err := s.Claim(ctx, a.ID(), key.Key(), time.Hour); err != nil {
		t.Fatal(err)
	}
	k.start(ctx)
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Error("it goes on")
	}
	if err := k.end(ctx); !errors.Is(err, perdure.ErrConflict) {
		t.Errorf("got %v, want to hear that another has it", err)
	}
}

// Of many that want the lock of a file one has it, although whoever had it removes it.
func TestOneRunsAFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var inside, got atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			h := &Home{Dir: dir, File: filepath.Join(dir, StoreFile)}
			for range 200 {
				unlock, err := h.lockFile(perdure.AgentID{1})
				if err != nil {
					continue // others had it
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d have the lock", n)
				}
				got.Add(1)
				time.Sleep(100 * time.Microsecond) // it works on the agent
				inside.Add(-1)
				if err := unlock(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got.Load() < 200 {
		t.Errorf("had %d times", got.Load())
	}
}

var runInFile = perdure.Genesis{Intent: perdure.Intent{Goal: "run in a file"}, Charter: perdure.Charter{Scope: "test"}}
