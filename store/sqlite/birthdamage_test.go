package sqlite

import (
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/storetest"
)

// vandal runs statements on the file of a store.
func vandal(t *testing.T, path string, statements ...string) {
	t.Helper()
	c, err := dial(path, "rw", "busy_timeout=5000")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range statements {
		err = errors.Join(err, c.exec(text))
	}
	if err := errors.Join(err, c.close()); err != nil {
		t.Fatal(err)
	}
}

// spoiled are the ways in which second copies go wrong, and whether nothing can be written to them then.
var spoiled = map[string][]string{
	"gone":          {"DROP TABLE births"},
	"empty":         {"DELETE FROM births"},
	"garbled":       {"UPDATE births SET entry=zeroblob(300)"},
	"short":         {"UPDATE births SET entry=substr(entry,1,40)"},
	"wrong type":    {"UPDATE births SET entry='text'"},
	"swapped":       {"UPDATE births SET entry=(SELECT entry FROM births b WHERE b.agent<>births.agent LIMIT 1)"},
	"other columns": {"DROP TABLE births", "CREATE TABLE births(x TEXT)"},
	"more columns": {"DROP TABLE births",
		"CREATE TABLE births(agent INTEGER PRIMARY KEY, entry BLOB, more TEXT NOT NULL)"},
	"a view": {"DROP TABLE births", "CREATE VIEW births AS SELECT 1 AS agent, x'00' AS entry"},
	"refusing": {"CREATE TRIGGER births_no BEFORE INSERT ON births BEGIN SELECT raise(ABORT,'no'); END",
		"CREATE TRIGGER births_nor BEFORE DELETE ON births BEGIN SELECT raise(ABORT,'no'); END"},
}

// Second copies are derived: whatever becomes of them, agents are made, told, read, pruned and healed as ever, and a
// reindex or a rebuild makes them anew.
func TestNothingDependsOnSecondCopies(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(spoiled)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := interleaved(t, 3, 3, false)
			s, err := Open(t.Context(), w.path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			a, key := newborn(t, s, "before")
			vandal(t, w.path, spoiled[name]...)
			g, b := begin(t, key, "after")
			w.add(t, s, g)
			es, _ := commit(t, key, b, draft(30))
			w.add(t, s, es...)
			for id := range w.entries {
				if _, err := s.Heal(t.Context(), id, nil); err != nil {
					t.Errorf("heal: %v", err)
				}
			}
			sameAs(t, s, w)
			if missing, err := reindexed(t, s); missing != 0 || err != nil {
				t.Errorf("after a reindex %d agents lack a second copy, %v", missing, err)
			}
			sameAs(t, s, w)
			if _, err := storetest.Prune(t.Context(), s, a.ID(), perdure.Hash(a.ID())); err != nil {
				t.Errorf("prune: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if err := Damage(t.Context(), w.path); err != nil {
				t.Errorf("after a reindex: %v", err)
			}
		})
	}
}

// reindexed rebuilds the indexes, and counts the agents that have no second copy after that.
func reindexed(t *testing.T, s *Store) (missing int64, err error) {
	t.Helper()
	if err := s.Reindex(t.Context(), nil); err != nil {
		t.Errorf("reindex: %v", err)
	}
	return s.Unborn(t.Context())
}

// sameAs fails unless a store holds what was written.
func sameAs(t *testing.T, s *Store, w *written) {
	t.Helper()
	for id, want := range w.entries {
		var got []perdure.Hash
		for e, err := range s.Entries(t.Context(), id, 0) {
			if err != nil {
				t.Errorf("read agent %s: %v", id.Short(), err)
				break
			}
			got = append(got, e.Name)
		}
		if len(got) != len(want) {
			t.Errorf("agent %s has %d entries, want %d", id.Short(), len(got), len(want))
		}
	}
}

// What is wrong with second copies is found, and a rebuild puts it right and keeps every agent.
func TestDamageToSecondCopiesIsFoundAndRebuilt(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(spoiled)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := interleaved(t, 3, 3, false)
			vandal(t, w.path, spoiled[name]...)
			missing, err := unbornIn(t, w.path)
			damage := Damage(t.Context(), w.path)
			if name == "refusing" {
				damage = errors.New("which only a write finds")
			}
			if damage == nil && missing == 0 && err == nil {
				t.Error("nothing is said to be wrong")
			}
			if lacking := cured(t, w, w.path, nil); len(lacking) > 0 {
				t.Errorf("%d agents are not what they were", len(lacking))
			}
			if missing, err := unbornIn(t, w.path); missing != 0 || err != nil {
				t.Errorf("after a rebuild %d agents lack a second copy, %v", missing, err)
			}
		})
	}
}

// A damaged page of second copies keeps nobody from making agents.
func TestADamagedPageOfSecondCopiesPoisonsNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 60 { // so that there are several pages
		newborn(t, s, "agent")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := dial(path, "rw")
	if err != nil {
		t.Fatal(err)
	}
	root, _, err := c.number("SELECT rootpage FROM sqlite_schema WHERE name='births'")
	if err := errors.Join(err, c.close()); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err == nil {
		_, err = f.WriteAt(slices.Repeat([]byte{0xa7}, pageSize), (root-1)*pageSize)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), path, Options{}); err != nil {
		t.Fatal(err)
	}
	w := &written{path, map[perdure.AgentID][]*perdure.Entry{}}
	key := newSigner(t)
	g, a := begin(t, key, "after")
	w.add(t, s, g)
	es, _ := commit(t, key, a, draft(30))
	w.add(t, s, es...)
	if _, err := s.Heal(t.Context(), a.ID(), nil); err != nil {
		t.Errorf("heal: %v", err)
	}
	if _, err := storetest.Prune(t.Context(), s, a.ID(), perdure.Hash(a.ID())); err == nil {
		t.Error("a body is said to be gone while its second copy cannot be reached")
	}
	es, _ = commit(t, key, a, draft(40))
	w.add(t, s, es...)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Damage(t.Context(), path); err == nil {
		t.Error("nothing is said to be wrong")
	}
	if lacking := cured(t, w, path, nil); len(lacking) > 0 {
		t.Errorf("%d agents are not what they were", len(lacking))
	}
	if missing, err := unbornIn(t, path); missing != 0 || err != nil {
		t.Errorf("after a rebuild %d agents lack a second copy, %v", missing, err)
	}
}

// unbornIn counts the agents in a file that have no second copy.
func unbornIn(t *testing.T, path string) (missing int64, err error) {
	t.Helper()
	s, err := Open(t.Context(), path, Options{Existing: true, Look: true})
	if err != nil {
		t.Fatal(err)
	}
	missing, err = s.Unborn(t.Context())
	return missing, errors.Join(err, s.Close())
}

// A signature is no part of what an entry is named by: a row whose signature is damaged reads as any other. It is
// healed from the second copy of a first entry, or from a good copy.
func TestDamagedSignatureOfAFirstEntryIsHealed(t *testing.T) {
	t.Parallel()
	for _, kept := range []bool{true, false} {
		w := interleaved(t, 1, 3, false)
		s, err := Open(t.Context(), w.path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		id := slices.Collect(maps.Keys(w.entries))[0]
		signature := hex.EncodeToString(w.entries[id][0].Signature)
		vandal(t, w.path, fmt.Sprintf("UPDATE log SET data=unhex(replace(lower(hex(data)),'%s','%s'))", signature,
			strings.Repeat("5a", len(signature)/2)))
		good := w.entries[id]
		if kept {
			good = nil
		} else {
			vandal(t, w.path, "DELETE FROM births")
		}
		verify := func() error {
			_, err := perdure.Verify(memory(t, s, id), perdure.VerifyOptions{})
			return err
		}
		if verify() == nil {
			t.Fatal("nothing was damaged")
		}
		if h, err := s.Heal(t.Context(), id, good); err != nil || h.Entries != int64(len(w.entries[id])) {
			t.Errorf("healed: %+v, %v", h, err)
		}
		if err := verify(); err != nil {
			t.Errorf("after the cure, with a second copy: %v: %v", kept, err)
		}
	}
}

// memory is what a store holds of an agent.
func memory(t *testing.T, s *Store, id perdure.AgentID) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		for item, err := range s.Entries(t.Context(), id, 0) {
			if !yield(item.Entry, err) {
				return
			}
		}
	}
}
