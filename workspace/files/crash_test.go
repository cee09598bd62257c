package files

import (
	"errors"
	"testing"
)

// crashesAt has a sync end at a point, as a kill does.
func (p *person) crashesAt(point string) {
	p.w.t.Helper()
	p.fail = func(at string) error {
		if at == point {
			return errCrash
		}
		return nil
	}
	if _, err := p.Sync(p.w.t.Context()); !errors.Is(err, errCrash) {
		p.w.t.Fatalf("the sync did not come to %q: %v", point, err)
	}
	p.fail, p.upTo = nil, 0 // another process begins anew
}

// What a killed sync had projected is no edit of anybody: what memory took back since does not come back by it.
func TestWhatAKilledSyncProjectedIsNobodysEdit(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/notes/a.md", "one\n")
	p.sync()
	p.write("agents/coder/notes/a.md", "one\ntwo\n")
	p.crashesAt("replaced")
	p.shows("notes/a.md", "one\ntwo\n")
	p.write("agents/coder/notes/a.md", "one\n")
	if taken := did(p.sync(), Taken); len(taken) > 0 {
		t.Errorf("taken for an edit: %v", taken)
	}
	p.shows("notes/a.md", "one\n")
	if got := p.read("agents/coder/notes/a.md").Text; got != "one\n" {
		t.Errorf("memory says %q, want what was written to it last", got)
	}
	p.still()
}

// The same of a file that the killed sync had made: nothing was projected before.
func TestWhatAKilledSyncMadeIsNobodysEdit(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/notes/a.md", "one\ntwo\n")
	p.crashesAt("created")
	for name := range p.texts() { // it is the first file that a sync makes
		if name != "notes/a.md" {
			t.Fatalf("%s is there; want notes/a.md alone", name)
		}
	}
	p.write("agents/coder/notes/a.md", "one\n")
	r := p.sync()
	if taken := append(did(r, Taken), did(r, Conflict)...); len(taken) > 0 {
		t.Errorf("taken for an edit: %v", taken)
	}
	p.shows("notes/a.md", "one\n")
	p.still()
}

// What a person writes into a file that a killed sync had projected is theirs, and nothing else is.
func TestAnEditAfterAKilledSyncIsTakenInAlone(t *testing.T) {
	t.Parallel()
	p := newWorld(t, "ann").person(0)
	p.write("agents/coder/notes/a.md", "one\n")
	p.sync()
	p.write("agents/coder/notes/a.md", "one\ntwo\n")
	p.crashesAt("replaced")
	p.save("notes/a.md", "one\ntwo\nthree, said ann\n")
	p.write("agents/coder/notes/a.md", "one\n")
	p.sync()
	if got := p.read("agents/coder/notes/a.md").Text; got != "one\nthree, said ann\n" {
		t.Errorf("got %q, want what ann wrote without what memory took back", got)
	}
	p.still()
}
