package sqlite

import (
	"os"
	"path/filepath"
	"testing"
)

// A backup that was killed is made up for by the next one to the same place: nothing of it is left, and nothing of it
// is taken for a backup.
func TestTheNextBackupRemovesWhatAKilledOneLeft(t *testing.T) {
	dir := t.TempDir()
	s := openBench(t, filepath.Join(dir, "store"))
	g, a := begin(t, newSigner(t), "x")
	if err := s.Append(t.Context(), a.ID(), nil, g); err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	path := filepath.Join(to, "b.db")
	for _, name := range []string{"b.db.new-00c0ffee", "b.db.new-00c0ffee-journal", "b.db.new-00c0ffee-blobs/body",
		"b.db-blobs/body", "b.db.perdure-part"} {
		at := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, at, []byte("half of it"))
	}
	if err := s.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadDir(to)
	if err != nil || len(all) != 1 || all[0].Name() != "b.db" {
		t.Errorf("left: %v, %v; want the backup alone", all, err)
	}
	copied := openBench(t, path)
	if count(t, copied, a.ID()) != 1 {
		t.Error("the backup lacks the agent")
	}
	// What is somebody else's is overwritten by none.
	other := filepath.Join(to, "c.db")
	if err := os.Mkdir(folderOf(other), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), other); err == nil {
		t.Error("a backup took the bodies of something else for its own")
	}
}

// A backup knows that it is a copy, also after it was repaired; a store that was begun here does not.
func TestABackupKnowsThatItIsACopy(t *testing.T) {
	s := openBench(t, filepath.Join(t.TempDir(), "store"))
	of, err := s.Place(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g, a := begin(t, newSigner(t), "x")
	if err := s.Append(t.Context(), a.ID(), nil, g); err != nil {
		t.Fatal(err)
	}
	if of.Found {
		t.Error("a store that was begun here takes itself for a copy")
	}
	path := filepath.Join(t.TempDir(), "b.db")
	if err := s.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	for _, repair := range []bool{false, true} {
		if repair {
			if _, err := Rebuild(t.Context(), path); err != nil {
				t.Fatal(err)
			}
		}
		b := openBench(t, path)
		at, err := b.Place(t.Context())
		if err != nil || at.ID == of.ID || !at.Found {
			t.Errorf("repaired %t: %v, %v, want a copy of %v", repair, at, err, of)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
