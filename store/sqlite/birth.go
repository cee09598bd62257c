package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/perdure/perdure"
)

// A memory without its first entry is nothing, and the rows of one page are those of many agents: one lost page took
// all of them that it had begun. So the first entry of each agent is kept twice, the second time whole and in a table
// of its own, which costs a row per agent and nothing per step. Nothing but Heal and Rebuild reads it. A long body is
// in a file of its own, and not kept twice.
//
// The table is derived. Whatever is wrong with it, nothing else is refused for that. Unborn says which copies are
// missing, and KeepBirths makes them anew.

// birthsTable is made in files that were made without it when the next agent is.
const birthsTable = "CREATE TABLE IF NOT EXISTS births(agent INTEGER PRIMARY KEY, entry BLOB NOT NULL)"

// birthsText is what SQLite keeps of birthsTable.
const birthsText = "CREATE TABLE births(agent INTEGER PRIMARY KEY, entry BLOB NOT NULL)"

// errNoBirths says that second copies cannot be written.
var errNoBirths = errors.New("the second copies of first entries cannot be written: run `perdure doctor --repair`")

// births are changes of the table that follow a commit. SQLite commits nothing more in a transaction that met a damaged
// page, so they have one of their own.
type births struct {
	keys    []int64
	entries []*perdure.Entry // nil: the copy is to go
	lost    bool             // the table cannot be written, and is left alone
}

func (b *births) note(key int64, e *perdure.Entry) {
	b.keys, b.entries = append(b.keys, key), append(b.entries, e)
}

// drop forgets changes whose transaction did not happen, or that were made.
func (b *births) drop() {
	clear(b.entries)
	b.keys, b.entries = b.keys[:0], b.entries[:0]
}

// keepBirth keeps the second copy of a first entry, once it is committed.
func (w *writer) keepBirth(key int64, genesis *perdure.Entry) {
	if hasBirth(genesis) {
		w.births.note(key, genesis)
	}
}

// dropBirth removes the second copy of an agent that is removed, once that is committed.
func (w *writer) dropBirth(key int64) { w.births.note(key, nil) }

// hasBirth reports whether an entry is one that is kept twice.
func hasBirth(e *perdure.Entry) bool {
	n := len(e.BodyBytes())
	return e.Kind == perdure.KindGenesis && n > 0 && n <= perdure.InlineBody
}

// birthsPatience is how long copies wait for other processes. Those that are not made are made by the next reindex.
const birthsPatience = 100 * time.Millisecond

// bear makes the changes that were noted. Nothing depends on them: what goes wrong is seen by Unborn.
func (w *writer) bear() {
	if len(w.births.keys) == 0 {
		return
	}
	defer w.births.drop()
	if w.births.lost || w.sync(false) != nil {
		return
	}
	if (patience{limit: birthsPatience}).wait(nil, func() error { return w.exec("BEGIN IMMEDIATE") }) != nil {
		return
	}
	version, err := w.dataVersion()
	alone := err == nil && version == w.version
	if err == nil {
		err = w.exec(birthsTable)
	}
	for i, key := range w.births.keys {
		if err == nil {
			err = w.writeBirth(key, w.births.entries[i])
		}
	}
	if err == nil {
		err = w.exec("COMMIT")
	}
	if err != nil {
		w.births.lost = ofTable(err)
		_ = w.rollback() // the next write says what is wrong with the file
	} else if alone {
		w.version, _ = w.dataVersion()
	}
}

// writeBirth writes one copy, or removes it.
func (w *writer) writeBirth(key int64, e *perdure.Entry) error {
	if e == nil {
		return w.exec("DELETE FROM births WHERE agent=?", key)
	}
	b, err := e.MarshalBinary()
	if err != nil {
		return err
	}
	return w.exec("INSERT OR REPLACE INTO births VALUES(?,?)", key, b)
}

// unbear removes the copy of a body that is to be gone, in the transaction that drops it.
func (w *writer) unbear(key int64) error {
	err := w.exec(birthsTable)
	if err == nil {
		err = w.writeBirth(key, nil)
	}
	return besideFile(err)
}

// besideFile is an error of the table as one that concerns the request alone.
func besideFile(err error) error {
	switch {
	case err == nil:
		return nil
	case ofTable(err):
		return errNoBirths
	}
	return brokenError{err}
}

// ofTable reports whether an error is one of a table, and not of the file or the disk.
func ofTable(err error) bool {
	switch code(err) {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH,
		sqlite3.SQLITE_SCHEMA:
		return true
	}
	return false
}

// birthOf is the second copy of the first entry of an agent, as it is kept; nil if there is none that can be read.
func (s *Store) birthOf(ctx context.Context, id perdure.AgentID) (found *perdure.Entry, err error) {
	err = s.read(ctx, func(c *conn) error {
		key, err := keyOf(c, id)
		if err != nil {
			return ignore(err, perdure.ErrNotFound)
		}
		return c.query("SELECT entry FROM births WHERE agent=?", func(v []driver.Value) error {
			b, _ := v[0].([]byte)
			found = born(b)
			return nil
		}, key)
	})
	if ofTable(err) { // damage elsewhere is met by what comes next
		return nil, nil
	}
	return found, err
}

// ignore is an error, unless it is one that does not matter.
func ignore(err, not error) error {
	if errors.Is(err, not) {
		return nil
	}
	return err
}

// born reads a first entry; nil if it is none that is whole.
func born(b []byte) *perdure.Entry {
	e, err := perdure.DecodeEntry(b, perdure.Limits{Bytes: 2 * perdure.MaxBody})
	if err != nil || !hasBirth(e) || e.Signature != nil && e.CheckSignature() != nil {
		return nil
	}
	return e
}
