//go:build unix

package torture

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// openLog opens a table of numbers on a disk: the smallest thing that can lose something.
func openLog(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(1000)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	return db
}

// writeLog writes numbers to a table and marks each when it is committed.
func writeLog(t *testing.T, d *Disk, n int) {
	t.Helper()
	db := openLog(t, filepath.Join(d.Root(), "log.db"))
	defer closed(t, db)
	if _, err := db.Exec("CREATE TABLE log (n INTEGER PRIMARY KEY, pad BLOB)"); err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= n; i++ {
		if _, err := db.Exec("INSERT INTO log VALUES (?, randomblob(3000))", i); err != nil {
			t.Fatal(err)
		}
		if d.Mark() != i {
			t.Fatal("marks do not count from 1")
		}
		if i == n/2 {
			if _, err := db.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// checkLog says what of the acknowledged numbers is missing.
func checkLog(t *testing.T, dir string, acknowledged int) error {
	t.Helper()
	db := openLog(t, filepath.Join(dir, "log.db"))
	defer closed(t, db)
	var ok string
	if err := db.QueryRow("PRAGMA integrity_check").Scan(&ok); err != nil || ok != "ok" {
		return fmt.Errorf("integrity: %s %v", ok, err)
	}
	if acknowledged == 0 {
		return nil
	}
	var n, last int
	err := db.QueryRowContext(context.Background(), "SELECT count(*), max(n) FROM log").Scan(&n, &last)
	if err != nil || n < acknowledged || n != last {
		return fmt.Errorf("%d numbers, the last %d, %d acknowledged: %v", n, last, acknowledged, err)
	}
	return nil
}

func exploreLog(t *testing.T, forget func(Op) bool) (states int, found []string) {
	t.Helper()
	d := newDisk(t)
	d.Forget = forget
	writeLog(t, d, 6)
	states, found = explore(t, rand.New(rand.NewPCG(seed(), 0)), d.Trace(), 300, func(dir string, c Crash) error {
		return checkLog(t, dir, c.Marks)
	})
	return states, found
}

func TestSQLiteAloneSurvivesEveryCut(t *testing.T) {
	t.Parallel()
	states, found := exploreLog(t, nil)
	t.Logf("%d states", states)
	if len(found) > 0 {
		t.Fatalf("states that lost something:\n%s", strings.Join(found, "\n"))
	}
}

func TestForgottenSyncIsNoticed(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(Op) bool{
		"log":    func(o Op) bool { return o.Kind == Sync && strings.HasSuffix(o.Path, "-wal") },
		"main":   func(o Op) bool { return o.Kind == Sync && strings.HasSuffix(o.Path, ".db") },
		"folder": func(o Op) bool { return o.Kind == SyncDir },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, found := exploreLog(t, forget); len(found) == 0 {
				t.Error("no state lost anything: the harness would not notice a missing sync")
			} else {
				t.Log(found[0])
			}
		})
	}
}
