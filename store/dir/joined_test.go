package dir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/internal/disk"
)

// fullDisk is a disk with room for so many writes and syncs of the files of agents.
type fullDisk struct {
	disk.System
	left *int
}

type fullFile struct {
	disk.File
	left *int
}

var errFull = errors.New("the disk is full")

func (d fullDisk) Open(path string, flag int, open func() (*os.File, error)) (disk.File, error) {
	f, err := d.System.Open(path, flag, open)
	if err != nil || strings.Contains(path, indexDir) {
		return f, err
	}
	return fullFile{f, d.left}, nil
}

func (f fullFile) room() error {
	if *f.left--; *f.left < 0 {
		return errFull
	}
	return nil
}

func (f fullFile) Write(b []byte) (int, error) {
	if err := f.room(); err != nil {
		return 0, err
	}
	return f.File.Write(b)
}

func (f fullFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.room(); err != nil {
		return 0, err
	}
	return f.File.WriteAt(b, at)
}

func (f fullFile) Sync() error {
	if err := f.room(); err != nil {
		return err
	}
	return f.File.Sync()
}

// A copy of many bytes that was dropped in joins the agent as a whole, or not at all, wherever the disk gives out.
func TestALargeCopyIsMergedAsAWhole(t *testing.T) {
	defer func(was int) { atOnce = was }(atOnce)
	atOnce = 64 << 10
	w, v := newAuthor(), newAuthor()
	g, a := w.genesis("Large")
	trunk, a1 := w.commit(a, "trunk")
	var right []*perdure.Entry
	large := must(perdure.DataOf(strings.Repeat("0123456789abcdef", 1<<11)))
	for next := a1; len(right) < 5; {
		es, n, err := v.Commit(next, began, perdure.Draft{Body: perdure.Event{Name: "large", Data: large}})
		if err != nil {
			t.Fatal(err)
		}
		right, next = append(right, es...), n
	}
	there := t.TempDir()
	two := open(t, there)
	put(t, two, g.ID(), append(append([]*perdure.Entry{g}, trunk...), right...)...)
	name := capsule.FileName("Large", g.ID())
	copied := must(os.ReadFile(filepath.Join(there, name)))
	for room := 0; ; room++ {
		here := t.TempDir()
		one := open(t, here)
		put(t, one, g.ID(), append([]*perdure.Entry{g}, trunk...)...)
		if err := os.WriteFile(filepath.Join(here, "copy.agent"), copied, 0o600); err != nil {
			t.Fatal(err)
		}
		left := room
		undo := disk.Replace(here, fullDisk{left: &left})
		late, err := Open(here, Options{})
		if err == nil {
			_ = late.Faults()
			err = late.Close()
		}
		undo()
		_ = err // what matters is what is there
		done := left >= 0
		if err := os.Remove(filepath.Join(here, "copy.agent")); done == (err == nil) {
			t.Errorf("with room for %d writes: done %v, and to remove the copy: %v", room, done, err)
		}
		f, err := perdure.Load(t.Context(), open(t, here), g.ID())
		if err != nil {
			t.Fatalf("with room for %d writes: %v", room, err)
		}
		if n := f.Fold().Count; n != 2 && n != 7 || done && n != 7 {
			t.Errorf("with room for %d writes the agent has %d entries, want 2 or 7", room, n)
		}
		if done {
			break
		}
	}
}

// A copy that parted before the agent's past was collected would keep it from being folded: it is left alone, also
// where nobody is trusted.
func TestACopyThatCannotBeFoldedIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := t.TempDir(), t.TempDir()
		one := open(t, here)
		n := &perdure.Node{Store: one, Key: newAuthor().Signer}
		a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "Old", Goal: "be kept",
			TTL: time.Hour.Milliseconds()},
			Charter: perdure.Charter{Scope: "acme"}})
		if err != nil {
			t.Fatal(err)
		}
		tell := func(n *perdure.Node, name string) {
			if _, err := n.Tell(t.Context(), a.ID(), perdure.Event{Name: name}); err != nil {
				t.Fatal(err)
			}
		}
		tell(n, "before")
		name := capsule.FileName("Old", a.ID())
		if err := os.WriteFile(filepath.Join(there, name), must(os.ReadFile(filepath.Join(here, name))),
			0o600); err != nil {
			t.Fatal(err)
		}
		two := open(t, there)
		tell(&perdure.Node{Store: two, Key: n.Key}, "elsewhere")
		tell(n, "after")
		time.Sleep(2 * time.Hour)
		if c, err := n.Collect(t.Context(), a.ID()); err != nil || c.Entries == 0 {
			t.Fatalf("collected %+v, %v", c, err)
		}
		if err := os.WriteFile(filepath.Join(here, "copy.agent"), must(os.ReadFile(filepath.Join(there, name))),
			0o600); err != nil {
			t.Fatal(err)
		}
		late := open(t, here)
		if faults := late.Faults(); len(faults) != 1 {
			t.Errorf("files left alone: %v, want the copy", faults)
		}
		if _, err := perdure.Load(t.Context(), late, a.ID()); err != nil {
			t.Errorf("the agent cannot be folded any more: %v", err)
		}
	})
}
