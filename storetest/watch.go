package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

var watching = map[string]func(*testing.T, *suite){
	"WatchSeesEntriesArrive":    testWatch,
	"WatchEndsWithItsContext":   testWatchEnds,
	"SlowWatcherMissesNoChange": testSlowWatcher,
}

// patience is how long a test waits for what must happen. It is reached only when a test fails.
const patience = 5 * time.Minute

// watch starts to watch and returns the ids seen. It ends with the test.
func watch(t *testing.T, w perdure.Watcher) <-chan perdure.AgentID {
	ctx, cancel := context.WithCancel(context.Background())
	seen, done := make(chan perdure.AgentID, 1024), make(chan struct{})
	go func() {
		defer close(done)
		for id, err := range w.Watch(ctx) {
			if err != nil {
				t.Errorf("watch: %v", err)
				return
			}
			select {
			case seen <- id:
			case <-ctx.Done():
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return seen
}

// sees commits to an agent until the watcher sees it: nothing says when a watcher has begun.
func sees(t *testing.T, seen <-chan perdure.AgentID, id perdure.AgentID, change func()) {
	t.Helper()
	timeout := time.After(patience)
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	change()
	for {
		select {
		case got := <-seen:
			if got == id || got.IsZero() {
				return
			}
		case <-again.C:
			change()
		case <-timeout:
			t.Fatalf("no watcher saw agent %s change", id.Short())
		}
	}
}

func testWatch(t *testing.T, s *suite) {
	seen := watch(t, optional[perdure.Watcher](t, s.Store))
	w := newAuthor(t)
	a, b := s.create(w, "a"), s.create(w, "b")
	for range 3 {
		sees(t, seen, a.ID(), func() { a = s.grow(w, a, began, event("x", 10)) })
		sees(t, seen, b.ID(), func() { b = s.grow(w, b, began, event("x", 10)) })
	}
}

func testWatchOther(t *testing.T, s *suite) {
	optional[perdure.Watcher](t, s.Store)
	seen := watch(t, s.open().(perdure.Watcher))
	w := newAuthor(t)
	a := s.create(w, "a")
	for range 3 {
		sees(t, seen, a.ID(), func() { a = s.grow(w, a, began, event("x", 10)) })
	}
	// Entries that come through the watching handle itself are seen, too, and so are new agents.
	b := s.create(w, "b")
	sees(t, seen, b.ID(), func() { b = s.grow(w, b, began, event("x", 10)) })
}

func testWatchEnds(t *testing.T, s *suite) {
	w := optional[perdure.Watcher](t, s.Store)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for id, err := range w.Watch(ctx) {
		t.Fatalf("watch under a cancelled context yields %v, %v", id, err)
	}
}

func testSlowWatcher(t *testing.T, s *suite) {
	watcher := optional[perdure.Watcher](t, s.Store)
	w := newAuthor(t)
	first := s.create(w, "first")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	begun, told := make(chan struct{}), false
	created := make(chan map[perdure.AgentID]bool, 1)
	go func() {
		for told := false; !told; { // nothing says when a watcher has begun
			first = s.grow(w, first, began, event("x", 10))
			select {
			case <-begun:
				told = true
			case <-time.After(10 * time.Millisecond):
			}
		}
		want := map[perdure.AgentID]bool{}
		for range 50 {
			want[s.create(w, "later").ID()] = true
		}
		created <- want
	}()
	var want map[perdure.AgentID]bool
	for id, err := range watcher.Watch(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		if !told {
			told = true
			close(begun)
			want = <-created // everything happens while the watcher is busy
		}
		if id.IsZero() {
			clear(want)
		}
		delete(want, id)
		if len(want) == 0 {
			return
		}
	}
	t.Fatalf("%d changes were never seen by a slow watcher", len(want))
}
