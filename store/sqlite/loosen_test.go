//go:build unix

package sqlite

import (
	"os"
	"path/filepath"
	"testing"
)

// A log that was left read-only, because the file was when it was made, does not keep the store from being opened.
func TestAReadOnlyLogIsLoosened(t *testing.T) {
	if os.Geteuid() == 0 {
		runAsNobody(t)
		return
	}
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, suffix := range []string{"-wal", "-shm"} {
		if err := os.Chmod(path+suffix, 0o400); err != nil {
			t.Fatal(err)
		}
	}
	again, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatalf("with a log that cannot be written: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if info, err := os.Stat(path + suffix); err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", suffix, info.Mode())
		}
	}
}
