package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/perdure/perdure/internal/disk"
)

// seenTable and copiesTable are what a witness holds.
const (
	seenTable   = "CREATE TABLE seen" + seenColumns
	copiesTable = "CREATE TABLE IF NOT EXISTS copies" + seenColumns // not in earlier versions
	seenColumns = " (agent BLOB PRIMARY KEY, seq INTEGER NOT NULL, heads BLOB NOT NULL, at INTEGER, store TEXT, " +
		"given INTEGER) WITHOUT ROWID"
)

// OpenWitness opens a witness, and makes the file if there is none. Store is where the agents are that it is told of.
// It refuses a file that is damaged: one that has forgotten what it saw would let an older copy do again what was done.
// One that cannot be written, for the disk is full or read-only, can be asked, and Fault says why.
func OpenWitness(path, store string) (*Witness, error) {
	c, err := writeWitness(path)
	switch {
	case err == nil:
		return &Witness{c: c, path: path, store: store, fresh: map[about]Sighting{}}, nil
	case forgot(err):
		return nil, err
	}
	w, lookErr := LookWitness(path)
	if lookErr != nil {
		return nil, err
	}
	w.store, w.fresh, w.looks, w.blind, w.err, w.tried = store, map[about]Sighting{}, false, true, err,
		time.Now()
	return w, nil
}

// writeWitness opens the file of a witness to write to it.
func writeWitness(path string) (*conn, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := createWitness(path); err != nil {
			return nil, fmt.Errorf("open witness: %w", err)
		}
	}
	if err := short(path); err != nil {
		return nil, witnessError(path, err)
	}
	c, err := dial(path, "rw", "busy_timeout=5000", "journal_mode=WAL", "synchronous=OFF")
	if err != nil {
		return nil, witnessError(path, err)
	}
	err = c.saw()
	for _, column := range []string{"at INTEGER", "store TEXT", "given INTEGER"} { // not in earlier versions
		if err != nil {
			break
		}
		if err = c.exec("ALTER TABLE seen ADD COLUMN " + column); err != nil &&
			strings.Contains(err.Error(), "duplicate column") {
			err = nil
		}
	}
	if err == nil {
		err = c.exec(copiesTable)
	}
	if err != nil {
		return nil, witnessError(path, errors.Join(err, c.close()))
	}
	return c, nil
}

// createWitness makes a witness that has seen nothing, whole or not at all. It is no error when another process was
// first.
func createWitness(path string) error {
	temp := fmt.Sprintf("%s.new-%08x", path, rand.Uint32())
	defer func() {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			_ = disk.Remove(temp + suffix)
		}
	}()
	if err := reserve(temp); err != nil {
		return err
	}
	c, err := dial(temp, "rw", "journal_mode=WAL", "synchronous=OFF")
	if err != nil {
		return err
	}
	if err := errors.Join(c.exec(seenTable), c.exec(copiesTable), c.fold(), c.close()); err != nil {
		return err
	}
	if err := place(temp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// errForgot says that a witness is not what was written.
var errForgot = errors.New("it was cut off or overwritten")

// short refuses what is no file, and a file that has not even a first page, or ends in the middle of one that no log
// has.
func short(path string) error {
	info, err := os.Stat(path)
	if err == nil {
		err = disk.Regular(path, info)
	}
	if err == nil && (info.Size() < pageSize || info.Size()%pageSize != 0 && !logged(path)) {
		err = errForgot
	}
	return err
}

// saw refuses a file that is no witness.
func (c *conn) saw() error {
	_, there, err := c.number("SELECT 1 FROM sqlite_schema WHERE type='table' AND name='seen'")
	if err == nil && !there {
		err = errForgot
	}
	if err == nil {
		_, _, err = c.number("SELECT seq FROM seen LIMIT 1") // its first page may be cut off
	}
	return err
}

// LookWitness opens a witness to ask it, and changes nothing. One that is not there has seen nothing.
func LookWitness(path string) (*Witness, error) {
	w := &Witness{path: path, looks: true}
	err := short(path)
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil
	}
	if err == nil {
		err = w.look()
	}
	if err != nil {
		return nil, witnessError(path, err)
	}
	return w, nil
}

// look opens the file to be asked only.
func (w *Witness) look() (err error) {
	if w.c, err = (&Store{path: w.path, looks: true}).dialReader(); err != nil {
		return err
	}
	if err = w.c.saw(); err != nil {
		err = errors.Join(err, w.c.close())
		w.c = nil
	}
	return err
}

// lookAgain opens the file again if it was made, or has changed although it was taken not to.
func (w *Witness) lookAgain() error {
	if w.c != nil && !w.c.stale() {
		return nil
	}
	if w.c != nil {
		_, w.c = w.c.close(), nil // it only read
	}
	if _, err := os.Stat(w.path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := w.look(); err != nil {
		return witnessError(w.path, err)
	}
	return nil
}

// WitnessDamage says what is wrong with the file of a witness; nil: nothing, or there is none. It changes nothing.
func WitnessDamage(path string) error {
	w, err := LookWitness(path)
	if err != nil || w.c == nil {
		return err
	}
	err = w.c.query("PRAGMA integrity_check(1)", func(v []driver.Value) error {
		if text, _ := v[0].(string); text != "ok" {
			return fmt.Errorf("%w: %s", errForgot, text)
		}
		return nil
	})
	if err == nil {
		err = w.rows(about{}, "", func(Sighting) {})
	}
	if err == nil {
		err = w.rows(about{copied: true}, "", func(Sighting) {})
	}
	if err = errors.Join(err, w.Close()); err != nil {
		return witnessError(path, err)
	}
	return nil
}

// PutAside gives the file of a witness, and what lies beside it, another name, which it returns. Nobody may use it.
func PutAside(path string) (string, error) {
	to := aside(path)
	for _, suffix := range []string{"-wal", "-shm", ""} {
		if err := disk.Rename(path+suffix, to+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return to, err
		}
	}
	return to, nil
}

// forgot reports whether the file of a witness is damaged.
func forgot(err error) bool {
	c := code(err)
	return c == sqlite3.SQLITE_CORRUPT || c == sqlite3.SQLITE_NOTADB || errors.Is(err, errForgot)
}

func witnessError(path string, err error) error {
	if forgot(err) {
		return fmt.Errorf("%s, which says how far agents had come, cannot be read, so that an older copy would not "+
			"be noticed: "+
			"run `perdure doctor --repair`, which makes it anew from the store: %w", path, err)
	}
	return fmt.Errorf("open witness: %w", err)
}
