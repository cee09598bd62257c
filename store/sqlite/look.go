package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/perdure/perdure"
)

// logIndex is the size of the smallest index of a log.
const logIndex = 32 << 10

// errLooks says that a store was opened to look at.
var errLooks = errors.New("the store was opened read-only")

// look opens a store without writing anything: not the file, and nothing beside it. It takes files that cannot be
// written, and those of earlier versions.
func look(ctx context.Context, path string, o Options) (*Store, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: make one first", perdure.ErrNotFound)
	}
	if err == nil {
		err = named(path, info)
	}
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	s := newStore(path, o)
	s.looks, s.watch.looks = true, true
	c, err := s.dialReader()
	if err == nil {
		err = errors.Join(retry(c.inspect), c.close())
	}
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	go func() {
		defer close(s.done)
		for r := range s.queue {
			r.err = errLooks
			close(r.done)
		}
	}()
	return s, nil
}

// logged reports whether there is anything in the write-ahead log of a file: somebody uses it, or was stopped while
// they did.
func logged(path string) bool {
	info, err := os.Stat(path + "-wal")
	return err == nil && info.Size() > 0
}

// stands are what stands in the place of what a file of the version of their index, counted from 1, lacks, for who only
// looks at it. What is temporary comes before what is in the file, and is in memory.
var stands = []string{
	"CREATE TEMP VIEW listings AS SELECT *, NULL AS waiting FROM main.listings",
	"CREATE TEMP TABLE depths(agent INTEGER PRIMARY KEY, depth TEXT NOT NULL)",
	"", // the table of heads is read only where there is one
	"CREATE TEMP VIEW mark AS SELECT rid, NULL AS tail FROM main.mark",
	"", // rows that leave no names out are read as they are
	"CREATE TEMP TABLE unlisted(agent INTEGER PRIMARY KEY)",
}

// reader opens a connection that reads a store of any version.
func (s *Store) reader() (*conn, error) {
	c, err := s.dialReader()
	if err != nil || !s.looks {
		return c, err
	}
	version, _, err := c.number("PRAGMA user_version")
	if err == nil && version < schemaVersion {
		err = c.exec("PRAGMA query_only=OFF")
		for v := max(version, 1); err == nil && v < schemaVersion; v++ {
			if stands[v-1] != "" {
				err = c.exec(stands[v-1])
			}
		}
		if err == nil {
			err = c.exec("PRAGMA query_only=ON")
		}
	}
	if err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// dialReader opens a connection that reads. For who only looks at a file without a log that is one that takes nothing
// to change: it needs no lock and no file beside it.
func (s *Store) dialReader() (*conn, error) {
	if !s.looks {
		return dial(s.path, "rw", readerPragmas...)
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return nil, err
	}
	if logged(s.path) {
		c, err := dial(s.path, "ro", readerPragmas...)
		if err == nil {
			if _, _, err = c.number("SELECT count(*) FROM sqlite_schema"); err == nil {
				return c, nil
			}
			err = errors.Join(err, c.close())
		}
		if code(err) == sqlite3.SQLITE_CANTOPEN || code(err) == sqlite3.SQLITE_IOERR {
			return s.dialLog(info, err)
		}
		return nil, err
	}
	c, err := dial(s.path, "ro&immutable=1", readerPragmas...)
	if err == nil {
		c.still = info
	}
	return c, err
}

// dialLog opens a file with a log where SQLite can make no index of the log, as in a copy on a medium that cannot be
// written or has no room: the index is in memory then. Nobody writes there, since they would need the same. Why is what
// the usual way says.
func (s *Store) dialLog(info fs.FileInfo, why error) (*conn, error) {
	log, err := os.Stat(s.path + "-wal")
	if shared, e := os.Stat(s.path + "-shm"); err != nil || e == nil && shared.Size() >= logIndex || e != nil &&
		!errors.Is(e, fs.ErrNotExist) {
		return nil, why
	}
	c, err := dial(s.path, "ro&vfs=unix-none", append([]string{"locking_mode=EXCLUSIVE"}, readerPragmas...)...)
	if err != nil {
		return nil, errors.Join(why, err)
	}
	c.still, c.log = info, log
	return c, nil
}

// stale reports whether a file that was taken not to change has changed.
func (c *conn) stale() bool {
	if c.still == nil {
		return false
	}
	if c.log != nil {
		return changed(c.path, c.still) || changed(c.path+"-wal", c.log)
	}
	return logged(c.path) || changed(c.path, c.still)
}

func changed(path string, was fs.FileInfo) bool {
	now, err := os.Stat(path)
	return err != nil || !os.SameFile(now, was) || now.Size() != was.Size() || !now.ModTime().Equal(was.ModTime())
}
