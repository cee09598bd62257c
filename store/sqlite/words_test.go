package sqlite

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/perdure/perdure"
)

// twoAuthors writes agents of one key, and one of another. The entries of the first name a policy, which no body does.
func twoAuthors(t *testing.T) (w *written, one perdure.Key, policy perdure.Hash, other perdure.AgentID) {
	t.Helper()
	w = &written{filepath.Join(t.TempDir(), "store.db"), map[perdure.AgentID][]*perdure.Entry{}}
	s := openBench(t, w.path)
	key, second := newSigner(t), newSigner(t)
	policy = perdure.HashOf([]byte("a policy"))
	for i := range 5 {
		g, a := begin(t, key, fmt.Sprintf("agent-%d", i))
		w.add(t, s, g)
		d := draft(100 + i*500)
		d.Policy = policy
		es, _ := commit(t, key, a, draft(20), d)
		w.add(t, s, es...)
	}
	g, a := begin(t, second, "other")
	w.add(t, s, g)
	es, _ := commit(t, second, a, draft(20))
	w.add(t, s, es...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return w, key.Key(), policy, g.ID()
}

func TestADamagedWordTouchesOnlyItsAgentsAndIsRestored(t *testing.T) {
	t.Parallel()
	w, one, policy, of := twoAuthors(t)
	pristine := read(t, w.path)
	statement := func(text string, args ...perdure.Hash) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			c, err := dial(path, "rw")
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range args {
				if err := c.exec(text, h[:]); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	inFile := func(word perdure.Hash, which int, change func([]byte)) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			b := slices.Clone(pristine)
			at := 0
			for range which + 1 {
				next := bytes.Index(b[at:], word[:])
				if next < 0 {
					t.Fatal("the word is not there so often")
				}
				at += next + 1
			}
			change(b[at-1:][:len(word)])
			write(t, path, b)
		}
	}
	garbage := func(b []byte) { _, _ = rand.Read(b) }
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, path string)
		known  []perdure.Hash // by the home
		lost   bool           // what nobody knows any more
	}{
		{name: "garbage in the table", damage: inFile(perdure.Hash(one), 0, garbage)},
		{name: "garbage in the index", damage: inFile(perdure.Hash(one), 1, garbage)},
		{name: "one byte, everywhere", damage: statement("UPDATE words SET "+
			"value=CAST(substr(value,1,7)||x'00'||substr(value,9) AS BLOB) WHERE value=?", perdure.Hash(one), policy)},
		{name: "the owner's key overwritten", damage: statement("UPDATE words SET value=randomblob(32) WHERE value=?",
			perdure.Hash(one))},
		{name: "the owner's key deleted", damage: statement("DELETE FROM words WHERE value=?", perdure.Hash(one))},
		{name: "a policy overwritten that the home has", damage: statement("UPDATE words SET value=randomblob(32) "+
			"WHERE value=?", policy), known: []perdure.Hash{policy}},
		{name: "key and policy overwritten", damage: statement("UPDATE words SET value=randomblob(32) WHERE value=?",
			policy, perdure.Hash(one)), known: []perdure.Hash{policy}},
		{name: "a policy nobody has", damage: statement("UPDATE words SET value=randomblob(32) WHERE value=?", policy),
			lost: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := copied(t, w.path, filepath.Join(t.TempDir(), "store.db"))
			c.damage(t, path)
			repairable(t, w, path, of, c.known, c.lost)
		})
	}
}

// repairable repairs a store as a doctor does and looks whether all agents are as they were.
func repairable(t *testing.T, w *written, path string, untouched perdure.AgentID, known []perdure.Hash, lost bool) {
	t.Helper()
	if s, err := Open(t.Context(), path, Options{}); err != nil {
		t.Fatal(err)
	} else {
		if !holdsAll(t.Context(), s, untouched, w.entries[untouched]) {
			t.Error("an agent that does not name the word cannot be read")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if Damage(t.Context(), path) != nil {
		if _, err := Rebuild(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Open(t.Context(), path, Options{Known: known})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	healed := 0
	for id, want := range w.entries {
		if _, err := perdure.Verify(perdure.Memory(t.Context(), s, id), perdure.VerifyOptions{}); err != nil {
			healed++
			if _, err := s.Heal(t.Context(), id, nil); err != nil {
				t.Fatal(err)
			}
		}
		if whole := holdsAll(t.Context(), s, id, want); whole == lost && id != untouched {
			t.Errorf("agent %s is whole: %v", id.Short(), whole)
		}
	}
	if healed > 1 && !lost {
		t.Errorf("%d agents were healed one by one: restoring the word heals all", healed)
	}
	good := true // a copy of one that names the word is enough for all
	for id, want := range w.entries {
		if !lost || id == untouched {
			continue
		}
		if !good {
			want = nil
		}
		if _, err := s.Heal(t.Context(), id, want); err != nil {
			t.Fatal(err)
		}
		good = false
	}
	for id, want := range w.entries {
		if !holdsAll(t.Context(), s, id, want) {
			t.Errorf("agent %s is not whole with a good copy", id.Short())
		}
	}
	if err := Damage(t.Context(), path); err != nil {
		t.Error(err)
	}
}

// A key that cannot be found gets another number when it writes again. Both are one key after the repair.
func TestAWordThatGotASecondNumberHasOneAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	w := &written{path, map[perdure.AgentID][]*perdure.Entry{}}
	key := newSigner(t)
	s := openBench(t, path)
	first, _ := begin(t, key, "first")
	w.add(t, s, first)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := dial(path, "rw")
	if err == nil {
		err = c.exec("UPDATE words SET value=randomblob(32)")
	}
	if err == nil {
		err = c.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	s = openBench(t, path)
	second, a := begin(t, key, "second")
	w.add(t, s, second)
	es, _ := commit(t, key, a, draft(2500))
	w.add(t, s, es...)
	if _, err := s.Heal(t.Context(), first.ID(), nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openBench(t, path)
	defer func() { _ = s.Close() }()
	for id, want := range w.entries {
		if !holdsAll(t.Context(), s, id, want) {
			t.Errorf("agent %s is not as it was", id.Short())
		}
	}
	if err := s.read(t.Context(), func(c *conn) error {
		n, _, err := c.number("SELECT count(*) FROM words")
		if n != 1 {
			t.Errorf("the key has %d numbers", n)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
