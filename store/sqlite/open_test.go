package sqlite

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// filled makes a store with some agents and returns its path.
func filled(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store")
	s := openBench(t, path)
	key := newSigner(t)
	populate(t, s, 200, func(int) []*perdure.Entry {
		g, a := begin(t, key, "agent")
		es, _ := commit(t, key, a, draft(500))
		return append([]*perdure.Entry{g}, es...)
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// alter changes a closed store behind its back.
func alter(t *testing.T, path, text string) {
	t.Helper()
	c, err := dial(path, "rwc")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.exec(text), c.close()); err != nil {
		t.Fatal(err)
	}
}

func TestOpenRefusesWhatItCannotReadAndLeavesIt(t *testing.T) {
	for name, c := range map[string]struct {
		file func(t *testing.T) string
		want []string
	}{
		"much newer version": {func(t *testing.T) string {
			path := filled(t)
			alter(t, path, "PRAGMA user_version=8")
			if _, err := Rebuild(t.Context(), path); !errors.Is(err, ErrNewer) {
				t.Errorf("it is put together anew: %v", err)
			}
			return path
		}, []string{"written by a newer perdure", "version 8"}},
		"newer version": {func(t *testing.T) string {
			path := filled(t)
			alter(t, path, "PRAGMA user_version=8")
			return path
		}, []string{"version 8", "knows 7"}},
		"database of another program": {func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "other.db")
			alter(t, path, "CREATE TABLE accounts(id INTEGER PRIMARY KEY); INSERT INTO accounts VALUES(1)")
			return path
		}, []string{"another program", "choose another path"}},
		"no database": {func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "letter.txt")
			write(t, path, bytes.Repeat([]byte("Dear reader, this is not a database. "), 200))
			return path
		}, []string{"is not a store", "choose another path"}},
		"cut short": {func(t *testing.T) string {
			path := filled(t)
			write(t, path, read(t, path)[:40_000])
			return path
		}, []string{"is damaged", "restore it from a backup", "perdure doctor"}},
		"cut to nothing": {func(t *testing.T) string {
			path := filled(t)
			write(t, path, nil)
			return path
		}, []string{"is empty", "restore it from a backup"}},
		"header overwritten": {func(t *testing.T) string {
			path := filled(t)
			b := read(t, path)
			copy(b, make([]byte, 64))
			write(t, path, b)
			return path
		}, []string{"is not a store"}},
		"a folder": {func(t *testing.T) string { return t.TempDir() }, []string{"is a folder"}},
		"no such folder": {func(t *testing.T) string {
			return filepath.Join(t.TempDir(), "missing", "store")
		}, []string{"cannot be opened", "folder exists"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := c.file(t)
			before, _ := os.ReadFile(path)
			s, err := Open(t.Context(), path, Options{})
			if err == nil {
				_ = s.Close()
				t.Fatal("it was opened")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
				t.Error("the file was changed")
			}
			left, _ := filepath.Glob(path + "*" + tempMark + "*")
			if len(left) > 0 {
				t.Errorf("files left behind: %v", left)
			}
		})
	}
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestOpenOfReadOnlyFilesSaysWhatToDo(t *testing.T) {
	if os.Geteuid() == 0 { // nothing is read-only for root: be somebody else
		runAsNobody(t)
		return
	}
	path := filled(t)
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("open of a file that cannot be written: %v", err)
	}
	folder := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(folder, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), filepath.Join(folder, "store"), Options{}); err == nil {
		t.Error("a store was made in a folder that cannot be written")
	}
}

func TestExistingMakesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	if _, err := Open(t.Context(), path, Options{Existing: true}); !errors.Is(err, perdure.ErrNotFound) {
		t.Fatalf("open of a store that is not there: got %v, want ErrNotFound", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Fatal("it was made")
	}
}

func TestPathsMayHoldAnyCharacter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c#d%41&mode=memory")
	s := openBench(t, path)
	g, a := begin(t, newSigner(t), "x")
	if err := s.Append(t.Context(), a.ID(), nil, g); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
}

// TestFailedWritePoisons fills the disk under a store.
func TestFailedWritePoisons(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s := openBench(t, path)
	key := newSigner(t)
	g, a := begin(t, key, "x")
	if err := s.Append(t.Context(), a.ID(), nil, g); err != nil {
		t.Fatal(err)
	}
	err := s.submit(t.Context(), &request{apply: func(w *writer) error {
		pages, _, err := w.number("PRAGMA page_count")
		if err == nil {
			_, _, err = w.number("PRAGMA max_page_count=" + string('0'+byte(pages/10)) + string('0'+byte(pages%10)))
		}
		return err
	}})
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := 0
	for ; err == nil && acknowledged < 100; acknowledged++ {
		var es []*perdure.Entry
		es, a = commit(t, key, a, draft(3000))
		err = s.Append(t.Context(), a.ID(), es[0].Parents, es...)
	}
	acknowledged-- // the last was not
	if err == nil || !strings.Contains(err.Error(), "no space left") || !strings.Contains(err.Error(), "opened again") {
		t.Fatalf("append on a full disk: %v", err)
	}
	other, b := begin(t, key, "y")
	if err := s.Append(t.Context(), b.ID(), nil, other); err == nil || !strings.Contains(err.Error(), "opened again") {
		t.Fatalf("append after a write went wrong: got %v, want a refusal until the store is opened again", err)
	}
	if _, err := s.Claim(t.Context(), a.ID(), key.Key(), time.Minute); err == nil {
		t.Fatal("a claim was written after a write went wrong")
	}
	if got := count(t, s, a.ID()); got != acknowledged+1 {
		t.Fatalf("entries read after a write went wrong: %d, want %d", got, acknowledged+1)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) { // the new connection has room
		if err := s.Append(t.Context(), b.ID(), nil, other); err == nil {
			break
		} else if time.Now().After(end) {
			t.Fatalf("the store does not open the file again: %v", err)
		}
	}
	if got := count(t, s, a.ID()); got != acknowledged+1 {
		t.Fatalf("entries after it opened the file again: %d, want %d", got, acknowledged+1)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openBench(t, path)
	if got := count(t, s, a.ID()) + count(t, s, b.ID()); got != acknowledged+2 {
		t.Fatalf("entries after reopening: %d, want %d", got, acknowledged+2)
	}
	next, _ := begin(t, key, "z")
	if err := s.Append(t.Context(), next.ID(), nil, next); err != nil {
		t.Fatalf("append after reopening: %v", err)
	}
}

// count is how many entries an agent has in the store.
func count(t *testing.T, s *Store, id perdure.AgentID) int {
	t.Helper()
	n := 0
	for _, err := range s.Entries(context.Background(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

func TestChangedRowIsNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s := openBench(t, path)
	key := newSigner(t)
	g, a := begin(t, key, "x")
	es, _ := commit(t, key, a, draft(100), draft(100))
	if err := s.Put(t.Context(), a.ID(), append([]*perdure.Entry{g}, es...)...); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var data []byte
	c, err := dial(path, "rw")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := rowsOf(c, 1, "SELECT rid, data FROM log WHERE agent IS NOT NULL LIMIT 1")
	if err != nil {
		t.Fatal(err)
	}
	data = rows[0].append([]byte{0})
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	silent := 0
	for i := 1; i < len(data); i++ {
		changed := bytes.Clone(data)
		changed[i] ^= 1
		c, err := dial(path, "rw")
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(c.exec("UPDATE log SET data=? WHERE rid=?", changed, rows[0].rid),
			c.close()); err != nil {
			t.Fatal(err)
		}
		s := openBench(t, path)
		noticed := false
		for item, err := range s.Entries(t.Context(), a.ID(), 0) {
			noticed = noticed || err != nil || item.Signature != nil && !item.Signed()
		}
		if !noticed {
			silent++
			t.Errorf("byte %d of %d was changed and nobody noticed", i, len(data))
		}
		_ = s.Close()
		if silent > 5 {
			break
		}
	}
}
