package keyfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/keyfile"
)

func TestKeyFileIsForItsOwnerOnly(t *testing.T) {
	s, err := perdure.GenerateSigner("node-1")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "keys", "node.key")
	if err := keyfile.Write(path, s); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("got mode %v, %v; want 0600", info.Mode(), err)
	}
	back, err := keyfile.Read(path)
	if err != nil || back.Key() != s.Key() || back.Name != "node-1" {
		t.Fatalf("got %+v, %v", back, err)
	}
	if err := keyfile.Write(path, s); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want not to overwrite a key", err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := keyfile.Read(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("got %v, want to be told to chmod", err)
	}
	if _, err := keyfile.Read(path + "x"); !errors.Is(err, perdure.ErrNotFound) {
		t.Errorf("got %v, want not found", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := note.NewSigner(strings.TrimSpace(string(text))); err != nil {
		t.Errorf("signed notes cannot read the key: %v", err)
	}
	bad := filepath.Join(t.TempDir(), "bad")
	if err := os.WriteFile(bad, []byte("PRIVATE+KEY+x+00000000+AAAA"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := keyfile.Read(bad); err == nil || !strings.Contains(err.Error(), bad) {
		t.Errorf("got %v, want the file named", err)
	}
}
