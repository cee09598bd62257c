package sqlite

import (
	"database/sql/driver"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/storetest"
)

// newborn is an agent with no more than its first entry.
func newborn(t *testing.T, s *Store, name string) (*perdure.Agent, *perdure.Signer) {
	t.Helper()
	key, err := perdure.GenerateSigner("me")
	if err != nil {
		t.Fatal(err)
	}
	g := perdure.Genesis{Intent: perdure.Intent{Goal: "stay", Name: name},
		Charter: perdure.Charter{Scope: "test", Owner: key.Key()}}
	a, err := (&perdure.Node{Store: s, Key: key}).Create(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	return a, key
}

func kept(t *testing.T, path string) (n int) {
	t.Helper()
	c, err := dial(path, "rw")
	if err != nil {
		t.Fatal(err)
	}
	err = c.query("SELECT entry FROM births", func([]driver.Value) error { n++; return nil })
	if err := errors.Join(err, c.close()); err != nil {
		t.Fatal(err)
	}
	return n
}

// A first entry is kept twice, unless its body was dropped: that is to be gone everywhere.
func TestTheSecondCopyOfAFirstEntryGoesWithIt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, key := newborn(t, s, "one")
	if n := kept(t, path); n != 1 {
		t.Fatalf("%d copies, want one", n)
	}
	entries, _, err := key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "word"}})
	if err == nil {
		err = s.Append(t.Context(), a.ID(), a.Heads(), entries...)
	}
	if err != nil {
		t.Fatal(err)
	}
	if n := kept(t, path); n != 1 {
		t.Fatalf("%d copies after another entry, want one", n)
	}
	if _, err := storetest.Prune(t.Context(), s, a.ID(), perdure.Hash(a.ID())); err != nil {
		t.Fatal(err)
	}
	if n := kept(t, path); n != 0 {
		t.Errorf("%d copies of a body that was dropped", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A file that was made before there were second copies gets them from the next agent on.
func TestAFileWithoutSecondCopiesGetsThem(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	if err := create(path); err != nil {
		t.Fatal(err)
	}
	c, err := dial(path, "rw")
	if err == nil {
		err = errors.Join(c.exec("DROP TABLE births"), c.close())
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	newborn(t, s, "one")
	if n := kept(t, path); n != 1 {
		t.Errorf("%d copies, want one", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
