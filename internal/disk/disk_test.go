package disk_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/disk"
)

// seen is a disk that notes what it was asked to sync.
type seen struct {
	disk.System
	paths []string
}

func (s *seen) Sync(path string, do func() error) error {
	s.paths = append(s.paths, path)
	return s.System.Sync(path, do)
}

func TestFilesGoThroughTheirSteps(t *testing.T) {
	dir := t.TempDir()
	a, b, c := filepath.Join(dir, "sub", "a"), filepath.Join(dir, "sub", "b"), filepath.Join(dir, "sub", "c")
	for i, err := range []error{
		disk.Mkdir(filepath.Dir(a), 0o700), disk.Write(a, []byte("x"), 0o600), disk.Sync(a), disk.Rename(a, b),
		disk.Link(b, c),
		disk.Remove(b), disk.Sync(filepath.Dir(a)),
	} {
		if err != nil {
			t.Errorf("step %d: %v", i, err)
		}
	}
	if got, err := os.ReadFile(c); string(got) != "x" {
		t.Errorf("got %q, %v, want x", got, err)
	}
	if err := disk.Write(c, nil, 0o600); !os.IsExist(err) {
		t.Errorf("writing over a file: %v, want that it exists", err)
	}
}

func TestAReplacedDiskHasItsFolderAndNoOther(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	s := new(seen)
	undo := disk.Replace(dir, s)
	inside := filepath.Join(dir, "file")
	for _, path := range []string{inside, dir + "-not"} {
		if err := disk.Write(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{dir, inside, dir + "-not", other} {
		if err := disk.Sync(path); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.paths) != 2 || s.paths[0] != dir || s.paths[1] != inside {
		t.Errorf("the disk of %s saw %v", dir, s.paths)
	}
	undo()
	if err := disk.Sync(inside); err != nil || len(s.paths) != 2 {
		t.Errorf("after undo the disk saw %v, %v", s.paths[2:], err)
	}
}
