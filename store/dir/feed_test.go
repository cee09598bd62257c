package dir

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
)

// fed is the names of what arrived after a position, and where that ends.
func fed(t *testing.T, s *Store, after perdure.Cursor) (names []perdure.Hash, end perdure.Cursor) {
	t.Helper()
	end = after
	for item, err := range s.Feed(t.Context(), after) {
		if err != nil {
			t.Fatal(err)
		}
		names, end = append(names, item.Name), item.Cursor
	}
	return names, end
}

func feedID(t *testing.T, s *Store) perdure.Hash {
	t.Helper()
	id, _, err := s.FeedEnd(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestFilesThatAreDroppedInArrive(t *testing.T) {
	w := newAuthor()
	s, elsewhere := open(t, t.TempDir()), t.TempDir()
	g, a := w.genesis("here")
	put(t, s, a.ID(), g)
	_, at := fed(t, s, 0)

	other := open(t, elsewhere)
	g2, b := w.genesis("there")
	es, b := w.commit(b, "one", "two")
	put(t, other, b.ID(), append([]*perdure.Entry{g2}, es...)...)
	name := capsule.FileName("there", b.ID())
	if err := carry(filepath.Join(elsewhere, name), s.path(name)); err != nil {
		t.Fatal(err)
	}
	names, at := fed(t, s, at)
	if len(names) != 3 {
		t.Fatalf("%d entries of a file that was dropped in arrived, want 3", len(names))
	}
	// The same file, longer, takes the place of it, as synchronising does.
	es, _ = w.commit(b, "three")
	put(t, other, b.ID(), es...)
	temp := s.path(".sync")
	if err := carry(filepath.Join(elsewhere, name), temp); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temp, s.path(name)); err != nil {
		t.Fatal(err)
	}
	if names, at = fed(t, s, at); len(names) != 1 || names[0] != es[0].Name {
		t.Fatalf("%d entries arrived with a longer copy, want the new one", len(names))
	}
	// A file that goes and comes back arrives again.
	if err := os.Rename(s.path(name), s.path(".aside")); err != nil {
		t.Fatal(err)
	}
	if names, at = fed(t, s, at); len(names) != 0 {
		t.Fatalf("%d entries arrived when a file went", len(names))
	}
	if err := os.Rename(s.path(".aside"), s.path(name)); err != nil {
		t.Fatal(err)
	}
	if names, _ = fed(t, s, at); len(names) != 4 {
		t.Fatalf("%d entries arrived when a file came back, want 4", len(names))
	}
}

// TestAMergeInAnotherOrderBringsOnlyWhatIsNew has a file come back whose entries lie in another order, as union merges
// of git leave them.
func TestAMergeInAnotherOrderBringsOnlyWhatIsNew(t *testing.T) {
	w := newAuthor()
	s, elsewhere := open(t, t.TempDir()), t.TempDir()
	g, a := w.genesis("x")
	mine, _ := w.commit(a, "mine")
	theirs, _ := w.commit(a, "theirs", "more")
	put(t, s, a.ID(), g, mine[0])
	_, at := fed(t, s, 0)
	other := open(t, elsewhere)
	put(t, other, a.ID(), append(append([]*perdure.Entry{g}, theirs...), mine[0])...)
	name := capsule.FileName("x", a.ID())
	if err := carry(filepath.Join(elsewhere, name), s.path(".sync")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(s.path(".sync"), s.path(name)); err != nil {
		t.Fatal(err)
	}
	names, at := fed(t, s, at)
	if len(names) != 2 || names[0] != theirs[0].Name || names[1] != theirs[1].Name {
		t.Fatalf("%d entries arrived with a merge, want the two that are new", len(names))
	}
	if all, _ := fed(t, s, 0); len(all) != 4 {
		t.Fatalf("%d entries in the whole feed, want 4: those that moved are found", len(all))
	}
	if names, _ = fed(t, s, at); len(names) != 0 {
		t.Fatalf("%d entries arrived again", len(names))
	}
}

func TestALostOrderBeginsAnotherFeed(t *testing.T) {
	w := newAuthor()
	s := open(t, t.TempDir())
	g, a := w.genesis("x")
	es, _ := w.commit(a, "one", "two")
	put(t, s, a.ID(), append([]*perdure.Entry{g}, es...)...)
	was := feedID(t, s)
	for _, harm := range []func(path string) error{
		os.Remove,
		func(path string) error { return os.WriteFile(path, []byte("nonsense"), 0o600) },
		func(path string) error { return os.Truncate(path, 0) },
	} {
		if err := harm(s.feed.path); err != nil {
			t.Fatal(err)
		}
		now := feedID(t, s)
		if now == was {
			t.Error("the order was lost, and the feed is the same")
		}
		if names, _ := fed(t, s, 0); len(names) != 3 {
			t.Errorf("%d entries arrive in the new feed, want 3", len(names))
		}
		was = now
	}
}

// TestHalfARecordIsWrittenOver leaves what a killed process does: a record cut off, or one whose bytes never reached
// the disk.
func TestHalfARecordIsWrittenOver(t *testing.T) {
	w := newAuthor()
	s := open(t, t.TempDir())
	g, a := w.genesis("x")
	put(t, s, a.ID(), g)
	was := feedID(t, s)
	for _, junk := range []int{17, recordSize, 3 * recordSize} {
		_, at := fed(t, s, 0)
		f, err := os.OpenFile(s.feed.path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(make([]byte, junk)); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		other := open(t, s.dir)
		var es []*perdure.Entry
		es, a = w.commit(a, "more")
		put(t, other, a.ID(), es...)
		if names, _ := fed(t, other, at); len(names) != 1 || names[0] != es[0].Name {
			t.Fatalf("%d entries arrived, want 1", len(names))
		}
		if names, _ := fed(t, s, at); len(names) != 1 {
			t.Fatalf("%d entries arrived through another handle, want 1", len(names))
		}
	}
	if feedID(t, s) != was {
		t.Error("a torn record began another feed")
	}
}

// Another process has written and not yet rung the bell: whoever has seen its entry in the heads finds it in the feed.
func TestWhatTheHeadsShowIsInTheFeedBeforeTheBellRings(t *testing.T) {
	w := newAuthor()
	s := open(t, t.TempDir())
	g, a := w.genesis("here")
	put(t, s, a.ID(), g)
	_, at := fed(t, s, 0)
	_, at = fed(t, s, at) // nothing happened since

	l, err := capsule.OpenLog(s.path(capsule.FileName("here", a.ID())))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	es, _ := w.commit(a, "one")
	if err := l.Lock(); err != nil {
		t.Fatal(err)
	}
	_, err = l.Add(es...)
	l.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if heads, err := s.Heads(t.Context(), a.ID()); err != nil || heads[0] != es[0].Name {
		t.Fatalf("heads: %v, %v", heads, err)
	}
	if names, _ := fed(t, s, at); len(names) != 1 || names[0] != es[0].Name {
		t.Fatalf("%d entries arrived, want the one in the heads", len(names))
	}
}

// carry copies a file as others do.
func carry(from, to string) error {
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	return err
}
