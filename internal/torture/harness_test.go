package torture

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
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

// explore writes every state the trace can leave behind to a folder, checks it, and returns how many there were and what was found wrong.
// With sabotage something is to be found, so it looks where that is likely, and one thing is enough.
func explore(t *testing.T, trace Trace, sabotage bool, check func(dir string, c Crash) error) (states int, found []string) {
	t.Helper()
	enough, marks := 10, testing.Short()
	if sabotage {
		enough, marks = 1, true
	}
	type job struct {
		dir string
		c   Crash
	}
	jobs := make(chan job)
	var mu sync.Mutex
	full := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(found) >= enough
	}
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for j := range jobs {
				err := quickly(j.dir, func() error { return check(j.dir, j.c) })
				if err = errors.Join(err, os.RemoveAll(j.dir)); err != nil {
					mu.Lock()
					found = append(found, fmt.Sprintf("cut %d (after %v), %s, %d marks: %v", j.c.Cut, trace[max(j.c.Cut-1, 0)], j.c.Why, j.c.Marks, err))
					mu.Unlock()
				}
			}
		})
	}
	root := memoryDir(t)
	for c := range trace.Crashes(seed(), marks) {
		dir := filepath.Join(root, fmt.Sprint(states))
		if full() {
			break
		}
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

// seed is where everything random comes from.
var seed = sync.OnceValue(func() uint64 {
	if s, err := strconv.ParseUint(os.Getenv("PERDURE_TORTURE_SEED"), 10, 64); err == nil {
		return s
	}
	return rand.Uint64()
})

// amount is an amount of work.
type amount struct {
	short int // under -short
	usual int
	long  int    // when PERDURE_TORTURE is long
	env   string // says otherwise, if set
}

func (a amount) of(t *testing.T) int {
	t.Helper()
	switch v := os.Getenv(a.env); {
	case a.env != "" && v != "":
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatalf("%s: %v", a.env, err)
		}
		return n
	case os.Getenv("PERDURE_TORTURE") == "long":
		return a.long
	case testing.Short():
		return a.short
	}
	return a.usual
}
