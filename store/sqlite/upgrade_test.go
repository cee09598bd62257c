package sqlite_test

import (
	"bytes"
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

// Looking at a store of an earlier version changes nothing: it works where nothing can be written.
func TestAStoreOfAnEarlierVersionIsLookedAtAsItIs(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(versionOne)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "store.db")
	if err := os.WriteFile(path, b, 0o400); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Look: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []perdure.Filter{{}, {Name: "old"}, {Waiting: true}} {
		n := 0
		for l, err := range s.List(t.Context(), f) {
			if err != nil {
				t.Fatal(err)
			}
			if _, err := perdure.Load(t.Context(), s, l.Agent); err != nil {
				t.Error(err)
			}
			n++
		}
		if want := 1; f.Waiting && n != 0 || !f.Waiting && n != want {
			t.Errorf("%+v: %d agents, want %d", f, n, want)
		}
	}
	for _, err := range s.Due(t.Context(), perdure.Time(1<<60).Go()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if now, e := os.ReadFile(path); e != nil || err != nil || !bytes.Equal(now, b) || len(names) != 1 {
		t.Errorf("looking changed the store, or left something beside it: %v, %v, %v", names, err, e)
	}
}
