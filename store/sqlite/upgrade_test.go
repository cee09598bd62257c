package sqlite_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
)

// versionOne is a store as version 1 wrote it, with one agent called old.
const versionOne = "testdata/version1.db"

func TestAStoreOfAnEarlierVersionIsUpgradedWhenItIsOpened(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(versionOne)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	stores := make([]*sqlite.Store, 4) // all at once
	var wg sync.WaitGroup
	for i := range stores {
		wg.Go(func() {
			s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = s.Close() })
			stores[i] = s
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	s := stores[0]
	var found []perdure.Listing
	for l, err := range s.List(t.Context(), perdure.Filter{Name: "old"}) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, l)
	}
	if len(found) != 1 {
		t.Fatalf("%d agents called old, want 1", len(found))
	}
	a, err := perdure.Load(t.Context(), s, found[0].Agent)
	if err != nil {
		t.Fatal(err)
	}
	line := a.Listing(perdure.TimeOf(a.Fold().Updated.Go()).Go())
	line.Waiting = true
	if err := s.Index(t.Context(), a.Heads(), line); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range stores[1].List(t.Context(), perdure.Filter{Waiting: true}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d agents wait, want the one", n)
	}
}
