package sqlite

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// Rebuilt is what a rebuild did.
type Rebuilt struct {
	Aside    string // the damaged file, as it was; its log is beside it
	Rows     int64  // taken over
	Born     int64  // agents whose first entries were found in their second copy
	Stranded int64  // rows of which it is not known whose they are
	Unnamed  bool   // the file could not say any more which store it is: it is a new one
	Words    int    // keys and policies that were damaged and could be restored
	Lowered  int    // agents of which nothing says any more whether all of them was there: they count as parts

	proven bool // an agent in it is one
}

// Damage says what is wrong with the file of a store or its log, nil if nothing is. It reads without locks, and changes
// nothing.
func Damage(ctx context.Context, path string) error {
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		return named(path, info)
	}
	c, err := (&Store{path: path, looks: true}).dialReader()
	if err != nil {
		return err
	}
	err = c.inspect()
	if err == nil {
		err = c.query("PRAGMA integrity_check(1)", func(v []driver.Value) error {
			if text, _ := v[0].(string); text != "ok" {
				return fmt.Errorf("%s is damaged: %s", path, text)
			}
			return ctx.Err()
		})
	}
	if err == nil {
		err = misplaced(c)
	}
	if err == nil {
		err = misnoted(c)
	}
	if err = errors.Join(err, c.close()); err != nil {
		return err
	}
	m, err := openImage(path)
	if err != nil {
		return err
	}
	n, err := m.unread()
	if err = errors.Join(err, m.close()); err == nil && n > 0 {
		err = fmt.Errorf("%s-wal is damaged: %d commits in it are not read", path, n)
	}
	return err
}

// misplaced says whether places, recent and mark do not say of every row, once, whose it is. They are derived, and a
// page of another table in the place of one of theirs is a sound page: only the rows tell. Nothing mends them in place,
// which could free pages of that other table.
func misplaced(c *conn) error {
	const text = `SELECT (SELECT count(*) FROM mark)<>1
		OR (SELECT rid FROM mark)>(SELECT coalesce(max(rid),0) FROM log)
		OR EXISTS (SELECT 1 FROM places WHERE rid>(SELECT rid FROM mark))
		OR EXISTS (SELECT 1 FROM recent WHERE rid>(SELECT rid FROM mark))
		OR EXISTS (SELECT 1 FROM recent r JOIN places p ON p.agent=r.agent AND p.rid=r.rid)
		OR EXISTS (SELECT 1 FROM log l WHERE l.agent IS NOT NULL AND l.rid<=(SELECT rid FROM mark)
			AND NOT EXISTS (SELECT 1 FROM places p WHERE p.agent=l.agent AND p.rid=l.rid)
			AND NOT EXISTS (SELECT 1 FROM recent r WHERE r.agent=l.agent AND r.rid=l.rid))`
	wrong, _, err := c.number(text)
	if err == nil && wrong != 0 {
		err = fmt.Errorf("%s is damaged: it does not say any more which rows are whose: run `perdure doctor "+
			"--repair` first", c.path)
	}
	return err
}

// misnoted says whether a row that is noted as one of the last is gone or another's.
func misnoted(c *conn) error {
	n, err := readNote(c)
	if err != nil || n == nil { // it is derived: without it nothing is missing
		return err
	}
	for i := 0; i < len(n.rows); i += 2 {
		_, there, err := c.number("SELECT 1 FROM log WHERE rid=? AND agent=?", n.rows[i+1], n.rows[i])
		if err != nil {
			return err
		}
		if !there {
			return fmt.Errorf("%s is damaged: row %d, one of the last, is gone: run `perdure doctor --repair`",
				c.path, n.rows[i+1])
		}
	}
	return nil
}

// unread counts the commits in the log after its first fault. What a crash leaves there has none: it was not committed.
func (m *image) unread() (n int, err error) {
	head := make([]byte, frameHead)
	for _, at := range m.beyond {
		if _, err := m.log.ReadAt(head, at-frameHead); err != nil {
			return 0, err
		}
		if string(head[4:8]) != "\x00\x00\x00\x00" {
			n++
		}
	}
	return n, nil
}

// Rebuild reads every row that is left in a damaged file and its log, without minding how they hang together, and puts
// a sound file with them in its place. The damaged one is kept. It refuses while anybody else uses the store. Whether
// the rows say what was written is another question: see Heal.
func Rebuild(ctx context.Context, path string) (r *Rebuilt, err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("rebuild %s: %w", path, err)
		}
	}()
	if err := Damage(ctx, path); errors.Is(err, ErrNewer) {
		return nil, err
	}
	m, err := openImage(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.close()) }() // after every connection: it drops their locks
	old, err := alone(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if old != nil {
			_ = old.close() // it only read, and may not be able to say more than that it is damaged
		}
	}()
	r = &Rebuilt{Aside: aside(path)}
	making, err := disk.Reserve(path) // and remove what others left that were killed
	if err != nil {
		return nil, err
	}
	defer func() { _ = making.Release() }() // it has its name, or is not wanted
	temp := making.Temp
	if err := create(temp); err != nil {
		return nil, err
	}
	if err := r.fill(ctx, m, old, temp); err != nil {
		return nil, err
	}
	if !r.proven && !m.ours() {
		return nil, errors.New("nothing in it is of a store: it was left as it is")
	}
	if err := m.copyTo(r.Aside); err != nil {
		return nil, err
	}
	if old != nil {
		_ = old.close() // see above
		old = nil
	}
	for _, suffix := range []string{"-wal", "-shm"} { // SQLite would take the old log for one of the new file
		if err := disk.Remove(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return r, errors.Join(disk.Rename(temp, path), disk.Sync(filepath.Dir(path)))
}

// aside is a name for a damaged file that no other has.
func aside(path string) string {
	name := path + ".damaged-" + time.Now().UTC().Format("20060102-150405")
	for n, free := 2, name; ; n++ {
		if _, err := os.Lstat(free); err != nil {
			return free
		}
		free = fmt.Sprintf("%s-%d", name, n)
	}
}

// alone opens a file that nobody else uses, and keeps others out until it is closed. It is nil for a file SQLite does
// not open.
func alone(path string) (*conn, error) {
	c, err := dial(path, "rw", "busy_timeout=0", "locking_mode=EXCLUSIVE")
	if err == nil {
		if err = c.exec("BEGIN IMMEDIATE"); err == nil {
			return c, nil
		}
	}
	if c != nil {
		_ = c.close()
	}
	if busy(err) {
		return nil, errors.New("others are using it: stop its nodes first")
	}
	return nil, nil //nolint:nilerr // whatever SQLite makes of a damaged file
}

// copyTo copies the file and its log durably.
func (m *image) copyTo(path string) error {
	parts := map[string]*os.File{path: m.file}
	if m.log != nil {
		parts[path+"-wal"] = m.log
	}
	for name, f := range parts {
		out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, io.NewSectionReader(f, 0, 1<<62))
		if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
			return err
		}
	}
	return disk.Sync(filepath.Dir(path))
}

// orphans are rows and entries that have no place: id is whose they are, empty if that is not known; agent is the key
// that the row had; data is a row, and entry an entry that was put together again; name is what the agent was called.
const orphans = "CREATE TABLE IF NOT EXISTS orphans(id BLOB NOT NULL, agent INTEGER, rid INTEGER, data BLOB, entry " +
	"BLOB, name TEXT)"

// known are the tables whose rows are found or derived. What else there is says which store it is, and is taken over as
// it stands.
var known = []string{"log", "places", "recent", "mark", "agents", "words", "snapshots", "blobs", "listings", "depths",
	"heads", "births", "behind", "unlisted"}

// fill writes all there is in an image into a fresh file.
func (r *Rebuilt) fill(ctx context.Context, m *image, old *conn, temp string) error {
	c, err := dial(temp, "rw", "synchronous=OFF", "journal_mode=WAL")
	if err != nil {
		return err
	}
	err = c.exec("BEGIN IMMEDIATE")
	if err == nil {
		err = c.exec(orphans)
	}
	if err == nil {
		err = (&filling{conn: c, r: r, ids: map[int64]bool{}, copies: map[int64][]perdure.Hash{},
			depths: map[int64]perdure.Depth{}, births: map[int64]*perdure.Entry{}}).run(ctx, m, intact(old, "depths"))
	}
	if err == nil {
		err = r.identity(old, c)
	}
	if err == nil {
		err = c.exec("COMMIT")
	}
	if err == nil {
		err = c.fold()
	}
	return errors.Join(err, c.close(), disk.Sync(temp))
}

// ours reports whether a file says that it is a store, or is what is left of a database that was cut off before it
// could say so.
func (m *image) ours() bool {
	b, err := m.page(1)
	if err == nil {
		return binary.BigEndian.Uint32(b[68:]) == applicationID
	}
	info, e := m.file.Stat()
	if !errors.Is(err, io.EOF) || e != nil {
		return false
	}
	n := int(min(info.Size(), pageSize))
	return strings.HasPrefix(magic, string(b[:min(n, len(magic))])) &&
		(n < 72 || binary.BigEndian.Uint32(b[68:]) == applicationID)
}

// magic is what every database begins with.
const magic = "SQLite format 3\x00"

// identity takes over what the old file says of itself, and what lay aside in it.
func (r *Rebuilt) identity(old, c *conn) error {
	if old == nil {
		r.Unnamed = true
		return nil
	}
	var tables []string
	err := old.query("SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite_%'",
		func(v []driver.Value) error {
			if name, _ := v[0].(string); !slices.Contains(known, name) {
				tables = append(tables, name)
			}
			return nil
		})
	for _, name := range tables {
		if err == nil {
			err = takeOver(old, c, name)
		}
	}
	r.Unnamed = code(err) != 0
	return nil
}

// takeOver puts the rows of a table in the place of those that a fresh file has in it.
func takeOver(old, c *conn, name string) error {
	quoted := `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
	if _, there, err := c.number("SELECT 1 FROM sqlite_schema WHERE type='table' AND name=?", name); err != nil ||
		!there {
		return err
	}
	var rows [][]driver.Value
	err := old.once("SELECT * FROM "+quoted, func(v []driver.Value) error {
		rows = append(rows, slices.Clone(v))
		return nil
	})
	if err != nil || len(rows) == 0 {
		return err
	}
	if name != "orphans" { // there may be more of these by now
		if err := c.exec("DELETE FROM " + quoted); err != nil {
			return err
		}
	}
	for _, v := range rows {
		if err := c.exec("INSERT INTO "+quoted+" VALUES(?"+strings.Repeat(",?", len(v)-1)+")", v...); err != nil {
			return err
		}
	}
	return nil
}
