package files

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/dir"
)

// openDir is a store in a folder.
func openDir(t *testing.T, path string) *dir.Store {
	t.Helper()
	s, err := dir.Open(path, dir.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// entries is the memory of the role.
func (w *world) entries() (all []*perdure.Entry) {
	w.t.Helper()
	for item, err := range w.store.Entries(w.t.Context(), w.agent.ID(), 0) {
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, item.Entry)
	}
	return all
}

// copy is the world with the memory of the role in another store.
func (w *world) copy(s perdure.Store) *world {
	w.t.Helper()
	if err := s.Put(w.t.Context(), w.agent.ID(), w.entries()...); err != nil {
		w.t.Fatal(err)
	}
	v := *w
	v.store = s
	return &v
}

// Two people end sessions of one role, each in a copy of its memory, and git merges the files: what the other one did
// stands before what is known. None of it is missing, and none is told twice.
func TestNoDeedIsLostWhereGitMergedAMemory(t *testing.T) {
	t.Parallel()
	here, merged := t.TempDir(), t.TempDir()
	w := newWorldOn(t, openDir(t, here), "ann")
	p := w.person(0)
	p.session("Laid the keel")
	trunk := len(w.entries())
	v := w.copy(openDir(t, t.TempDir()))
	v.person(0).session("Raised the mast")
	p.session("Sewed the sail")
	p.sync()
	both := openDir(t, merged)
	if err := both.Put(t.Context(), w.agent.ID(), slices.Concat(v.entries(), w.entries()[trunk:])...); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(merged, "[^.]*"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	if err := os.Rename(files[0], filepath.Join(here, filepath.Base(files[0]))); err != nil {
		t.Fatal(err)
	}
	p.sync()
	deeds, err := p.deeds(t.Context(), "kind='session'", 10)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range deeds {
		got = append(got, d.what)
	}
	if want := []string{"Raised the mast", "Sewed the sail", "Laid the keel"}; !slices.Equal(got, want) {
		t.Errorf("ended sessions: %q, want %q", got, want)
	}
	p.still()
}

// What an earlier version of this program knew of a folder is known on.
func TestAStateWithoutMarksIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.session("Laid the keel")
	p.sync()
	if _, err := p.State.db.ExecContext(t.Context(), "ALTER TABLE folder DROP COLUMN mark; PRAGMA "+
		"user_version=1"); err != nil {
		t.Fatal(err)
	}
	if err := p.State.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.still()
	if deeds, err := p.deeds(t.Context(), "1", 10); err != nil || len(deeds) != 1 {
		t.Errorf("%d deeds, %v, want the one", len(deeds), err)
	}
}
