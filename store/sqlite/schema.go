package sqlite

import (
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// Version is the version of the files that this package writes.
const Version = schemaVersion

const (
	applicationID = 0x50726472 // "Prdr"
	schemaVersion = 7
	minSQLite     = 3_051_003 // earlier ones can corrupt the file when the write-ahead log begins anew
)

// schema is what a file of this version holds. Only log, agents.id, depths and words hold what cannot be derived.
//
//   - log is the entries in the order they arrived, one row for each call, see row. A row that does not fit well into
//     a page goes on in
//     the rows after it, which have no agent.
//   - places and recent say which rows are an agent's: places the earlier ones, recent the latest thousands of all
//     agents. The very last, after mark, are in neither: whoever looks for rows reads those few. See maxTail and
//     maxRecent. Beside mark is a note of whose they are, for when they cannot be read: see note.
//   - agents has when to look at each; while a node holds the agent, that is the end of its lease.
//   - depths has how much of a memory is there, of agents of which that is not all; its index is a second copy, for
//     Rebuild.
//   - unlisted has the agents whose listing is older than their entries: it is written with the entries.
//   - births has the first entry of each agent a second time, for Heal and Rebuild.
//   - words are the keys and policies that rows name by number.
const schema = `
CREATE TABLE log(rid INTEGER PRIMARY KEY, agent INTEGER, data BLOB NOT NULL);
CREATE TABLE places(agent INTEGER NOT NULL, rid INTEGER NOT NULL, PRIMARY KEY(agent, rid)) WITHOUT ROWID;
CREATE TABLE recent(agent INTEGER NOT NULL, rid INTEGER NOT NULL, PRIMARY KEY(agent, rid)) WITHOUT ROWID;
CREATE TABLE mark(rid INTEGER PRIMARY KEY, tail BLOB);
INSERT INTO mark(rid) VALUES(0);
CREATE TABLE agents(key INTEGER PRIMARY KEY, id BLOB NOT NULL, due INTEGER, node BLOB, fence INTEGER);
CREATE INDEX agents_id ON agents(substr(id,1,8));
CREATE INDEX agents_due ON agents(due) WHERE due IS NOT NULL;
CREATE TABLE words(number INTEGER PRIMARY KEY, value BLOB NOT NULL UNIQUE);
CREATE TABLE snapshots(agent INTEGER NOT NULL, cursor INTEGER NOT NULL, PRIMARY KEY(agent, cursor)) WITHOUT ROWID;
CREATE TABLE blobs(hash BLOB NOT NULL, cursor INTEGER NOT NULL, PRIMARY KEY(hash, cursor)) WITHOUT ROWID;
CREATE TABLE listings(agent INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT, scope TEXT NOT NULL, state INTEGER NOT NULL, labels TEXT,
	created INTEGER NOT NULL, updated INTEGER NOT NULL, due INTEGER, entries INTEGER NOT NULL, waiting INTEGER);
CREATE INDEX listings_name ON listings(name);
CREATE INDEX listings_waiting ON listings(name) WHERE waiting;
CREATE TABLE depths(agent INTEGER PRIMARY KEY, depth TEXT NOT NULL);
` + unlistedTable + "; " + depthsCopy + "; " + birthsTable

const unlistedTable = "CREATE TABLE unlisted(agent INTEGER PRIMARY KEY)"

// depthsCopy is made in files that were made without it as soon as they hold a part of a memory.
const depthsCopy = "CREATE INDEX IF NOT EXISTS depths_copy ON depths(agent, depth)"

// upgrades take a file from the version of their index, counted from 1, to the next.
var upgrades = []string{
	"ALTER TABLE listings ADD COLUMN waiting INTEGER; CREATE INDEX listings_waiting ON listings(name) WHERE waiting;",
	"CREATE TABLE depths(agent INTEGER PRIMARY KEY, depth TEXT NOT NULL);",
	headsTable, // of files in which an agent has had more heads than a row holds
	"ALTER TABLE mark ADD COLUMN tail BLOB;",
	"", // rows leave names out of bodies since
	unlistedTable,
}

// pragmas of every connection that writes. They do not wait for locks: the committer asks again itself, and more
// fairly.
var writerPragmas = []string{
	"busy_timeout=0", "journal_mode=WAL", "mmap_size=0", "cache_size=-16384", "secure_delete=ON",
	"wal_autocheckpoint=4000",
	"foreign_keys=OFF", "temp_store=MEMORY", "cell_size_check=ON", "journal_size_limit=67108864",
}

// pragmas of every connection that reads.
var readerPragmas = []string{
	"busy_timeout=10000", "query_only=ON", "mmap_size=0", "cache_size=-2048", "temp_store=MEMORY", "cell_size_check=ON",
}

// create makes an empty store at path, whole or not at all. It is no error when another process was first.
func create(path string) error {
	temp := fmt.Sprintf("%s.new-%08x", path, rand.Uint32())
	defer func() {
		for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
			_ = disk.Remove(temp + suffix)
		}
	}()
	if err := reserve(temp); err != nil {
		return fmt.Errorf("make a store: %w", err)
	}
	c, err := dial(temp, "rwc", "page_size=4096", "journal_mode=WAL", "synchronous=FULL")
	if err != nil {
		return fmt.Errorf("make a store: %w", err)
	}
	script := fmt.Sprintf("BEGIN; %s; PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT", schema, applicationID,
		schemaVersion)
	if err := errors.Join(c.exec(script), c.fold(), c.close()); err != nil {
		return fmt.Errorf("make a store: %w", err)
	}
	// Nobody has seen this file, so opening and closing it beside SQLite drops no locks.
	if err := disk.Sync(temp); err != nil {
		return fmt.Errorf("make a store: %w", err)
	}
	if err := place(temp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make a store: %w", err)
	}
	return disk.Sync(filepath.Dir(path))
}

// reserve makes an empty file for a database that only its owner may read, whatever the umask: SQLite would let
// everybody. What SQLite puts beside a file has the mode of that file.
func reserve(path string) error {
	if err := disk.Write(path, nil, 0o600); err != nil {
		return fmt.Errorf("%s cannot be opened: look whether its folder exists and this user may write there: %w", path,
			err)
	}
	return nil
}

// fold moves all of the write-ahead log into the file. Closing does that, too, but does not say when it went wrong.
func (c *conn) fold() error {
	blocked, _, err := c.number("PRAGMA wal_checkpoint(TRUNCATE)")
	if err == nil && blocked != 0 {
		err = errors.New("somebody else uses the file")
	}
	return err
}

// place gives a file its name, unless there is a file of that name.
func place(temp, path string) error {
	err := disk.Link(temp, path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		return fs.ErrExist
	}
	return disk.Rename(temp, path) // a file system without links
}

// inspect refuses a file that is not a store of this version. It changes nothing.
func inspect(path string) error {
	info, err := os.Stat(path)
	if err == nil {
		err = named(path, info)
	}
	if err != nil {
		return err
	}
	c, err := dial(path, "rw", "busy_timeout=10000", "query_only=ON")
	if err != nil {
		return err
	}
	err = retry(func() error { return c.inspect() })
	return errors.Join(err, c.close())
}

// IsStore reports whether a file says that it is a store. What is damaged may be one and not say so.
func IsStore(path string) bool {
	f, err := disk.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // it was only read
	b := make([]byte, 72)
	_, err = io.ReadFull(f, b)
	return err == nil && strings.HasPrefix(string(b), magic) && binary.BigEndian.Uint32(b[68:]) == applicationID
}

// named refuses what can be no store whatever it holds.
func named(path string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return fmt.Errorf("%s is a folder: name a file", path)
	case !info.Mode().IsRegular():
		return disk.Regular(path, info)
	case info.Size() == 0:
		return fmt.Errorf("%s is empty, which a store never is: restore it from a backup, or run `perdure doctor "+
			"--repair` and import good copies", path)
	}
	return nil
}

// upgrade brings a file that inspect let pass to this version, in one step that happens or does not.
func upgrade(path string) error { return retry(func() error { return tryUpgrade(path) }) }

func tryUpgrade(path string) error {
	c, err := dial(path, "rw", "busy_timeout=10000", "synchronous=FULL")
	if err != nil {
		return err
	}
	version := func() (int64, error) {
		v, _, err := c.number("PRAGMA user_version")
		return v, err
	}
	v, err := version()
	if err == nil && v < schemaVersion {
		if err = c.exec("BEGIN IMMEDIATE"); err == nil {
			for v, err = version(); err == nil && v < schemaVersion; v++ { // another process may have been first
				err = c.exec(upgrades[v-1])
			}
			if err == nil {
				err = c.exec(fmt.Sprintf("PRAGMA user_version=%d; COMMIT", schemaVersion))
			}
		}
		if err != nil {
			err = fmt.Errorf("upgrade %s to version %d: %w", path, schemaVersion, err)
		}
	}
	return errors.Join(err, c.close())
}

// ErrNewer says that a later version of this program wrote a file. It is not damaged: whoever put together anew what
// can be read of it here would lose the rest.
var ErrNewer = errors.New("written by a newer perdure")

// maxNewer is how far beyond this one a version is believed: a file may be damaged in this place, too.
const maxNewer = 64

func (c *conn) inspect() error {
	var version int64
	err := c.query("SELECT sqlite_version()", func(v []driver.Value) error {
		var major, minor, patch int64
		text, _ := v[0].(string)
		if _, err := fmt.Sscanf(text, "%d.%d.%d", &major, &minor, &patch); err != nil {
			return fmt.Errorf("version of SQLite %q: %w", text, err)
		}
		if version = major*1_000_000 + minor*1_000 + patch; version < minSQLite {
			return fmt.Errorf("SQLite %s has a bug that can corrupt the store: build with 3.51.3 or later", text)
		}
		return nil
	})
	if err != nil {
		return err
	}
	app, _, err := c.number("PRAGMA application_id")
	if err != nil {
		return err
	}
	if app != applicationID {
		return fmt.Errorf("%s is a database of another program: it was left as it is; choose another path", c.path)
	}
	v, _, err := c.number("PRAGMA user_version")
	if err != nil {
		return err
	}
	if v < 1 || v > schemaVersion {
		err = fmt.Errorf("%s has version %d; this program knows %d", c.path, v, schemaVersion)
		if v > schemaVersion && v < schemaVersion+maxNewer {
			err = fmt.Errorf("%w: %w", ErrNewer, err)
		}
		return perdure.WithHint(err, "use a newer perdure")
	}
	_, _, err = c.number("SELECT count(*) FROM sqlite_schema")
	return err
}

// retry calls f again while another process holds a lock, and gives up after a minute, which no lock lasts.
func retry(f func() error) error {
	for begun, pause := time.Now(), time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := f()
		if !busy(err) || time.Since(begun) > time.Minute {
			return err
		}
		time.Sleep(pause/2 + rand.N(pause))
	}
}
