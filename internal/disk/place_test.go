package disk_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/disk"
)

func fresh() (bool, error) { return false, nil }

func TestACopyIsAnotherPlace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "place")
	if id, _, err := disk.Place[[32]byte](path, 0o600, true, fresh); err != nil || id != [32]byte{} {
		t.Fatalf("a place that is not there: %x, %v", id, err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Fatalf("looking for a place wrote %v, %v", files, err)
	}
	id, _, err := disk.Place[[32]byte](path, 0o600, false, fresh)
	if err != nil || id == [32]byte{} {
		t.Fatalf("a new place: %x, %v", id, err)
	}
	for _, look := range []bool{true, false} {
		if again, _, err := disk.Place[[32]byte](path, 0o600, look, fresh); err != nil || again != id {
			t.Errorf("the same place is %x, %v, want %x", again, err, id)
		}
	}
	moved := filepath.Join(dir, "moved")
	if err := os.Rename(path, moved); err != nil {
		t.Fatal(err)
	}
	if again, _, err := disk.Place[[32]byte](moved, 0o600, true, fresh); err != nil || again != id {
		t.Errorf("under another name it is %x, %v, want %x", again, err, id)
	}
	b, err := os.ReadFile(moved)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if copied, _, err := disk.Place[[32]byte](path, 0o600, true, fresh); err != nil || copied == id {
		t.Errorf("a copy is the same place: %x, %v", copied, err)
	}
	_, of, err := disk.Place[[32]byte](path, 0o600, false, fresh)
	if err != nil || len(of) != 1 || of[0] != id {
		t.Errorf("a copy is one of %x, %v, want of %x", of, err, id)
	}
	if _, of, err := disk.Place[[32]byte](moved, 0o600, false, fresh); err != nil || len(of) != 0 {
		t.Errorf("the first is a copy of %x, %v", of, err)
	}
	if b, err = os.ReadFile(path); err != nil { // noted, and cut off in the middle of it
		t.Fatal(err)
	}
	if err := os.Truncate(path, int64(len(b)-9)); err != nil {
		t.Fatal(err)
	}
	if _, of, err := disk.Place[[32]byte](path, 0o600, false, fresh); err != nil || len(of) != 1 || of[0] != id {
		t.Errorf("after a note that was cut off it is a copy of %x, %v", of, err)
	}
	if again, err := os.ReadFile(path); err != nil || len(again) != len(b) {
		t.Errorf("the note is %d bytes, %v, want %d", len(again), err, len(b))
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("left behind: %v, %v", files, err)
	}
	if err := os.WriteFile(path, b[:7], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := disk.Place[[32]byte](path, 0o600, false, fresh); err == nil {
		t.Error("a place that was cut short is one")
	}
}

func TestManyWhoMakeAPlaceAgree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "place")
	ids := make(chan [32]byte)
	for range 16 {
		go func() {
			id, _, err := disk.Place[[32]byte](path, 0o600, false, fresh)
			if err != nil {
				t.Error(err)
			}
			ids <- id
		}()
	}
	first := <-ids
	for range 15 {
		if id := <-ids; id != first {
			t.Errorf("one is %x, another %x", first, id)
		}
	}
}
