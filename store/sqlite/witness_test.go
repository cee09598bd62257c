package sqlite_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
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
		if got, err := w.Seen(t.Context(), id); err != nil || len(got.Heads) != 1 || got.Heads[0] != want {
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
	w.See(id, perdure.Sighting{Seq: 9, Heads: []perdure.Hash{newer}})
	w.See(id, perdure.Sighting{Seq: 5, Heads: []perdure.Hash{older}})
	wants("before it is written", w, newer)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = open()
	w.See(id, perdure.Sighting{Seq: 5, Heads: []perdure.Hash{older}})
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
	w.See(id, perdure.Sighting{Seq: 5, Heads: []perdure.Hash{older}})
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
	w.See(id, perdure.Sighting{Seq: 1, Heads: []perdure.Hash{{1}}})
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
	if seen, err := w.Seen(t.Context(), id); err != nil || len(seen.Heads) != 1 {
		t.Errorf("it has seen %v, %v", seen, err)
	}
	w.See(id, perdure.Sighting{Seq: 2, Heads: []perdure.Hash{{2}}})
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

// spoil runs a statement on the file of a witness.
func spoil(t *testing.T, path, text string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.ExecContext(t.Context(), text)
		err = errors.Join(err, db.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A witness that cannot say what it saw must not pass for one that saw nothing.
func TestAWitnessThatForgotIsNoWitnessThatSawNothing(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"DROP TABLE seen",
		"UPDATE seen SET heads = zeroblob(31)",
		"UPDATE seen SET heads = x''",
		"UPDATE seen SET heads = 'text'",
		"UPDATE seen SET seq = 'many'",
		"UPDATE seen SET seq = -4",
		"UPDATE seen SET agent = zeroblob(7)",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "seen.db")
			id := perdure.AgentID{1}
			w, err := sqlite.OpenWitness(path, "here")
			if err != nil {
				t.Fatal(err)
			}
			w.See(id, perdure.Sighting{Seq: 1, Heads: []perdure.Hash{{1}}})
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if w, err = sqlite.OpenWitness(path, "here"); err != nil {
				t.Fatal(err)
			}
			spoil(t, path, text)
			var failed error
			for _, err := range w.Sightings() {
				failed = errors.Join(failed, err)
			}
			if failed == nil {
				t.Error("what was seen ends without an error")
			}
			if w.Fault() == nil {
				t.Error("it has no fault after it could not be read")
			}
			if _, err := w.Seen(t.Context(), id); err == nil && !strings.Contains(text, "agent") {
				t.Error("an agent that was seen passes for one that was not")
			}
			_ = w.Close()
			if sqlite.WitnessDamage(path) == nil {
				t.Error("nothing is said to be wrong with the file")
			}
		})
	}
}

// What nobody can tell any more is not taken for noted.
func TestAClosedWitnessAndOneThatIsOnlyAskedSaySo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "seen.db")
	w, err := sqlite.OpenWitness(path, "here")
	if err != nil {
		t.Fatal(err)
	}
	w.See(perdure.AgentID{1}, perdure.Sighting{Seq: 1, Heads: []perdure.Hash{{1}}})
	for s, err := range w.Sightings() {
		if err != nil || s.Agent != (perdure.AgentID{1}) || s.Seq != 1 {
			t.Errorf("got %+v, %v, want what is not written yet, too", s, err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	look, err := sqlite.LookWitness(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, w := range map[string]*sqlite.Witness{"closed": w, "only asked": look} {
		if w.Fault() == nil || w.Forget(perdure.AgentID{1}) == nil || w.Unplace(perdure.AgentID{1}) == nil {
			t.Errorf("a witness that is %s says that it notes what it is told", what)
		}
	}
	if s, err := look.Sighting(perdure.AgentID{1}); err != nil || s.Seq != 1 {
		t.Errorf("got %+v, %v", s, err)
	}
	if _, err := w.Seen(t.Context(), perdure.AgentID{1}); err == nil {
		t.Error("a witness that is closed has seen nothing")
	}
	if err := look.Close(); err != nil {
		t.Fatal(err)
	}
}

// Who only asks sees what is written after they began to ask, also where there was no file.
func TestWhoOnlyAsksSeesWhatIsWrittenLater(t *testing.T) {
	for _, begun := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "witness.db")
		open := func() *sqlite.Witness {
			w, err := sqlite.OpenWitness(path, "")
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		if begun {
			if err := open().Close(); err != nil {
				t.Fatal(err)
			}
		}
		asked, err := sqlite.LookWitness(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			id := perdure.AgentID(perdure.HashOf([]byte{byte(i)}))
			if got, err := asked.Seen(t.Context(), id); err != nil || got.Heads != nil {
				t.Errorf("begun %v: before: got %v, %v", begun, got, err)
			}
			w := open()
			w.See(id, perdure.Sighting{Seq: 1, Heads: []perdure.Hash{perdure.HashOf([]byte("head"))}})
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if got, err := asked.Seen(t.Context(), id); err != nil || len(got.Heads) != 1 {
				t.Errorf("begun %v: what was written later: got %v, %v", begun, got, err)
			}
		}
		if err := asked.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// What a witness keeps at hand is what the file has, whoever wrote it.
func TestWitnessesOfOneFileSeeWhatTheOthersSaw(t *testing.T) {
	path := filepath.Join(t.TempDir(), "witness.db")
	id := perdure.AgentID(perdure.HashOf([]byte("agent")))
	heads := func(n int64) perdure.Hash { return perdure.HashOf([]byte{byte(n)}) }
	var both []*sqlite.Witness
	for range 2 {
		w, err := sqlite.OpenWitness(path, "")
		if err != nil {
			t.Fatal(err)
		}
		w.Eager() // each sighting is in the file when See returns
		t.Cleanup(func() { _ = w.Close() })
		both = append(both, w)
	}
	wants := func(when string, want int64) {
		t.Helper()
		for i, w := range both {
			for range 2 { // the second time it may be at hand
				s, err := w.Sighting(id)
				if err != nil || s.Seq != want || want > 0 && (len(s.Heads) != 1 || s.Heads[0] != heads(want)) {
					t.Errorf("%s: witness %d says %d %v, %v; want %d", when, i, s.Seq, s.Heads, err, want)
				}
			}
		}
	}
	wants("at first", 0)
	for n := int64(1); n < 20; n++ {
		both[n%2].See(id, perdure.Sighting{Seq: n, Heads: []perdure.Hash{heads(n)}})
		wants("after a sighting", n)
	}
	both[0].See(id, perdure.Sighting{Seq: 5, Heads: []perdure.Hash{heads(5)}})
	wants("after an older sighting", 19)
	if err := both[1].Forget(id); err != nil {
		t.Fatal(err)
	}
	wants("after it was forgotten", 0)
	both[1].See(id, perdure.Sighting{Seq: 3, Heads: []perdure.Hash{heads(3)}})
	// what it has kept is that nothing was seen
	both[0].See(id, perdure.Sighting{Seq: 2, Heads: []perdure.Hash{heads(2)}})
	wants("after one saw less than another", 3)
}

// What was seen of a copy counts in the store it was seen in, where it came further than all else that was seen.
func TestWitnessKeepsCopiesApart(t *testing.T) {
	path, id := filepath.Join(t.TempDir(), "seen.db"), perdure.AgentID{1}
	open := func(store string) *sqlite.Witness {
		t.Helper()
		w, err := sqlite.OpenWitness(path, store)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	see := func(store string, s perdure.Sighting) {
		t.Helper()
		w := open(store)
		s.Heads = []perdure.Hash{{byte(s.Seq)}}
		w.See(id, s)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	wants := func(what, store string, seq int64, copied bool) {
		t.Helper()
		w := open(store)
		got, err := w.Seen(t.Context(), id)
		if err != nil || got.Seq != seq || got.Copy != copied || (len(got.Heads) > 0) != (seq > 0) {
			t.Errorf("%s, in %s: %+v, %v, want seq %d, of a copy: %v", what, store, got, err, seq, copied)
		}
		for s, err := range w.Sightings() {
			if err != nil || s.Seq != seq || s.Copy != copied {
				t.Errorf("%s, in %s, of all: %+v, %v", what, store, s, err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	see("a", perdure.Sighting{Seq: 5, Copy: true})
	wants("a copy", "a", 5, true)
	wants("a copy", "b", 0, false)
	see("b", perdure.Sighting{Seq: 3})
	wants("a seat that came less far", "a", 5, true)
	wants("a seat that came less far", "b", 3, false)
	see("b", perdure.Sighting{Seq: 9})
	wants("a seat that came further", "a", 9, false)
	w := open("a")
	if err := w.Forget(id); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	wants("forgotten", "a", 0, false)
}
