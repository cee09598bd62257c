//go:build unix

package ralph

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/disk"
)

// TestWhoWaitsForACommandIsToldBefore: the command of a loop that was killed goes on, and holds its lock.
func TestWhoWaitsForACommandIsToldBefore(t *testing.T) {
	t.Parallel()
	p := &Process{Folder: t.TempDir()}
	dir := filepath.Join(p.Folder, "n1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := os.Create(filepath.Join(dir, lockFile))
	if err == nil {
		err = disk.Lock(lock, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	end, known, err := p.Find(t.Context(), "n1", func() { // it is still running: it ends only now
		told++
		if err := os.WriteFile(filepath.Join(dir, exitFile), []byte(`{"code":7}`), 0o600); err != nil {
			t.Error(err)
		}
	})
	if told != 1 || !known || end.Code != 7 || err != nil {
		t.Errorf("told %d times, known %v, code %d, %v; want once, and 7", told, known, end.Code, err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if _, known, err = p.Find(t.Context(), "n1", func() { t.Error("it waits for what has ended") }); !known ||
		err != nil {
		t.Errorf("known %v, %v", known, err)
	}
}
