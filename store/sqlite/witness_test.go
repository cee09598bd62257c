package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

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

// A witness that cannot be written can be asked, says so, and writes again once it can.
func TestAWitnessThatCannotBeWrittenSaysSo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "seen.db")
	id := perdure.AgentID{1}
	w, err := sqlite.OpenWitness(path, "here")
	if err != nil {
		t.Fatal(err)
	}
	w.See(id, 1, []perdure.Hash{{1}})
	if err := errors.Join(w.Fault(), w.Close()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path+"-shm", 0o700); err != nil { // nothing can be written without it
		t.Fatal(err)
	}
	w, err = sqlite.OpenWitness(path, "here")
	if err != nil {
		t.Fatal(err)
	}
	if seen, err := w.Seen(t.Context(), id); err != nil || len(seen) != 1 {
		t.Errorf("it has seen %v, %v", seen, err)
	}
	w.See(id, 2, []perdure.Hash{{2}})
	if w.Fault() == nil || w.Forget(perdure.AgentID{2}) == nil {
		t.Error("it does not say that it cannot be written")
	}
	if err := os.Remove(path + "-shm"); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); w.Fault() != nil &&
		time.Now().Before(end); <-time.After(10 * time.Millisecond) {
	}
	if err := errors.Join(w.Fault(), w.Close()); err != nil {
		t.Fatal(err)
	}
	if w, err = sqlite.LookWitness(path); err != nil {
		t.Fatal(err)
	}
	if s, err := w.Sighting(id); err != nil || s.Seq != 2 {
		t.Errorf("it has seen %+v, %v; want what it saw while it could not write", s, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
