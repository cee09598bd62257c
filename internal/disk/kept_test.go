package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// reader counts how often a file is read.
type reader struct {
	path string
	n    int
}

func (r *reader) read() (string, error) {
	r.n++
	b, err := os.ReadFile(r.path)
	return string(b), err
}

func TestAKeptFileIsReadAgainAsSoonAsItChanged(t *testing.T) {
	t.Parallel()
	long := time.Now().Add(-time.Hour)
	for _, c := range []struct {
		name   string
		change func(path string) error
		want   string
	}{
		{"written to in place, at the same length", func(p string) error {
			return os.WriteFile(p, []byte("two"), 0o600)
		}, "two"},
		{"written to, with its old time", func(p string) error {
			return errors.Join(os.WriteFile(p, []byte("two"), 0o600), os.Chtimes(p, long, long))
		}, "two"},
		{"replaced", func(p string) error {
			return errors.Join(os.WriteFile(p+".new", []byte("two"), 0o600), os.Chtimes(p+".new", long, long),
				os.Rename(p+".new", p))
		}, "two"},
		{"its mode changed", func(p string) error { return os.Chmod(p, 0o644) }, "one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := &reader{path: filepath.Join(t.TempDir(), "f")}
			if err := os.WriteFile(r.path, []byte("one"), 0o600); err != nil {
				t.Fatal(err)
			}
			var k Kept[string]
			settle(t, &k, r)
			if err := c.change(r.path); err != nil {
				t.Fatal(err)
			}
			before := r.n
			if got, err := k.Get(r.path, r.read); got != c.want || err != nil || r.n == before {
				t.Errorf("got %q, %v, %d more reads; want %q and a read", got, err, r.n-before, c.want)
			}
		})
	}
}

// settle waits until a file is kept.
func settle(t *testing.T, k *Kept[string], r *reader) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		before := r.n
		if got, err := k.Get(r.path, r.read); got != "one" || err != nil {
			t.Fatalf("got %q, %v", got, err)
		}
		if r.n == before {
			return
		}
		if time.Now().After(end) {
			t.Fatal("it is read again and again although nothing changes")
		}
	}
}

func TestAFileThatWasJustWrittenIsNotKept(t *testing.T) {
	r := &reader{path: filepath.Join(t.TempDir(), "f")}
	var k Kept[string]
	for _, text := range []string{"one", "two", "six"} { // within one tick, and of the same length
		if err := os.WriteFile(r.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := k.Get(r.path, r.read); got != text || err != nil {
			t.Errorf("got %q, %v; want %q", got, err, text)
		}
	}
}

func TestAKeptFileThatIsGoneIsGone(t *testing.T) {
	t.Parallel()
	r := &reader{path: filepath.Join(t.TempDir(), "f")}
	if err := os.WriteFile(r.path, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	var k Kept[string]
	settle(t, &k, r)
	if err := os.Remove(r.path); err != nil {
		t.Fatal(err)
	}
	if got, err := k.Get(r.path, r.read); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %q, %v; want that it does not exist", got, err)
	}
}
