package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/store/sqlite"
)

// A process was killed as it made the file of a store.
func TestAnEmptyFileIsNoCopy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at, err := sqlite.Place(path, false)
	if err != nil || at.Found {
		t.Errorf("an empty file: found %v, %v", at.Found, err)
	}
}
