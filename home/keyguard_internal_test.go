package home

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/keyfile"
)

// A key that the home takes into use while a node runs is kept out of memories by that node, too.
func TestAKeyMadeWhileANodeRunsIsGuarded(t *testing.T) {
	h := &Home{URL: filepath.Join(t.TempDir(), "home"), Acts: true}
	if err := h.Locate(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Signer(t.Context()); err != nil {
		t.Fatal(err)
	}
	g, err := h.guardOf(t.Context(), nil, nil) // of a node that runs
	if err != nil {
		t.Fatal(err)
	}
	old, err := os.ReadFile(filepath.Join(h.Dir, KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	if g.Check(old) == nil {
		t.Fatal("the key of the home is not guarded")
	}
	// a rotation, and a person for a hook
	for _, where := range []string{nextKeyFile, filepath.Join(peopleDir, "ana")} {
		s, err := perdure.GenerateSigner("x")
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(h.Dir, where)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := keyfile.Write(path, s); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if g.Check(text) == nil {
			t.Errorf("%s may be written into a memory", where)
		}
	}
}
