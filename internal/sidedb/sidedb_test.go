package sidedb_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/perdure/perdure/internal/sidedb"
)

// Many processes begin files at once, as programs do that start one for each of several windows.
func TestManyBeginAFileAtOnce(t *testing.T) {
	const processes, files = 6, 100
	if dir := os.Getenv("SIDEDB"); dir != "" { // one of them
		for i := range files {
			path := filepath.Join(dir, fmt.Sprintf("what?%%23%d.db", i))
			db, err := sidedb.Open(t.Context(), path, "synchronous(NORMAL)")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.ExecContext(t.Context(), "CREATE TABLE IF NOT EXISTS t(a)"); err != nil {
				t.Error(err)
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		}
		return
	}
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	for range processes {
		all.Go(func() {
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestManyBeginAFileAtOnce$")
			c.Env = append(os.Environ(), "SIDEDB="+dir)
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	all.Wait()
	if found, err := filepath.Glob(filepath.Join(dir, "what[?]%23*.db")); len(found) != files {
		t.Errorf("there are %d files, want %d: %v", len(found), files, err)
	}
}

func TestWithoutAPathItIsInMemory(t *testing.T) {
	t.Parallel()
	db, err := sidedb.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE t(a)"); err != nil {
		t.Error(err)
	}
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM t").Scan(&n); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
