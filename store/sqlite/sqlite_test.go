package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/storetest"
)

func TestStoreKeepsTheContract(t *testing.T) {
	storetest.Run(t, storetest.Kind{Open: func(ctx context.Context, path string) (perdure.Store, error) {
		return sqlite.Open(ctx, path, sqlite.Options{})
	}})
}

func TestACheckpointEmptiesTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	key, err := perdure.GenerateSigner("test")
	if err != nil {
		t.Fatal(err)
	}
	e, err := key.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "be stored"},
		Charter: perdure.Charter{Scope: "test"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), e.ID(), nil, e); err != nil {
		t.Fatal(err)
	}
	if got := s.Syncs(); got != 1 {
		t.Errorf("got %d syncs for one append, want 1", got)
	}
	if err := s.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() != 0 {
		t.Errorf("the log has %d bytes, %v, want none", info.Size(), err)
	}
}

// Its suite kills processes with SIGKILL while they write: nothing they were told is stored may be gone.
func TestAStoreThatIsNotSyncedKeepsTheContract(t *testing.T) {
	storetest.Run(t, storetest.Kind{Open: func(ctx context.Context, path string) (perdure.Store, error) {
		return sqlite.Open(ctx, path, sqlite.Options{Sync: sqlite.Normal})
	}})
}

func TestSyncIsWhatWasAskedFor(t *testing.T) {
	for _, level := range []sqlite.Sync{sqlite.Full, sqlite.Normal} {
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"), sqlite.Options{Sync: level})
		if err != nil {
			t.Fatal(err)
		}
		key, err := perdure.GenerateSigner("test")
		if err != nil {
			t.Fatal(err)
		}
		n := &perdure.Node{Store: s, Key: key}
		if _, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "be stored"},
			Charter: perdure.Charter{Scope: "test"}}); err != nil {
			t.Fatal(err)
		}
		want := map[sqlite.Sync]int64{sqlite.Full: 1, sqlite.Normal: 0}[level]
		if got := s.Syncs(); got != want || s.Sync() != level {
			t.Errorf("%v: got %d syncs at %v, want %d", level, got, s.Sync(), want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestParseName(t *testing.T) {
	for _, c := range []struct {
		name, path string
		sync       sqlite.Sync
		err        string
	}{
		{name: "a/store.db", path: "a/store.db"},
		{name: "a/store.db?sync=full", path: "a/store.db"},
		{name: "a/store.db?sync=normal", path: "a/store.db", sync: sqlite.Normal},
		{name: "a/w?t.db?sync=normal", path: "a/w?t.db", sync: sqlite.Normal},
		{name: "a/store.db?", path: "a/store.db"},
		{name: "a?sync=off", err: "sync=off: want full or normal"},
		{name: "a?sync=", err: "want full or normal"},
		{name: "a?synch=normal", err: "synch is not known"},
		{name: "a?sync=full&sync=normal", err: "there twice: want ?sync=full or ?sync=normal"},
		{name: "a?sync=%zz", err: "want PATH?sync=full or ?sync=normal"},
	} {
		path, o, err := sqlite.ParseName(c.name)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got error %v, want %q", c.name, err, c.err)
			}
		case err != nil || path != c.path || o.Sync != c.sync:
			t.Errorf("%s: got %s, %v, %v", c.name, path, o.Sync, err)
		}
	}
}
