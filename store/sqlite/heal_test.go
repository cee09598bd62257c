package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/enginetest"
)

// written is a store with agents whose rows lie between each other's, and what was written to it.
type written struct {
	path    string
	entries map[perdure.AgentID][]*perdure.Entry
}

// interleaved writes such a store. Some bodies go on in other pages, and some into files.
func interleaved(t *testing.T, agents, rounds int, logged bool) *written {
	t.Helper()
	w := &written{filepath.Join(t.TempDir(), "store.db"), map[perdure.AgentID][]*perdure.Entry{}}
	s := openBench(t, w.path)
	key := newSigner(t)
	var all []*perdure.Agent
	for i := range agents {
		g, a := begin(t, key, fmt.Sprintf("agent-%d", i))
		w.add(t, s, g)
		all = append(all, a)
	}
	sizes := []int{60, 700, 2_500, 9_000, perdure.InlineBody + 100}
	for round := range rounds {
		for i, a := range all {
			es, next := commit(t, key, a, draft(20), draft(sizes[(i+round)%len(sizes)]+i))
			w.add(t, s, es...)
			all[i] = next
		}
		if round == rounds-2 {
			if err := s.Checkpoint(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if logged { // as a process leaves it that was killed
		w.path = copied(t, w.path, filepath.Join(t.TempDir(), "store.db"))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *written) add(t *testing.T, s *Store, es ...*perdure.Entry) {
	t.Helper()
	id := es[0].ID()
	if err := s.Put(t.Context(), id, es...); err != nil {
		t.Fatal(err)
	}
	w.entries[id] = append(w.entries[id], es...)
}

// copied copies the files of a store.
func copied(t *testing.T, path, to string) string {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		if b, err := os.ReadFile(path + suffix); err == nil {
			write(t, to+suffix, b)
		}
	}
	if err := os.CopyFS(folderOf(to), os.DirFS(folderOf(path))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return to
}

// rowsOn is the agents that have something on each page of a file nobody has damaged.
func rowsOn(t *testing.T, path string) map[int64]map[int64]bool {
	t.Helper()
	m, err := openImage(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.close() }()
	on := map[int64]map[int64]bool{}
	for n := int64(1); n <= m.pages; n++ {
		b, err := m.page(n)
		if err != nil {
			t.Fatal(err)
		}
		var owner int64
		m.cells(b, n == 1, m.page, func(rid int64, v []value) {
			if !isLog(rid, v) {
				return
			}
			if v[1].number != nil {
				owner = *v[1].number
			}
			if on[n] == nil {
				on[n] = map[int64]bool{}
			}
			on[n][owner] = true
		})
	}
	return on
}

// cured rebuilds a store, heals what needs it with what good copies there are, and returns the agents that are not as
// they were.
func cured(t *testing.T, w *written, path string, good map[perdure.AgentID][]*perdure.Entry) (
	lacking []perdure.AgentID) {
	t.Helper()
	if _, err := Rebuild(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if err := Damage(t.Context(), path); err != nil {
		t.Fatalf("a file that was rebuilt is damaged: %v", err)
	}
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, id := range slices.SortedFunc(maps.Keys(w.entries), func(a, b perdure.AgentID) int {
		return perdure.Hash(a).Compare(perdure.Hash(b))
	}) {
		if _, err := perdure.Verify(perdure.Memory(t.Context(), s, id), perdure.VerifyOptions{}); err != nil ||
			good != nil {
			_, err := s.Heal(t.Context(), id, good[id])
			if err != nil && good != nil {
				t.Errorf("heal %s: %v", id.Short(), err)
			}
		}
		if !holdsAll(t.Context(), s, id, w.entries[id]) {
			lacking = append(lacking, id)
		}
	}
	return lacking
}

func holdsAll(ctx context.Context, s *Store, id perdure.AgentID, want []*perdure.Entry) bool {
	have := map[perdure.Hash]bool{}
	for e, err := range perdure.Memory(ctx, s, id) {
		if err != nil {
			return false
		}
		have[e.Name] = e.BodyBytes() != nil
	}
	return !slices.ContainsFunc(want, func(e *perdure.Entry) bool { return !have[e.Name] })
}

func TestOneDamagedPageTakesNoOtherAgentWithIt(t *testing.T) {
	t.Parallel()
	w := interleaved(t, 12, 4, false)
	pristine := read(t, w.path)
	on := rowsOn(t, w.path)
	for _, damage := range []struct {
		name string
		do   func(page []byte)
	}{
		{"zeroed", func(p []byte) { clear(p) }},
		{"header of the page flipped", func(p []byte) { p[0] ^= 0xff }},
		{"bytes flipped all over", func(p []byte) {
			for i := 100; i < len(p); i += 200 {
				p[i] ^= 0x10
			}
		}},
	} {
		t.Run(damage.name, func(t *testing.T) {
			t.Parallel()
			for n := 0; n < len(pristine)/pageSize; n += 1 + n/6 {
				path := copied(t, w.path, filepath.Join(t.TempDir(), "store.db"))
				b := slices.Clone(pristine)
				damage.do(b[n*pageSize:][:pageSize])
				write(t, path, b)
				if lacking := cured(t, w, path, nil); len(lacking) > max(len(on[int64(n+1)]), 1) {
					t.Errorf("page %d has rows of %d agents; damaged it took %d with it", n+1, len(on[int64(n+1)]),
						len(lacking))
				}
				if lacking := cured(t, w, path, w.entries); len(lacking) > 0 {
					t.Errorf("page %d: with good copies of all, %d agents are still not whole", n+1, len(lacking))
				}
			}
		})
	}
}

func TestWhatIsBehindAFaultInTheLogIsTakenOver(t *testing.T) {
	t.Parallel()
	w := interleaved(t, 12, 4, true)
	wal := read(t, w.path+"-wal")
	for _, at := range []int{5, logHead + 30, logHead + (frameHead+pageSize)*3 + 500} {
		path := copied(t, w.path, filepath.Join(t.TempDir(), "store.db"))
		b := slices.Clone(wal)
		b[at] ^= 1
		write(t, path+"-wal", b)
		if err := Damage(t.Context(), path); err == nil {
			t.Errorf("a log with a bad byte at %d is taken for good", at)
		}
		if lacking := cured(t, w, path, nil); len(lacking) > 2 {
			t.Errorf("a bad byte at %d of the log took %d agents back", at, len(lacking))
		}
	}
}

// repaired does to a store what a person does: repair it, end, and import good copies of what is not whole, each time
// from a new process.
func repaired(t *testing.T, w *written, path string) (lacking []perdure.AgentID) {
	t.Helper()
	if Damage(t.Context(), path) != nil {
		if _, err := Rebuild(t.Context(), path); err != nil {
			t.Fatal(err)
		}
	}
	for _, good := range []map[perdure.AgentID][]*perdure.Entry{nil, w.entries} {
		for id, want := range w.entries {
			s, err := Open(t.Context(), path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !holdsAll(t.Context(), s, id, want) {
				if _, err := s.Heal(t.Context(), id, good[id]); err != nil && good != nil &&
					!errors.Is(err, perdure.ErrNotFound) {
					t.Errorf("heal %s: %v", id.Short(), err)
				}
				if good != nil && !holdsAll(t.Context(), s, id, want) {
					lacking = append(lacking, id)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return lacking
}

// begun is a small store whose agents have few rows, all of them in the tail.
func begun(t *testing.T) (*written, []byte) {
	t.Helper()
	w := interleaved(t, 3, 4, false)
	return w, read(t, w.path)
}

func TestGoodCopiesHealAnAgentOfWhichAPageIsLost(t *testing.T) {
	t.Parallel()
	w, pristine := begun(t)
	for n := 1; n < len(pristine)/pageSize; n++ {
		path := copied(t, w.path, filepath.Join(t.TempDir(), "store.db"))
		b := slices.Clone(pristine)
		clear(b[n*pageSize:][:pageSize])
		write(t, path, b)
		if lacking := repaired(t, w, path); len(lacking) > 0 {
			t.Errorf("page %d zeroed: with good copies of all, %d agents are still not whole", n+1, len(lacking))
		}
	}
}

func TestAPageWrittenOverTheMarkIsRepaired(t *testing.T) {
	t.Parallel()
	w, pristine := begun(t)
	c, err := dial(w.path, "ro")
	if err != nil {
		t.Fatal(err)
	}
	mark, _, err := c.number("SELECT rootpage FROM sqlite_schema WHERE name='mark'")
	if err = errors.Join(err, c.close()); err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(pristine)/pageSize; n++ {
		path := copied(t, w.path, filepath.Join(t.TempDir(), "store.db"))
		b := slices.Clone(pristine)
		copy(b[(mark-1)*pageSize:][:pageSize], pristine[n*pageSize:])
		write(t, path, b)
		if lacking := repaired(t, w, path); len(lacking) > 0 {
			t.Errorf("page %d written over the mark: %d agents are not whole", n+1, len(lacking))
		}
	}
}

// TestAnAgentOfWhichNothingIsLeftIsGone: its id alone, all of whose rows were lost, is nothing to heal for ever.
func TestAnAgentOfWhichNothingIsLeftIsGone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := openBench(t, path)
	key := newSigner(t)
	lost, _ := begin(t, key, "lost")
	kept, _ := begin(t, key, "kept")
	for _, g := range []*perdure.Entry{lost, kept} {
		if err := s.Put(t.Context(), g.ID(), g); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := dial(path, "rw")
	if err != nil {
		t.Fatal(err)
	}
	id := lost.ID()
	for _, table := range []string{"log", "places", "recent", "listings", "births"} {
		text := "DELETE FROM " + table + " WHERE agent=(SELECT key FROM agents WHERE id=?)"
		if err := c.exec(text, id[:]); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	s = openBench(t, path)
	if ill, err := s.Ailing(t.Context()); err != nil || ill[id].Reason == nil {
		t.Fatalf("before: %v, %v", ill, err)
	}
	if got, err := s.Heal(t.Context(), id, nil); err != nil || got.Entries != 0 || got.Aside != 0 {
		t.Errorf("healed: %+v, %v", got, err)
	}
	if ill, err := s.Ailing(t.Context()); err != nil || len(ill) != 0 {
		t.Errorf("what is ailing then: %v, %v", ill, err)
	}
	if _, err := s.Heads(t.Context(), id); !errors.Is(err, perdure.ErrNotFound) {
		t.Errorf("its heads then: %v, want ErrNotFound", err)
	}
	if err := s.Put(t.Context(), id, lost); err != nil {
		t.Errorf("a good copy of it cannot be put: %v", err)
	}
	for _, g := range []*perdure.Entry{lost, kept} {
		if _, err := perdure.Load(t.Context(), s, g.ID()); err != nil {
			t.Error(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestTheNameOfAnAgentOfWhichNothingIsLeftIsKept loses all rows of an agent that is listed: it is missed by its name,
// until it is let go of.
func TestTheNameOfAnAgentOfWhichNothingIsLeftIsKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := openBench(t, path)
	damage := func(id perdure.AgentID) error {
		c, err := dial(path, "rw")
		for _, table := range []string{"log", "places", "recent", "births"} {
			if err == nil {
				err = c.exec("DELETE FROM "+table+" WHERE agent=(SELECT key FROM agents WHERE id=?)", id[:])
			}
		}
		if err != nil {
			return err
		}
		return c.close()
	}
	enginetest.HealsNone(t, s, damage)
	lost, good := enginetest.Grown(t, s)
	id := lost.Agent.ID()
	kept, _ := enginetest.Grown(t, s)
	err := s.Index(t.Context(), lost.Agent.Heads(), lost.Agent.Listing(time.Now()))
	if err == nil {
		err = damage(id)
	}
	if err == nil {
		err = s.Close()
	}
	if err == nil { // the file knows its last rows
		_, err = Rebuild(t.Context(), path)
	}
	if err != nil {
		t.Fatal(err)
	}
	s = openBench(t, path)
	if _, err := s.Heads(t.Context(), id); err == nil || errors.Is(err, perdure.ErrNotFound) {
		t.Errorf("heads of what is lost: %v, want that it is damaged", err)
	}
	err = s.LetGo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Heads(t.Context(), id); !errors.Is(err, perdure.ErrNotFound) {
		t.Errorf("heads of what was let go of: %v, want ErrNotFound", err)
	}
	if ill, err := s.Ailing(t.Context()); err != nil || len(ill) != 0 {
		t.Errorf("what is ailing then: %v, %v", ill, err)
	}
	kept.Kept(t, s)
	if err := s.Put(t.Context(), id, good...); err != nil {
		t.Errorf("a good copy of it cannot be put: %v", err)
	}
	lost.Kept(t, s)
}
