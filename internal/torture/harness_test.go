package torture

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// newDisk is a disk over a folder of the test's own.
func newDisk(t *testing.T) *Disk {
	t.Helper()
	d, err := NewDisk(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d.Quick = true
	return d
}

// explore writes every state the trace can leave behind to a folder, checks it, and returns how many there were and what was found wrong.
func explore(t *testing.T, trace Trace, check func(dir string, c Crash) error) (states int, found []string) {
	t.Helper()
	type job struct {
		dir string
		c   Crash
	}
	jobs := make(chan job)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for j := range jobs {
				if err := check(j.dir, j.c); err != nil {
					mu.Lock()
					found = append(found, fmt.Sprintf("cut %d (after %v), %s, %d marks: %v", j.c.Cut, trace[max(j.c.Cut-1, 0)], j.c.Why, j.c.Marks, err))
					mu.Unlock()
				}
				os.RemoveAll(j.dir)
			}
		})
	}
	root := t.TempDir()
	for c := range trace.Crashes(seed()) {
		dir := filepath.Join(root, fmt.Sprint(states))
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := c.WriteTo(dir); err != nil {
			t.Fatal(err)
		}
		c.Files = nil
		jobs <- job{dir, c}
		states++
	}
	close(jobs)
	wg.Wait()
	return states, found
}

func seed() uint64 { return 1 }
