package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
)

// An older copy that is seen later must not make the witness forget the newer one.
func TestWitnessKeepsTheNewest(t *testing.T) {
	path := filepath.Join(t.TempDir(), "witness.db")
	id := perdure.AgentID(perdure.HashOf([]byte("agent")))
	older, newer := perdure.HashOf([]byte("older")), perdure.HashOf([]byte("newer"))
	wants := func(when string, w *sqlite.Witness, want perdure.Hash) {
		t.Helper()
		if got, err := w.Seen(t.Context(), id); err != nil || len(got) != 1 || got[0] != want {
			t.Errorf("%s: got %v, %v, want %s", when, got, err, want.Short())
		}
	}
	open := func() *sqlite.Witness {
		t.Helper()
		w, err := sqlite.OpenWitness(path, "")
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	w := open()
	w.See(id, 9, []perdure.Hash{newer})
	w.See(id, 5, []perdure.Hash{older})
	wants("before it is written", w, newer)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = open()
	w.See(id, 5, []perdure.Hash{older})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = open()
	wants("after an older sighting was written", w, newer)
	if err := w.Unplace(id); err != nil {
		t.Fatal(err)
	}
	wants("when it is no longer missed", w, newer)
	if err := w.Forget(id); err != nil {
		t.Fatal(err)
	}
	w.See(id, 5, []perdure.Hash{older})
	wants("once it is forgotten", w, older)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
