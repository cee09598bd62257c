//go:build unix

package sqlite

import (
	"bytes"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

func TestAStoreIsForItsOwnerAloneWhateverTheUmask(t *testing.T) { // the umask is of the process: not parallel
	defer syscall.Umask(syscall.Umask(0))
	dir := t.TempDir()
	s, err := Open(t.Context(), filepath.Join(dir, "store.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := perdure.GenerateSigner("me")
	if err != nil {
		t.Fatal(err)
	}
	long := string(bytes.Repeat([]byte("x"), perdure.InlineBody+1)) // a body in a file of its own
	e, err := key.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: long}, Charter: perdure.Charter{Scope: "home"}},
		time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), e.ID(), nil, e); err != nil {
		t.Fatal(err)
	}
	if err := s.Backup(t.Context(), filepath.Join(dir, "copy.db")); err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		files++
		return err
	})
	if err != nil || files < 7 { // two stores with a body each in a folder, and a log
		t.Errorf("looked at %d files, %v", files, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
