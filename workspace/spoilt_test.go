package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/workspace"
)

func TestAnIndexIsThrownAwayOnlyIfItIsSpoilt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), workspace.IndexFile)
	ix, err := workspace.OpenIndex(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	// Its log cannot be opened: nothing is wrong with the file itself.
	if err := os.Mkdir(path+"-wal", 0o700); err != nil {
		t.Fatal(err)
	}
	if ix, err := workspace.OpenIndex(t.Context(), path); err == nil {
		_ = ix.Close()
		t.Error("it was opened although its log is a folder: the file was made anew")
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("a file that may be whole was thrown away: %v", err)
	}
	if err := os.Remove(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("this is no database, and was never one: it is a text"), 0o600); err != nil {
		t.Fatal(err)
	}
	ix, err = workspace.OpenIndex(t.Context(), path)
	if err != nil {
		t.Fatalf("a spoilt one was not made anew: %v", err)
	}
	if err := ix.Close(); err != nil {
		t.Error(err)
	}
}
