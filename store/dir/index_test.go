package dir

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// begun is a folder with agents of these names, closed again, and their ids.
func begun(t *testing.T, names ...string) (string, []perdure.AgentID) {
	t.Helper()
	folder := t.TempDir()
	s, err := Open(folder, Options{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := perdure.GenerateSigner("author")
	if err != nil {
		t.Fatal(err)
	}
	var ids []perdure.AgentID
	for _, name := range names {
		g, err := key.Genesis(perdure.Genesis{Intent: perdure.Intent{Name: name, Goal: "rest"},
			Charter: perdure.Charter{Scope: "acme"}}, time.Now())
		if err == nil {
			err = s.Append(t.Context(), g.ID(), nil, g)
		}
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, g.ID())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return folder, ids
}

// TestListingReadsNoFileThatIsAsItWas: what a writer left in the index is enough to list agents, and not enough to say
// what they did. The file is filled with something else behind the back of the index, which nobody could list who read
// it.
func TestListingReadsNoFileThatIsAsItWas(t *testing.T) {
	folder, ids := begun(t, "one")
	files, err := filepath.Glob(filepath.Join(folder, "*.agent"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	info, err := os.Stat(files[0])
	if err == nil {
		err = os.WriteFile(files[0], bytes.Repeat([]byte("x"), int(info.Size())), 0o600)
	}
	if err == nil {
		err = os.Chtimes(files[0], info.ModTime(), info.ModTime())
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(folder, Options{Look: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	n := 0
	for l, err := range s.List(t.Context(), perdure.Filter{}) {
		if err != nil || l.Name != "one" {
			t.Fatal(l, err)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d agents are listed, want 1", n)
	}
	if _, err := perdure.Load(t.Context(), s, ids[0]); err == nil {
		t.Error("the index stood for the file")
	}
}

// TestAnIndexThatNamesAnotherFileIsNotFollowed: whoever can write to the index must not have people act on another
// agent than the one they name.
func TestAnIndexThatNamesAnotherFileIsNotFollowed(t *testing.T) {
	folder, ids := begun(t, "harmless", "evil")
	j, err := openJournal(filepath.Join(folder, indexDir), false)
	if err != nil {
		t.Fatal(err)
	}
	x, y := j.rows[ids[0]], j.rows[ids[1]]
	x.Agent, y.Agent = y.Agent, x.Agent
	if err := j.write([]row{x, y}); err != nil {
		t.Fatal(err)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(folder, Options{Look: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for range s.List(t.Context(), perdure.Filter{}) { // has the store believe the index
		continue
	}
	if a, err := perdure.Load(t.Context(), s, ids[0]); !errors.Is(err, perdure.ErrNotFound) &&
		(err != nil || a.ID() != ids[0]) {
		t.Errorf("got %v, want the agent that was named, or none", err)
	}
}

// A backup has its name when it is complete, and the next one removes what a killed one left.
func TestABackupIsThereWhenItIsComplete(t *testing.T) {
	from, ids := begun(t, "one", "two")
	s := open(t, from)
	to := t.TempDir()
	path := filepath.Join(to, "copy")
	half := filepath.Join(to, "copy.new-00c0ffee")
	if err := os.Mkdir(half, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{filepath.Join(half, "x.agent"), path + ".perdure-part"} {
		if err := os.WriteFile(name, []byte("half of it"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(to)
	if err != nil || len(left) != 1 || left[0].Name() != "copy" {
		t.Errorf("left: %v, %v; want the backup alone", left, err)
	}
	copied := open(t, path)
	for _, id := range ids {
		if _, err := perdure.Load(t.Context(), copied, id); err != nil {
			t.Error(err)
		}
	}
	if err := s.Backup(t.Context(), path); err == nil {
		t.Error("a backup was overwritten")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Backup(ctx, filepath.Join(to, "none")); err == nil {
		t.Error("a backup that was stopped went well")
	}
	if left, err = os.ReadDir(to); err != nil || len(left) != 1 {
		t.Errorf("left of a backup that was stopped: %v, %v", left, err)
	}
}

// TestABackupHasNoHalfOfAnEntry: whoever only looks cannot keep others from writing meanwhile, and nobody waits for one
// that was stopped in the middle of a write.
func TestABackupHasNoHalfOfAnEntry(t *testing.T) {
	for _, looks := range []bool{true, false} {
		l := newLong(t, false)
		file := l.file("*.agent")
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = f.Write(whole[len(whole)-300 : len(whole)-100]) // as much of an entry as was written by now
		}
		if err != nil {
			t.Fatal(err)
		}
		s := l.open(Options{Look: looks})
		to := filepath.Join(t.TempDir(), "backup")
		if err := s.Backup(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		l.close(s)
		got, err := os.ReadFile(filepath.Join(to, filepath.Base(file)))
		if err != nil || !bytes.Equal(got, whole) {
			t.Errorf("looks %v: %d bytes, want the %d that are whole; %v", looks, len(got), len(whole), err)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	}
}
