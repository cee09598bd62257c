package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// Place implements perdure.Placed.
func (s *Store) Place(ctx context.Context) (at perdure.Place, err error) {
	if err := s.usable(ctx); err != nil {
		return at, err
	}
	return Place(s.path, s.looks)
}

// Place is the place of the store in a file, whether it is there yet or not. What tells the store from its copies is
// another file beside it, FILE-place: it survives a repair of FILE, and a copy of it is another. A store that has
// agents and no such file is a copy, too, such as a backup. Where there is none and nothing is to be written, the id is
// zero.
func Place(path string, look bool) (at perdure.Place, err error) {
	at.ID, at.CopyOf, err = disk.Place[perdure.Hash](PlaceFile(path), 0o600, look, func() (bool, error) {
		return hasAgents(path)
	})
	at.Found = len(at.CopyOf) > 0
	return at, err
}

// found gives a store that was made just now its place: what comes into it from now on was not copied with it.
func found(path string) error {
	_, err := Place(path, false)
	return err
}

// PlaceFile is the file that tells a store from its copies.
func PlaceFile(path string) string { return path + "-place" }

// hasAgents reports whether there are agents in a file, or may be: it is damaged.
func hasAgents(path string) (bool, error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	c, err := dial(path, "ro")
	if err != nil {
		return false, err
	}
	var there bool
	err = retry(func() (err error) {
		_, there, err = c.number("SELECT 1 FROM agents LIMIT 1")
		return err
	})
	switch code(err) {
	case 0:
		return there, errors.Join(err, c.close())
	case sqlite3.SQLITE_ERROR: // it has no tables yet
		return false, c.close()
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return false, errors.Join(err, c.close())
	}
	return true, c.close() // it is damaged
}
