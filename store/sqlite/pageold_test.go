package sqlite

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// aged makes a store what a program wrote that knows of no notes.
func aged(t *testing.T, path string, version int) {
	t.Helper()
	vandal(t, path, "ALTER TABLE mark DROP COLUMN tail", "DROP TABLE unlisted",
		fmt.Sprintf("PRAGMA user_version=%d", version))
}

func TestAStoreWithoutANoteIsLookedAtAsItIsAndGoesOnWithOne(t *testing.T) {
	t.Parallel()
	for _, version := range []int{3, 4} {
		h := housing(t)
		aged(t, h.path, version)
		was := read(t, h.path)
		s, err := Open(t.Context(), h.path, Options{Look: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range h.agents {
			if err := h.whole(t.Context(), s, i); err != nil {
				t.Errorf("version %d, looking: %v", version, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(read(t, h.path), was) {
			t.Errorf("version %d: looking changed the file", version)
		}
		if s, err = Open(t.Context(), h.path, Options{}); err != nil {
			t.Fatal(err)
		}
		for i := range h.agents {
			if err := h.goOn(t, s, i); err != nil {
				t.Errorf("version %d: %v", version, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		c, err := dial(h.path, "ro")
		if err != nil {
			t.Fatal(err)
		}
		n, err := readNote(c)
		if err != nil || n == nil || len(n.rows) < 20 {
			t.Errorf("version %d: after a write the note is %+v, %v", version, n, err)
		}
		_ = c.close()
		if err := Damage(t.Context(), h.path); err != nil {
			t.Errorf("version %d: %v", version, err)
		}
	}
}

// A file that a program wrote which knows of no notes is no worse off, but for the last rows.
func TestWhicheverPageOfAnOldFileIsLostTheOtherAgentsGoOn(t *testing.T) {
	t.Parallel()
	h := housing(t)
	aged(t, h.path, 4)
	h.unnoted = true
	h.loseEach(t)
}

// A note that is older than the rows, because a program wrote them that knows of none, is not believed: it would let an
// agent go back without a word.
func TestANoteThatIsOlderThanTheRowsIsNotBelieved(t *testing.T) {
	t.Parallel()
	h := housing(t)
	c, err := dial(h.path, "rw")
	if err != nil {
		t.Fatal(err)
	}
	n, err := readNote(c)
	if err != nil || n == nil {
		t.Fatal(n, err)
	}
	kept := len(n.rows) / 4 * 2
	n.rows, n.end = n.rows[:kept:kept], n.rows[kept-1]
	if err := c.exec("UPDATE mark SET tail=?", n.append(nil)); err != nil {
		t.Fatal(err)
	}
	if n, err := readNote(c); n != nil || err != nil {
		t.Errorf("it is believed: %+v, %v", n, err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), h.path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range h.agents {
		if err := h.goOn(t, s, i); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A note that names a row which is gone says that the file is damaged, whatever SQLite says.
func TestARowThatIsNotedAndGoneIsDamage(t *testing.T) {
	t.Parallel()
	h := housing(t)
	vandal(t, h.path, "DELETE FROM log WHERE rid=(SELECT max(rid) FROM log WHERE agent IS NOT NULL AND "+
		"rid<(SELECT max(rid) FROM log))")
	if err := Damage(t.Context(), h.path); err == nil || !strings.Contains(err.Error(), "is gone") {
		t.Errorf("got %v", err)
	}
	if lacking := cured(t, &h.written, h.path, h.entries); len(lacking) > 0 {
		t.Errorf("with good copies of all, %d agents are not whole", len(lacking))
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	for _, rows := range [][]int64{nil, {1, 8}, {3, 9, 3, 10, 4, 700}} {
		n := &note{mark: 7, end: 900, rows: rows}
		b := n.append(nil)
		if got := parseNote(b); got == nil || got.mark != 7 || got.end != 900 || !slices.Equal(got.rows, rows) {
			t.Errorf("%v: got %+v", rows, got)
		}
		for i := range b {
			bad := slices.Clone(b)
			bad[i] ^= 4
			if parseNote(bad) != nil {
				t.Errorf("a bad byte at %d is not noticed", i)
			}
		}
	}
	if n := parseNote(nil); n != nil {
		t.Errorf("nothing is a note: %+v", n)
	}
}
