package dir

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/storetest"
)

// long is a folder with one agent whose file is long enough to be indexed.
type long struct {
	t      *testing.T
	folder string
	key    *perdure.Signer
	a      *perdure.Agent
}

func newLong(t *testing.T, binary bool) *long {
	t.Helper()
	key, err := perdure.GenerateSigner("author")
	if err != nil {
		t.Fatal(err)
	}
	g, err := key.Genesis(perdure.Genesis{Intent: perdure.Intent{Name: "long", Goal: "grow"},
		Charter: perdure.Charter{Scope: "acme"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l := &long{t: t, folder: t.TempDir(), key: key}
	if l.a, err = perdure.Begin(g); err != nil {
		t.Fatal(err)
	}
	s := l.open(Options{Binary: binary})
	if err := s.Append(t.Context(), g.ID(), nil, g); err != nil {
		t.Fatal(err)
	}
	l.grow(s, 400)
	l.close(s)
	return l
}

func (l *long) open(o Options) *Store {
	l.t.Helper()
	s, err := Open(l.folder, o)
	if err != nil {
		l.t.Fatal(err)
	}
	return s
}

func (l *long) close(s *Store) {
	l.t.Helper()
	if err := s.Close(); err != nil {
		l.t.Fatal(err)
	}
}

func (l *long) grow(s *Store, n int) {
	l.t.Helper()
	for i := range n {
		data, err := perdure.DataOf(strings.Repeat(fmt.Sprint(i), 400))
		if err != nil {
			l.t.Fatal(err)
		}
		es, next, err := l.key.Commit(l.a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "grown", Data: data}})
		if err == nil {
			err = s.Append(l.t.Context(), l.a.ID(), l.a.Heads(), es...)
		}
		if err != nil {
			l.t.Fatal(err)
		}
		l.a = next
	}
}

// scanned is how many entries of the file a store has read to know what is in it.
func (l *long) scanned(s *Store) int64 {
	l.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.open[l.a.ID()]; h != nil {
		return h.Scanned()
	}
	return 0
}

// all reads the whole memory.
func (l *long) all(s *Store) {
	l.t.Helper()
	v, err := perdure.Verify(perdure.Memory(l.t.Context(), s, l.a.ID()), perdure.VerifyOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	if v.Entries != l.a.Fold().Seq+1 {
		l.t.Fatalf("%d entries, want %d", v.Entries, l.a.Fold().Seq+1)
	}
}

func (l *long) file(pattern string) string {
	l.t.Helper()
	found, err := filepath.Glob(filepath.Join(l.folder, pattern))
	if err != nil || len(found) != 1 {
		l.t.Fatal(pattern, found, err)
	}
	return found[0]
}

func TestALongFileIsReadOnce(t *testing.T) {
	t.Parallel()
	for _, binary := range []bool{false, true} {
		l := newLong(t, binary)
		s := l.open(Options{Look: true}) // what a writer left is enough for who looks
		if heads, err := s.Heads(t.Context(), l.a.ID()); err != nil || len(heads) != 1 || heads[0] != l.a.Heads()[0] {
			t.Fatal(heads, err)
		}
		if n := l.scanned(s); n != 0 {
			t.Errorf("looking at the heads read %d entries", n)
		}
		for line, err := range s.List(t.Context(), perdure.Filter{}) {
			if err != nil || line.Agent != l.a.ID() {
				t.Fatal(line, err)
			}
		}
		l.all(s)
		l.close(s)

		s = l.open(Options{})
		l.grow(s, 3)
		if n := l.scanned(s); n != 0 {
			t.Errorf("appending read %d entries", n)
		}
		l.close(s)
		s = l.open(Options{})
		l.all(s)
		if n := l.scanned(s); n > 3 {
			t.Errorf("opening the file read %d entries, 3 are new", n)
		}
		l.grow(s, 200)
		l.close(s)
		s = l.open(Options{})
		if l.all(s); l.scanned(s) > 100 {
			t.Errorf("what is kept of the file does not grow with it: %d entries were read", l.scanned(s))
		}
		l.close(s)
	}
}

func TestAWrongIndexOfAFileIsNotBelieved(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(l *long){
		"rows damaged": func(l *long) {
			path := l.file(".index/rows/*.rows")
			b, err := os.ReadFile(path)
			if err != nil {
				l.t.Fatal(err)
			}
			b[64*100+3] ^= 1
			b[64*50+40] ^= 1
			if err := os.WriteFile(path, b, 0o600); err != nil {
				l.t.Fatal(err)
			}
		},
		"rows cut": func(l *long) {
			if err := os.Truncate(l.file(".index/rows/*.rows"), 64*20); err != nil {
				l.t.Fatal(err)
			}
		},
		"tip damaged": func(l *long) {
			path := l.file(".index/rows/*.tip")
			b, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, bytes.Replace(b, []byte(`"count":`), []byte(`"count":1`), 1), 0o600)
			}
			if err != nil {
				l.t.Fatal(err)
			}
		},
		"gone": func(l *long) {
			if err := os.RemoveAll(filepath.Join(l.folder, ".index", "rows")); err != nil {
				l.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLong(t, false)
			l.t = t
			spoil(l)
			for _, look := range []bool{true, false} {
				s := l.open(Options{Look: look})
				l.all(s)
				l.close(s)
			}
			s := l.open(Options{})
			first := perdure.Hash(l.a.ID())
			if _, err := storetest.Prune(t.Context(), s, l.a.ID(), first); err != nil { // which needs every row
				t.Fatal(err)
			}
			l.grow(s, 2)
			l.close(s)
		})
	}
}

// TestAFileThatWasChangedIsReadAgain: a byte in the middle of a file that somebody wrote to is found by opening it.
func TestAFileThatWasChangedIsReadAgain(t *testing.T) {
	t.Parallel()
	l := newLong(t, false)
	path := l.file("*.agent")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s := l.open(Options{})
	defer l.close(s)
	if _, err := perdure.Verify(perdure.Memory(t.Context(), s, l.a.ID()), perdure.VerifyOptions{}); err == nil {
		t.Error("a damaged file verifies")
	}
}
