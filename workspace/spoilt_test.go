package workspace_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/workspace"
)

func TestAnIndexIsThrownAwayOnlyIfItIsSpoilt(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), workspace.IndexFile)
	ix, err := workspace.OpenIndex(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	// Its log cannot be opened: nothing is wrong with the file itself.
	if err := os.Mkdir(path+"-wal", 0o700); err != nil {
		t.Fatal(err)
	}
	if ix, err := workspace.OpenIndex(t.Context(), path); err == nil {
		_ = ix.Close()
		t.Error("it was opened although its log is a folder: the file was made anew")
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("a file that may be whole was thrown away: %v", err)
	}
	if err := os.Remove(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("this is no database, and was never one: it is a text"), 0o600); err != nil {
		t.Fatal(err)
	}
	ix, err = workspace.OpenIndex(t.Context(), path)
	if err != nil {
		t.Fatalf("a spoilt one was not made anew: %v", err)
	}
	if err := ix.Close(); err != nil {
		t.Error(err)
	}
}

// A file that can be opened may be damaged further in. Who begins with it has it made anew, and so has a rebuild; who
// had it open is told which file it is, and what to do.
func TestAnIndexThatIsDamagedFurtherInIsMadeAnew(t *testing.T) {
	t.Parallel()
	store := stores["sqlite"](t)
	path := filepath.Join(t.TempDir(), workspace.IndexFile)
	key := signer(t, "ann")
	w := worldOf(t, store, key, path)
	for i := range 300 {
		w.write(w.Owner(), workspace.Draft{Path: fmt.Sprintf("notes/%d.md", i), Text: strings.Repeat("a walrus ", 200)})
	}
	for name, mend := range map[string]func(ix *workspace.Index) error{
		"begun":   func(ix *workspace.Index) error { return ix.Ready(t.Context(), store) },
		"rebuilt": func(ix *workspace.Index) error { return ix.Rebuild(t.Context(), store, nil) },
	} {
		if err := w.Index.Close(); err != nil {
			t.Fatal(err)
		}
		damage(t, path)
		w = worldOf(t, store, key, path)
		_, err := w.Owner().Write(t.Context(), workspace.Draft{Path: "notes/" + name, Text: name})
		if h := new(perdure.Hint); !errors.As(err, &h) || !strings.Contains(err.Error(), path) {
			t.Errorf("a write beside a damaged index: %v, want one that names the file, and what to do", err)
		}
		if err := mend(w.Index); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		w.write(w.Owner(), workspace.Draft{Path: "notes/" + name, Text: name})
		if got := len(w.find(w.Owner(), "walrus")); got == 0 {
			t.Errorf("%s: nothing is found", name)
		}
		if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v; want a file for its owner alone", name, info.Mode(), err)
		}
	}
}

// Two begin at once, and both see the damage: the second goes on with the file that the first has made.
func TestASpoiltIndexIsMadeAnewOnce(t *testing.T) {
	t.Parallel()
	store := stores["sqlite"](t)
	path := filepath.Join(t.TempDir(), workspace.IndexFile)
	key := signer(t, "ann")
	w := worldOf(t, store, key, path)
	for i := range 300 {
		w.write(w.Owner(), workspace.Draft{Path: fmt.Sprintf("notes/%d.md", i), Text: strings.Repeat("a walrus ", 200)})
	}
	if err := w.Index.Close(); err != nil {
		t.Fatal(err)
	}
	damage(t, path)
	one, two := worldOf(t, store, key, path), worldOf(t, store, key, path)
	other := worldOf(t, store, key, "")
	other.write(other.Owner(), workspace.Draft{Path: "notes/new.md", Text: "new"})
	if err := two.Index.Follow(t.Context(), store, nil); err == nil {
		t.Fatal("the damage is not seen")
	}
	if err := one.Index.Ready(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	made, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := two.Index.Ready(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if now, err := os.Stat(path); err != nil || !os.SameFile(made, now) {
		t.Errorf("the second has thrown away what the first made: %v", err)
	}
	one.write(one.Owner(), workspace.Draft{Path: "notes/one.md", Text: "a walrus"})
	if got := len(two.find(two.Owner(), "walrus")); got == 0 {
		t.Error("the second finds nothing")
	}
}

// Who opens an index while another process takes a spoilt one away, file by file, makes none in between.
func TestAnIndexIsMadeByOneProcessAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), workspace.IndexFile)
	lock, err := disk.OpenLocked(path + workspace.LockMark)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	ix, err := workspace.OpenIndex(t.Context(), path)
	if h := new(perdure.Hint); err == nil || !errors.As(err, &h) || h.Do != "try again" {
		t.Errorf("%v, want one that says to try again", err)
	}
	if err == nil {
		_ = ix.Close()
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was made: %v", err)
	}
}

// damage writes over the second half of a file.
func damage(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	from := info.Size() / 2 // what says how it is made is before that
	if _, err := f.WriteAt(bytes.Repeat([]byte("damage "), int(info.Size()-from)/len("damage ")), from); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
