package home_test

import (
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
)

// TestAKeyIsDoneOnceByTwoProcesses has one key come to two servers of a home at once, round after round; in the last
// one the first has ended without an answer.
func TestAKeyIsDoneOnceByTwoProcesses(t *testing.T) {
	t.Parallel()
	h := &home.Home{Dir: t.TempDir()}
	var two [2]*home.Requests
	for i := range two {
		var err error
		if two[i], err = h.OpenRequests(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = two[i].Close() }()
	}
	var did atomic.Int64
	ask := func(r *home.Requests, key string, do func()) (string, error) {
		out, _, err := r.Once(t.Context(), new(perdure.MemStore), home.Keyed{Who: "me", Key: key,
			Print: sha256.Sum256([]byte(key)),
			Do: func(context.Context) ([]byte, error) {
				do()
				return []byte{byte(did.Add(1))}, nil
			}})
		return string(out), err
	}
	for round := range 20 {
		key, begun := string(rune('a'+round)), make(chan struct{})
		var all sync.WaitGroup
		var got [2]string
		for i, r := range two {
			all.Go(func() {
				if i == 1 {
					<-begun // the first is in it
				}
				var err error
				if got[i], err = ask(r, key, sync.OnceFunc(func() {
					if i == 0 {
						close(begun)
					}
				})); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := did.Load(); n != int64(round+1) || got[0] != got[1] {
			t.Fatalf("it was done %d times in round %d, and answered with %q", n, round, got)
		}
	}
	// Who has claimed it, and ended.
	if err := two[0].Close(); err != nil {
		t.Fatal(err)
	}
	three, err := h.OpenRequests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = ask(three, "last", func() {
			if err := three.Close(); err != nil { // it cannot release it any more
				t.Error(err)
			}
			panic("killed")
		})
	}()
	if _, err := ask(two[1], "last", func() {}); err != nil {
		t.Errorf("a key whose process has ended: %v", err)
	}
	if left, err := os.ReadDir(filepath.Join(h.Dir, "sessions")); err != nil || len(left) != 1 {
		t.Errorf("%d names are held, want that of the one who lives: %v", len(left), err)
	}
}
