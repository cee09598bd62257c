// Package sidedb opens the small SQLite databases that a home keeps beside its store: the search index, and what is
// known of folders, of other places and of requests.
package sidedb

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"net/url"
	"strings"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// patience is how long another process is waited for that uses the file.
const patience = 15 * time.Second

// Open opens the database in a file, and makes an empty one if there is none; without a path it is in memory. Several
// processes may use one, and begin to at once: SQLite does not wait by itself for one that changes the journal of a new
// file, or mends what a killed one left. Pragmas are such as synchronous(FULL).
func Open(ctx context.Context, path string, pragmas ...string) (*sql.DB, error) {
	name := "file::memory:"
	if path != "" {
		name = "file:" + (&url.URL{Path: path}).EscapedPath() // ?, # and % mean something in the name of a database
	}
	all := append([]string{"busy_timeout(15000)", "journal_mode(WAL)"}, pragmas...)
	db, err := sql.Open("sqlite", name+"?_txlock=immediate&_pragma="+strings.Join(all, "&_pragma="))
	if err != nil {
		return nil, err
	}
	if path == "" {
		db.SetMaxOpenConns(1) // each connection would have a memory of its own
	}
	for begun := time.Now(); ; {
		err := db.PingContext(ctx)
		if err == nil {
			return db, nil
		}
		if ctx.Err() != nil || !busy(err) || time.Since(begun) > patience {
			return nil, errors.Join(err, db.Close())
		}
		time.Sleep(rand.N(20 * time.Millisecond))
	}
}

// busy reports whether another process kept a file from being used.
func busy(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	code := e.Code() & 0xff
	return code == sqlite3.SQLITE_BUSY || code == sqlite3.SQLITE_LOCKED
}

// Spoilt reports whether a file is no database that can be read.
func Spoilt(err error) bool {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return false
	}
	code := e.Code() & 0xff
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}
