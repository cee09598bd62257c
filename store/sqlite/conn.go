package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	engine "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// conn is one connection to the file, with the statements it has prepared. One goroutine uses it at a time.
type conn struct {
	path   string
	c      driver.Conn
	stmts  map[string]driver.Stmt
	still  fs.FileInfo // of the file when it was opened as one that nobody changes; nil: it was not
	log    fs.FileInfo // the same of its log, if it has one
	wreck  *wreck      // the agent that was last looked for page by page
	strays *strays     // of the agent that wrote last
	work   int64       // queries and the rows they yielded

	refused map[question]refusal
}

// dial opens a connection. It makes the file only when mode is rwc.
func dial(path, mode string, pragmas ...string) (*conn, error) {
	name := "file:" + (&url.URL{Path: path}).EscapedPath() + "?mode=" + mode
	c, err := new(engine.Driver).Open(name)
	if err != nil {
		return nil, explain(path, err)
	}
	out := &conn{path: path, c: c, stmts: map[string]driver.Stmt{}}
	for _, p := range pragmas {
		if err := out.exec("PRAGMA " + p); err != nil {
			return nil, errors.Join(err, out.close())
		}
	}
	return out, nil
}

func (c *conn) close() error {
	var errs []error
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.c.Close())...)
}

// prepared returns the statement for a text. Texts are constants, so there are few.
func (c *conn) prepared(text string) (driver.Stmt, error) {
	if s := c.stmts[text]; s != nil {
		return s, nil
	}
	s, err := c.c.Prepare(text)
	if err != nil {
		return nil, err
	}
	c.stmts[text] = s
	return s, nil
}

// exec runs a statement.
func (c *conn) exec(text string, args ...driver.Value) error {
	_, err := c.run(text, args)
	return err
}

// changes runs a statement and returns how many rows it changed.
func (c *conn) changes(text string, args ...driver.Value) (int64, error) {
	r, err := c.run(text, args)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

func (c *conn) run(text string, args []driver.Value) (r driver.Result, err error) {
	s, err := c.prepared(text)
	if err == nil {
		r, err = s.Exec(args) //nolint:staticcheck // contexts are looked at between statements, each of which is short
	}
	return r, explain(c.path, err)
}

// rollback ends a transaction that failed, unless SQLite has ended it by itself, as it does where the file is damaged
// or the disk full.
func (c *conn) rollback() error {
	err := c.exec("ROLLBACK")
	if err != nil && strings.Contains(err.Error(), "no transaction is active") {
		return nil
	}
	return err
}

// query calls f with each row of a result. The values are its own to keep; the slice of them is not.
func (c *conn) query(text string, f func(v []driver.Value) error, args ...driver.Value) error {
	s, err := c.prepared(text)
	if err != nil {
		return explain(c.path, err)
	}
	return c.rows(s, f, args)
}

// once is query for a text that is not a constant.
func (c *conn) once(text string, f func(v []driver.Value) error, args ...driver.Value) error {
	s, err := c.c.Prepare(text)
	if err != nil {
		return explain(c.path, err)
	}
	return errors.Join(c.rows(s, f, args), s.Close())
}

func (c *conn) rows(s driver.Stmt, f func(v []driver.Value) error, args []driver.Value) error {
	c.work++
	rows, err := s.Query(args) //nolint:staticcheck // see exec
	if err != nil {
		return explain(c.path, err)
	}
	v := make([]driver.Value, len(rows.Columns()))
	for err == nil {
		if err = rows.Next(v); err == io.EOF {
			return explain(c.path, rows.Close())
		} else if err != nil {
			err = explain(c.path, err)
		} else {
			c.work++
			err = f(v)
		}
	}
	return errors.Join(err, rows.Close())
}

// number returns the one number a query yields, and whether it yields any.
func (c *conn) number(text string, args ...driver.Value) (n int64, found bool, err error) {
	err = c.query(text, func(v []driver.Value) error {
		n, found = v[0].(int64)
		return nil
	}, args...)
	return n, found, err
}

// dataVersion changes whenever the file does, also by this connection, as far as the connection has looked.
func (c *conn) dataVersion() (uint32, error) {
	v, err := c.c.(engine.FileControl).FileControlDataVersion("main")
	return v, explain(c.path, err)
}

// code is the primary result code of an error of SQLite, or zero.
func code(err error) int {
	if err == nil { // the usual: what follows costs more than a look
		return 0
	}
	var e *engine.Error
	if errors.As(err, &e) {
		return e.Code() & 0xff
	}
	return 0
}

// busy reports whether another process holds a lock that it will give up.
func busy(err error) bool {
	return code(err) == sqlite3.SQLITE_BUSY || code(err) == sqlite3.SQLITE_LOCKED
}

// corrupt reports whether a page that was read is damaged.
func corrupt(err error) bool { return code(err) == sqlite3.SQLITE_CORRUPT }

// fixed says that the file is on a disk that can only be read, which no right changes. The file is not opened for that:
// to close it again would free the locks that others of this process have.
func fixed(path string) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".perdure-*")
	if err == nil {
		err = errors.Join(f.Close(), disk.Remove(f.Name()))
	}
	if errors.Is(err, syscall.EROFS) {
		return err
	}
	return nil
}

// explain says what an error of SQLite means for the store at path, and what to do.
func explain(path string, err error) error {
	if err == nil {
		return nil
	}
	switch code(err) {
	case sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%s is not a store: it was left as it is; choose another path or, if it was one, run "+
			"`perdure doctor --repair`: %w", path, err)
	case sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%s is damaged: run `perdure doctor --repair`, or restore it from a backup: %w", path, err)
	case sqlite3.SQLITE_FULL:
		return noSpace(path, err)
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		if why := fixed(path); why != nil {
			return fmt.Errorf("%s cannot be written: %w", path, errors.Join(why, err))
		}
		return fmt.Errorf("%s cannot be written: %w: %w", path, fs.ErrPermission, err)
	case sqlite3.SQLITE_CANTOPEN:
		if why := fixed(path); why != nil {
			return fmt.Errorf("%s cannot be written: %w", path, errors.Join(why, err))
		}
		return fmt.Errorf("%s cannot be opened: look whether its folder exists and this user may write there: %w", path,
			err)
	case sqlite3.SQLITE_IOERR:
		var e *engine.Error
		if errors.As(err, &e) && e.Code() == sqlite3.SQLITE_IOERR_SHMSIZE {
			return noSpace(path, err)
		}
		return fmt.Errorf("the disk under %s reports errors: look at the system's log, then open it again: %w", path,
			err)
	}
	return err
}

// noSpace is an error of a store for which there is no room. Nothing is wrong with what it holds, so its hint keeps
// whoever reads it from putting an older copy in its place.
func noSpace(path string, err error) error {
	return perdure.WithHint(fmt.Errorf("%w for %s: make room: %w", syscall.ENOSPC, path, err),
		"make room on that disk, and repeat the command: nothing is lost")
}
