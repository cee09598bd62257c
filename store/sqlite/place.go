package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// Place implements perdure.Placed.
func (s *Store) Place(ctx context.Context) (at perdure.Place, err error) {
	if err := s.usable(ctx); err != nil {
		return at, err
	}
	return s.place(ctx, s.looks)
}

func (s *Store) place(ctx context.Context, look bool) (at perdure.Place, err error) {
	if at, err = Place(s.path, look); err != nil {
		return at, err
	}
	return at, s.read(ctx, func(c *conn) error {
		of, err := formerOf(c)
		at.CopyOf = append(at.CopyOf, of...)
		return err
	})
}

// Place is the place of the store in a file, whether it is there yet or not. What tells the store from its copies is
// another file beside it, FILE-place: it survives a repair of FILE, and a copy of it is another. Where there is none
// and nothing is to be written, the id is zero.
func Place(path string, look bool) (at perdure.Place, err error) {
	at.ID, at.CopyOf, err = disk.Place[perdure.Hash](PlaceFile(path), look)
	return at, err
}

// PlaceFile is the file that tells a store from its copies.
func PlaceFile(path string) string { return path + "-place" }

// former holds what a backup is a copy of: it is one file, without the one beside it.
const former = "CREATE TABLE IF NOT EXISTS former(place BLOB PRIMARY KEY) WITHOUT ROWID"

// setApart makes a copy a store of its own. It takes the id of the feed out: the store goes on with it, and the copy,
// once restored, would give the same positions to other entries. And it notes what it is a copy of: a seat that was
// handed over from there is not for the copy to take.
func (s *Store) setApart(ctx context.Context, path string) error {
	at, err := s.place(ctx, true)
	if err != nil {
		return err
	}
	c, err := dial(path, "rw")
	if err != nil {
		return err
	}
	err = errors.Join(endFeed(c), c.exec(former))
	for _, id := range append(at.CopyOf, at.ID) {
		if err == nil && !id.IsZero() {
			err = c.exec("INSERT OR IGNORE INTO former VALUES(?)", id[:])
		}
	}
	return errors.Join(err, c.close())
}

// formerOf are the stores that a restored copy was noted to be a copy of.
func formerOf(c *conn) (of []perdure.Hash, err error) {
	if _, there, err := c.number("SELECT 1 FROM sqlite_schema WHERE name='former'"); err != nil || !there {
		return nil, err
	}
	err = c.query("SELECT place FROM former", func(v []driver.Value) error {
		var h perdure.Hash
		if b, _ := v[0].([]byte); copy(h[:], b) == hashSize {
			of = append(of, h)
		}
		return nil
	})
	return of, err
}
