package disk_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/disk"
)

func TestWhatAKilledMakerLeftIsRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "b.db")
	left := []string{"b.db.new-00c0ffee", "b.db.new-00c0ffee-blobs/x", "b.db.new-00c0ffee-wal", "b.db.perdure-part",
		"b.db.new-00c0ffee.new-0badcafe", "b.db.new-00c0ffee.new-0badcafe-shm"}
	kept := []string{"b.db.new-year", "b.db2.new-00c0ffee", "ab.db.new-00c0ffee", "b.db.new-00c0ffee.txt"}
	for _, name := range append(left, kept...) {
		at := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r, err := disk.Reserve(path)
	if err != nil || !r.Left {
		t.Fatalf("reserve: %v, left %v", err, r != nil && r.Left)
	}
	if _, err := disk.Reserve(path); err == nil {
		t.Error("two make one file")
	}
	if err := os.WriteFile(r.Temp, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.Release(); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir(dir)
	if err != nil || len(all) != len(kept) {
		t.Errorf("%d are there, %v; want the %d that are others'", len(all), err, len(kept))
	}
	if r, err = disk.Reserve(path); err != nil || r.Left {
		t.Fatalf("reserve again: %v, left %v", err, r != nil && r.Left)
	}
	if err := r.Release(); err != nil {
		t.Fatal(err)
	}
}
