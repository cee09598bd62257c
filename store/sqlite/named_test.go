package sqlite

import (
	"path/filepath"
	"runtime"
	"testing"

	"github.com/perdure/perdure"
)

// To name a snapshot costs the same however much it holds.
func TestSnapshotsAreNamedWithoutTheirBodies(t *testing.T) {
	s := openBench(t, filepath.Join(t.TempDir(), "agents.db"))
	k := newSigner(t)
	g, a := begin(t, k, "a")
	if err := s.Put(t.Context(), a.ID(), g); err != nil {
		t.Fatal(err)
	}
	const many, size = 20, 10_000
	var fold perdure.Fold
	for range many {
		var es []*perdure.Entry
		es, a = commit(t, k, a, draft(size), draft(size))
		if len(fold.Inbox) == 0 {
			fold = *a.Fold()
		}
		var more []*perdure.Entry
		more, a = commit(t, k, a, perdure.Draft{Body: perdure.Snapshot{Fold: fold}})
		if err := s.Put(t.Context(), a.ID(), append(es, more...)...); err != nil {
			t.Fatal(err)
		}
	}
	used := ^uint64(0)
	for range 3 { // others may be at work
		var before, after runtime.MemStats
		named := 0
		runtime.ReadMemStats(&before)
		err := s.NameSnapshots(t.Context(), a.ID(), func(perdure.Hash, perdure.Cursor) bool {
			named++
			return true
		})
		runtime.ReadMemStats(&after)
		if err != nil || named != many {
			t.Fatalf("%d snapshots are named: %v, want %d", named, err, many)
		}
		used = min(used, after.TotalAlloc-before.TotalAlloc)
	}
	if used > many*size/2 {
		t.Errorf("%d bytes were used to name %d snapshots, want fewer than half a body each", used, many)
	}
}
