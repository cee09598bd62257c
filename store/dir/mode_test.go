//go:build unix

package dir

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

func TestFilesAreForTheirOwnerAloneUnlessTheFolderIsShared(t *testing.T) { // the umask is of the process: not parallel
	defer syscall.Umask(syscall.Umask(0))
	for _, c := range []struct {
		folder fs.FileMode // zero: made by the store
		file   fs.FileMode
	}{{0, 0o600}, {0o700, 0o600}, {0o755, 0o600}, {0o770, 0o660}, {0o777, 0o666}} {
		folder := filepath.Join(t.TempDir(), "agents")
		if c.folder != 0 {
			if err := os.Mkdir(folder, c.folder); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Open(folder, Options{})
		if err != nil {
			t.Fatal(err)
		}
		key, err := perdure.GenerateSigner("me")
		if err != nil {
			t.Fatal(err)
		}
		e, err := key.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "g"},
			Charter: perdure.Charter{Scope: "home"}}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Append(t.Context(), e.ID(), nil, e); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		files := 0
		err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err == nil && info.Mode().Perm() != c.file {
				t.Errorf("in a folder of mode %v: %s has the mode %v, want %v", c.folder, path, info.Mode().Perm(),
					c.file)
			}
			files++
			return err
		})
		if err != nil || files < 4 {
			t.Errorf("looked at %d files, %v", files, err)
		}
	}
}
