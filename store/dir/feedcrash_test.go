package dir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// failing is a disk on which the n-th change of the order of arrival fails, and all that follow. What was not synced by
// then is lost.
type failing struct {
	disk.System
	mu     sync.Mutex
	left   int
	path   string
	synced []byte
	down   bool
}

var errDown = errors.New("the machine is down")

// step counts a change.
func (d *failing) step() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left--; d.left < 0 {
		d.down = true
		return errDown
	}
	return nil
}

// Open implements disk.Disk.
func (d *failing) Open(path string, flag int, open func() (*os.File, error)) (disk.File, error) {
	f, err := d.System.Open(path, flag, open)
	if err != nil || filepath.Base(path) != arrivalsName {
		return f, err
	}
	return &failingFile{f, d}, nil
}

type failingFile struct {
	disk.File
	d *failing
}

func (f *failingFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.d.step(); err != nil {
		_, _ = f.File.WriteAt(b[:len(b)/2], at) // half of it
		return len(b) / 2, err
	}
	return f.File.WriteAt(b, at)
}

func (f *failingFile) Truncate(n int64) error {
	if err := f.d.step(); err != nil {
		return err
	}
	return f.File.Truncate(n)
}

func (f *failingFile) Sync() error {
	if err := f.d.step(); err != nil {
		return err
	}
	b, err := os.ReadFile(f.d.path)
	f.d.synced = b
	return err
}

// crash leaves of the file what was synced.
func (d *failing) crash(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(d.path, d.synced, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestNoPositionIsGivenTwiceAfterACrash cuts the power at every change of the order of arrival, one after the other:
// what a reader has seen stays where it was, or the feed is another.
func TestNoPositionIsGivenTwiceAfterACrash(t *testing.T) {
	w := newAuthor()
	g, a := w.genesis("x")
	batches := [][]*perdure.Entry{{g}}
	for range 3 {
		var es []*perdure.Entry
		es, a = w.commit(a, "one", "two")
		batches = append(batches, es)
	}
	whole := false
	for n := 0; !whole && n < 100; n++ {
		dir := t.TempDir()
		d := &failing{left: n, path: filepath.Join(dir, indexDir, arrivalsName)}
		undo := disk.Replace(dir, d)
		s := open(t, dir)
		var feed perdure.Hash
		seen := map[perdure.Cursor]perdure.Hash{}
		read := func(s *Store) {
			id, _, err := s.FeedEnd(t.Context())
			if err != nil {
				if !strings.Contains(err.Error(), errDown.Error()) {
					t.Fatal(err)
				}
				return
			}
			if id != feed {
				feed, seen = id, map[perdure.Cursor]perdure.Hash{}
			}
			for item, err := range s.Feed(t.Context(), 0) {
				if err != nil {
					return
				}
				if was, ok := seen[item.Cursor]; ok && was != item.Name {
					t.Fatalf("cut at change %d: position %d was %s and is %s", n, item.Cursor, was.Short(),
						item.Name.Short())
				}
				seen[item.Cursor] = item.Name
			}
		}
		for _, es := range batches {
			put(t, s, a.ID(), es...)
			read(s)
			if d.down {
				break
			}
		}
		whole = !d.down
		undo()
		if d.down {
			d.crash(t)
		}
		again := open(t, dir) // another process, after the machine came back, and others are first
		for range 6 {
			g, b := w.genesis("other")
			put(t, again, b.ID(), g)
		}
		for _, es := range batches {
			put(t, again, a.ID(), es...)
			read(again)
		}
		if got, _ := fed(t, again, 0); len(got) != 13 {
			t.Fatalf("cut at change %d: %d entries arrive in the end, want 13", n, len(got))
		}
	}
	if !whole {
		t.Error("the changes never ended")
	}
}
