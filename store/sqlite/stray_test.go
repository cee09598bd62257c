package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
)

// What a full disk cuts short leaves no long bodies behind: nothing refers to them, and they are what fills the disk.
func TestAFullDiskKeepsNoBodiesOfWhatItCutShort(t *testing.T) {
	t.Parallel()
	key := newSigner(t)
	g, a := begin(t, key, "arrives")
	es := []*perdure.Entry{g}
	for i := range 40 {
		var more []*perdure.Entry
		more, a = commit(t, key, a, draft([]int{perdure.InlineBody + 100, 20_000}[i%2]+i))
		es = append(es, more...)
	}
	all := func(yield func(*perdure.Entry, error) bool) {
		for _, e := range es {
			if !yield(e, nil) {
				return
			}
		}
	}
	ways := map[string]func(*Store) error{
		"put all": func(s *Store) error { return s.PutAll(t.Context(), a.ID(), all) },
		"replace": func(s *Store) error {
			return s.Replace(t.Context(), a.ID(), []perdure.Hash{g.Name}, perdure.Full, all)
		},
		"put": func(s *Store) error { return s.Put(t.Context(), a.ID(), es...) },
	}
	for name, write := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openBench(t, filepath.Join(t.TempDir(), "store"))
			if err := s.Put(t.Context(), a.ID(), g); err != nil {
				t.Fatal(err)
			}
			err := s.submit(t.Context(), &request{apply: func(w *writer) error {
				pages, _, err := w.number("PRAGMA page_count")
				if err == nil {
					_, _, err = w.number(fmt.Sprintf("PRAGMA max_page_count=%d", pages+2))
				}
				return err
			}})
			if err != nil {
				t.Fatal(err)
			}
			if err := write(s); err == nil {
				t.Fatal("the disk does not become full")
			}
			if files, _ := os.ReadDir(s.folder()); len(files) > 0 {
				t.Errorf("%d bodies are left that nothing refers to", len(files))
			}
			if err := write(s); err != nil { // once there is room again
				t.Errorf("what a full disk cut short is not made again: %v", err)
			}
		})
	}
}

// A program that was killed leaves the long bodies it had written: they are told of, and removed when it is asked for,
// and no other.
func TestBodiesThatNothingRefersToAreRemoved(t *testing.T) {
	t.Parallel()
	s := openBench(t, filepath.Join(t.TempDir(), "store"))
	key := newSigner(t)
	g, a := begin(t, key, "stays")
	es, _ := commit(t, key, a, draft(perdure.InlineBody+100))
	if err := s.Put(t.Context(), a.ID(), append([]*perdure.Entry{g}, es...)...); err != nil {
		t.Fatal(err)
	}
	stray := []byte("what a program that was killed had written")
	if err := writeBlob(s.path, perdure.HashOf(stray), stray); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Strays(t.Context(), false); n != int64(len(stray)) || err != nil {
		t.Errorf("%d bytes of strays, %v, want %d", n, err, len(stray))
	}
	if n, err := s.Strays(t.Context(), true); n != int64(len(stray)) || err != nil {
		t.Errorf("%d bytes of strays removed, %v, want %d", n, err, len(stray))
	}
	if n, err := s.Strays(t.Context(), false); n != 0 || err != nil {
		t.Errorf("%d bytes of strays, %v, after they were removed", n, err)
	}
	if !holdsAll(t.Context(), s, a.ID(), append([]*perdure.Entry{g}, es...)) {
		t.Error("a body is gone that an entry refers to")
	}
}
