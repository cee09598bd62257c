package disk_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/disk"
)

func TestAFileIsWrittenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	put := func(text string, fails error) error {
		return disk.WriteWhole(name, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return errors.Join(err, fails)
		})
	}
	if err := put("one", nil); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := put("two", broken); !errors.Is(err, broken) {
		t.Errorf("got %v, want what went wrong", err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "one" {
		t.Errorf("the file has %q, %v; want what it had", b, err)
	}
	err := disk.WriteWhole(name, func(io.Writer) error { return put("other", nil) })
	if err == nil {
		t.Error("two writers of one file")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("%d files are left, %v; want one", len(left), err)
	}
}

// failing is a disk on which the n-th change goes wrong, and a written file then holds the half of what it should.
type failing struct {
	disk.System
	left int
}

var errBroken = errors.New("broken")

func (d *failing) fails() bool {
	d.left--
	return d.left == -1
}

func (d *failing) Open(_ string, flag int, open func() (*os.File, error)) (disk.File, error) {
	f, err := open()
	if err != nil {
		return nil, err
	}
	return &failingFile{f, d}, nil
}

func (d *failing) Sync(_ string, do func() error) error { return d.change(do) }

func (d *failing) Link(_, _ string, do func() error) error { return d.change(do) }

func (d *failing) change(do func() error) error {
	if d.fails() {
		return errBroken
	}
	return do()
}

type failingFile struct {
	*os.File
	d *failing
}

func (f *failingFile) Write(b []byte) (int, error) {
	if f.d.fails() {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, errBroken
	}
	return f.File.Write(b)
}

// TestANewFileIsWrittenWholeOrNotAtAll: whatever goes wrong on the way, nobody finds half of it afterwards.
func TestANewFileIsWrittenWholeOrNotAtAll(t *testing.T) {
	for n := range 4 {
		dir := t.TempDir()
		d := &failing{left: n}
		undo := disk.Replace(dir, d)
		name := filepath.Join(dir, "f")
		err := disk.WriteNew(name, []byte("all of it"), 0o600)
		undo()
		b, there := os.ReadFile(name)
		if there == nil && string(b) != "all of it" || err == nil && there != nil {
			t.Errorf("change %d went wrong: the file has %q, %v; and %v was returned", n, b, there, err)
		}
		if d.left >= 0 {
			t.Errorf("there is no change %d", n)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 1 {
			t.Errorf("change %d went wrong: %d files are left, %v; want the file or none", n, len(left), err)
		}
	}
	name := filepath.Join(t.TempDir(), "f")
	if err := disk.WriteNew(name, []byte("one"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := disk.WriteNew(name, []byte("two"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want that it exists", err)
	}
	if b, err := os.ReadFile(name); err != nil || string(b) != "one" {
		t.Errorf("the file has %q, %v; want what it had", b, err)
	}
}
