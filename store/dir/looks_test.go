package dir_test

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/store/dir"
)

// TestWhoLooksWritesNothing: a folder and a file that were opened to look refuse every way to write, and stay as they
// are.
func TestWhoLooksWritesNothing(t *testing.T) {
	t.Parallel()
	d := t.TempDir()
	key, _ := perdure.GenerateSigner("x")
	s, err := dir.Open(d, dir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{Store: s, Key: key}
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "g"},
		Charter: perdure.Charter{Scope: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(d, "*"+capsule.Ext))
	sum := func() string { b, _ := os.ReadFile(files[0]); h := sha256.Sum256(b); return string(h[:]) }
	more, _, err := key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "hi"}})
	if err != nil {
		t.Fatal(err)
	}
	before := sum()
	ls, err := dir.Open(d, dir.Options{Look: true})
	if err != nil {
		t.Fatal(err)
	}
	refused(t, "folder", ls, a.ID(), more)
	if err := ls.Close(); err != nil {
		t.Error(err)
	}
	file, err := capsule.LookStore(files[0])
	if err != nil {
		t.Fatal(err)
	}
	refused(t, "file", file, a.ID(), more)
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	if sum() != before {
		t.Error("the file has changed")
	}
}

func refused(t *testing.T, what string, s perdure.Parter, id perdure.AgentID, more []*perdure.Entry) {
	t.Helper()
	seq := func(yield func(*perdure.Entry, error) bool) { yield(more[0], nil) }
	if err := s.(perdure.Store).Put(t.Context(), id, more...); err == nil {
		t.Errorf("%s: Put writes", what)
	}
	if err := s.PutAll(t.Context(), id, seq); err == nil {
		t.Errorf("%s: PutAll writes", what)
	}
}
