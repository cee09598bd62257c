//go:build unix

package torture

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// newDisk is a disk over a folder of the test's own.
func newDisk(t *testing.T) *Disk {
	t.Helper()
	d, err := NewDisk(memoryDir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	d.Quick = true
	return d
}

// statesPerCut is about how many states there are for each operation.
const statesPerCut = 30

// explore writes states the trace can leave behind to a folder, checks them, and returns how many there were and what
// was found wrong. It looks at about so many of them.
func explore(t *testing.T, rng *rand.Rand, trace Trace, most int, check func(dir string, c Crash) error) (states int,
	found []string) {
	t.Helper()
	share := float64(most) / float64(statesPerCut*len(trace))
	root := memoryDir(t)
	for c := range trace.Crashes(rng, share) {
		dir := filepath.Join(root, fmt.Sprint(states))
		if err := errors.Join(os.Mkdir(dir, 0o755), c.WriteTo(dir)); err != nil {
			t.Fatal(err)
		}
		states++
		err := quickly(dir, func() error { return check(dir, c) })
		if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
			found = append(found, fmt.Sprintf("cut %d (after %v), %s, %d marks: %v", c.Cut, trace[max(c.Cut-1, 0)],
				c.Why, c.Marks, err))
		}
		if len(found) > 2 {
			break
		}
	}
	return states, found
}

// memoryDir is a folder in memory where the system has such a thing, else on disk.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "perdure-torture-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// closed closes something that closes without trouble.
func closed(t *testing.T, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// quickly calls f while nothing in a folder is synced.
func quickly(dir string, f func() error) error {
	d, err := NewDisk(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	d.Quick = true
	return f()
}
