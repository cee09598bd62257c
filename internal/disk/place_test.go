package disk_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/disk"
)

func TestACopyIsAnotherPlace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "place")
	if id, err := disk.Place(path, true); err != nil || id != [32]byte{} {
		t.Fatalf("a place that is not there: %x, %v", id, err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Fatalf("looking for a place wrote %v, %v", files, err)
	}
	id, err := disk.Place(path, false)
	if err != nil || id == [32]byte{} {
		t.Fatalf("a new place: %x, %v", id, err)
	}
	for _, look := range []bool{true, false} {
		if again, err := disk.Place(path, look); err != nil || again != id {
			t.Errorf("the same place is %x, %v, want %x", again, err, id)
		}
	}
	moved := filepath.Join(dir, "moved")
	if err := os.Rename(path, moved); err != nil {
		t.Fatal(err)
	}
	if again, err := disk.Place(moved, true); err != nil || again != id {
		t.Errorf("under another name it is %x, %v, want %x", again, err, id)
	}
	b, err := os.ReadFile(moved)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if copied, err := disk.Place(path, true); err != nil || copied == id {
		t.Errorf("a copy is the same place: %x, %v", copied, err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("left behind: %v, %v", files, err)
	}
	if err := os.WriteFile(path, b[:7], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Place(path, false); err == nil {
		t.Error("a place that was cut short is one")
	}
}

func TestManyWhoMakeAPlaceAgree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "place")
	ids := make(chan [32]byte)
	for range 16 {
		go func() {
			id, err := disk.Place(path, false)
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
