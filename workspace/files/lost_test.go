package files

import (
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// backup is a copy of the whole store as it is now.
func (w *world) backup() perdure.Store {
	w.t.Helper()
	s := new(perdure.MemStore)
	for item, err := range w.store.(perdure.Feeder).Feed(w.t.Context(), 0) {
		if err == nil {
			err = s.Put(w.t.Context(), item.ID(), item.Entry)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return s
}

// over has the folder of the n-th key go on with another store, as after a backup was put back.
func (p *person) over(n int, s perdure.Store) {
	p.w.t.Helper()
	v := *p.w
	v.store = s
	p.w = &v
	r, err := v.open(n).For(v.t.Context(), v.agent)
	if err != nil {
		v.t.Fatal(err)
	}
	p.Reader, p.upTo = r, 0
}

// keeps fails unless the folder and memory have what a person wrote.
func (p *person) keeps(words ...string) {
	p.w.t.Helper()
	r := p.sync()
	for _, word := range words {
		if !strings.Contains(p.all(), word) {
			p.w.t.Errorf("%q is in no file any more: %v", word, r.Changes)
		}
	}
	if len(r.Notes) == 0 || !strings.Contains(r.Notes[0], "does not hold") {
		p.w.t.Errorf("nobody is told that memory lost something: %v", r.Notes)
	}
	p.still()
	if err := os.RemoveAll(p.Dir); err != nil {
		p.w.t.Fatal(err)
	}
	p.Adopt = true
	p.sync() // all of it is projected anew
	for _, word := range words {
		if !strings.Contains(p.all(), word) {
			p.w.t.Errorf("%q is not in memory", word)
		}
	}
}

// A store that was put back to an earlier copy does not hold what was synced since: the files are all there is of it.
func TestAFolderOutlivesARestoredStore(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("notes/a.md", "line one\n")
	p.write("agents/coder/TASKS.md", "- [ ] one\n")
	p.sync()
	old := p.w.backup()
	p.save("team/notes/a.md", "line one\nof a person\n")
	p.save("mine.md", "typed by hand\n")
	p.save(progressName, p.texts()[progressName]+"on a page\n")
	p.save(learnedName, "learned by heart\n")
	p.sync()
	p.write("notes/b.md", "said an agent\n")
	p.sync()
	p.over(0, old)
	p.keeps("line one", "of a person", "typed by hand", "on a page", "learned by heart", "said an agent")
}

// The same when a person goes on writing before the next sync, and when memory does.
func TestEditsOutliveARestoredStore(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("notes/a.md", "line one\n")
	p.sync()
	old := p.w.backup()
	p.save("team/notes/a.md", "line one\nof a person\n")
	p.sync()
	p.over(0, old)
	p.save("team/notes/a.md", "line one\nof a person\nand more\n")
	p.write("notes/a.md", "line one\nsaid an agent\n")
	p.keeps("line one", "of a person", "and more", "said an agent")
}

func TestAFolderOutlivesItsStore(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	empty := p.w.backup()
	p.write("notes/a.md", "line one\n")
	p.sync()
	p.save("team/notes/a.md", "line one\nof a person\n")
	p.save("mine.md", "typed by hand\n")
	p.save(errorsName, p.texts()[errorsName]+"on a page\n")
	p.sync()
	p.over(0, empty)
	p.keeps("line one", "of a person", "typed by hand", "on a page")
}

// The same of a sync that was killed before the store was put back.
func TestAKilledSyncOutlivesARestoredStore(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"incoming", "taken", "based", "sends", "replaced"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := newWorld(t, "ann").person(0)
			p.write("notes/a.md", "line one\nline two\n")
			p.sync()
			old := p.w.backup()
			p.write("notes/a.md", "line one\nline two\nsaid an agent\n")
			p.save("team/notes/a.md", "of a person\nline one\nline two\n")
			p.crashesAt(point)
			p.over(0, old)
			p.sync()
			if !strings.Contains(p.all(), "of a person") {
				t.Errorf("what a person wrote is gone: %q", p.texts())
			}
			p.still()
		})
	}
}

// What memory let go of on purpose goes from the folder, too.
func TestWhatExpiredIsNotTakenForLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newWorld(t, "ann").person(0)
		if _, err := p.Reader.Write(t.Context(), workspace.Draft{Path: "agents/coder/a.md", Text: "for a while\n",
			TTL: time.Hour}); err != nil {
			t.Fatal(err)
		}
		p.sync()
		time.Sleep(2 * time.Hour)
		if _, err := p.Reader.Node.Collect(t.Context(), p.w.agent.ID()); err != nil {
			t.Fatal(err)
		}
		if r := p.sync(); len(did(r, Removed)) != 1 || len(r.Notes) > 0 {
			t.Errorf("got %v, %v", r.Changes, r.Notes)
		}
		p.still()
	})
}
