package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
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
	e, err := key.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "be stored"}, Charter: perdure.Charter{Scope: "test"}}, time.Now())
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
