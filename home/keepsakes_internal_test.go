package home

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The documents name what must be kept with a copy of a store, and every part of a home that decides what runs here is
// among it.
func TestTheDocumentsNameWhatIsKeptWithABackup(t *testing.T) {
	text, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(text), "names what must be kept with it, of what is there:")
	list, _, ended := strings.Cut(list, "Check a copy")
	if !found || !ended {
		t.Fatal("docs/operations.md has no list of what is kept with a backup")
	}
	named := map[string]bool{}
	for i, word := range strings.Split(list, "`") {
		if i%2 == 1 {
			named[strings.TrimSuffix(word, "/")] = true
		}
	}
	for _, name := range keepsakes {
		if !named[name] {
			t.Errorf("docs/operations.md does not say that %s is kept with a backup", name)
		}
		delete(named, name)
	}
	for name := range named {
		t.Errorf("docs/operations.md says that %s is kept with a backup, and perdure backup does not", name)
	}
	h := &Home{URL: t.TempDir()}
	if err := h.Locate(); err != nil {
		t.Fatal(err)
	}
	for _, name := range keepsakes {
		if err := os.Mkdir(filepath.Join(h.Dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if got := h.Keepsakes(); len(got) != len(keepsakes) {
		t.Errorf("kept are %v, of %v", got, keepsakes)
	}
	for _, p := range h.parts() {
		if _, err := os.Lstat(p.path); p.role == decides && err != nil {
			t.Errorf("%s decides what runs here, and is not kept with a backup", p.path)
		}
	}
}
