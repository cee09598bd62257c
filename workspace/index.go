package workspace

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	_ "modernc.org/sqlite" // the driver of search.db

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/sidedb"
)

// IndexFile is the file of a home that an index is in.
const IndexFile = "search.db"

// LockMark is what the name of the file has after that of the index whose lock the process has that begins a role, or
// makes the file of the index.
const LockMark = "-role"

// Index is what is derived from the memories of a store: which versions of documents are current, their links and
// titles, and the words of all texts. It is brought up to date by Follow, which reads only what is new, and may be
// thrown away at any time. Several processes may share one.
type Index struct {
	path         string
	db           *sql.DB
	file         fs.FileInfo // that it is in; nil: in memory, or it is not open
	large, broad int64       // see largeIndex and broadWord

	mu     sync.Mutex
	counts map[string]spread // in how many texts frequent words are
	of     int64             // when there were so many texts
	ready  map[string]*sql.Stmt
}

// indexVersion is written into the file; one of another version is made anew.
const indexVersion = 7

// schema is what an index holds. Times are milliseconds. An item is what can be found: a passage of a current version
// of a document, or something that was said in a transcript; words has its text under the same number. Beside is where
// a document may have several current versions; bare are events whose bodies were gone before they were taken in.
const schema = `
CREATE TABLE place(one INTEGER PRIMARY KEY CHECK(one=1), feed BLOB, position INTEGER NOT NULL);
CREATE TABLE agent(id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, called TEXT NOT NULL, kind TEXT NOT NULL, scope TEXT NOT NULL,
	tier TEXT NOT NULL, cursor INTEGER NOT NULL DEFAULT 0, heads BLOB, swept INTEGER NOT NULL DEFAULT 1,
	keeps INTEGER NOT NULL DEFAULT 0, moved INTEGER NOT NULL DEFAULT 0, ttl INTEGER);
CREATE INDEX agent_kind ON agent(kind);
CREATE INDEX agent_called ON agent(called);
CREATE INDEX agent_keeps ON agent(id) WHERE keeps=1;
CREATE INDEX agent_swept ON agent(id) WHERE swept=0;
CREATE TABLE version(id INTEGER PRIMARY KEY, agent INTEGER NOT NULL, entry BLOB NOT NULL, path TEXT NOT NULL, kind TEXT NOT NULL,
	title TEXT NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL, origin BLOB NOT NULL, by TEXT NOT NULL, gone INTEGER NOT NULL,
	current INTEGER NOT NULL, expires INTEGER NOT NULL, sealed INTEGER NOT NULL, size INTEGER NOT NULL, tags TEXT NOT NULL,
	fromagent BLOB, fromentry BLOB, proof TEXT NOT NULL, position INTEGER NOT NULL, UNIQUE(agent, entry));
CREATE INDEX version_path ON version(agent, path) WHERE current=1;
CREATE INDEX version_past ON version(agent, path, id);
CREATE INDEX version_expires ON version(expires) WHERE expires>0;
CREATE INDEX version_proof ON version(agent) WHERE current=1 AND proof<>'';
CREATE INDEX version_open ON version(agent) WHERE current=1 AND tags='open';
CREATE INDEX version_session ON version(agent, id) WHERE current=1 AND kind='session';
CREATE INDEX version_from ON version(fromentry) WHERE fromentry IS NOT NULL;
CREATE TABLE replaced(agent INTEGER NOT NULL, path TEXT NOT NULL, entry BLOB NOT NULL, PRIMARY KEY(agent, entry, path)) WITHOUT ROWID;
CREATE TABLE beside(agent INTEGER NOT NULL, path TEXT NOT NULL, PRIMARY KEY(agent, path)) WITHOUT ROWID;
CREATE TABLE bare(entry BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE link(version INTEGER NOT NULL, target TEXT NOT NULL, PRIMARY KEY(version, target)) WITHOUT ROWID;
CREATE INDEX link_target ON link(target, version);
CREATE TABLE item(id INTEGER PRIMARY KEY, agent INTEGER NOT NULL, version INTEGER, entry BLOB NOT NULL, seq INTEGER NOT NULL, at INTEGER NOT NULL,
	kind TEXT NOT NULL, expires INTEGER NOT NULL);
CREATE INDEX item_entry ON item(agent, entry);
CREATE INDEX item_version ON item(version) WHERE version IS NOT NULL;
CREATE INDEX item_expires ON item(expires) WHERE expires>0;
CREATE VIRTUAL TABLE words USING fts5(title, tags, body, tokenize='porter unicode61 remove_diacritics 2',
	prefix='2 3 4');
CREATE TABLE vector(item INTEGER PRIMARY KEY, model TEXT NOT NULL, value BLOB NOT NULL);
INSERT INTO words(words, rank) VALUES('rank', 'bm25(3.0, 2.0, 1.0)');
INSERT INTO words(words, rank) VALUES('secure-delete', 1);
INSERT INTO words(words, rank) VALUES('hashsize', 16777216);
INSERT INTO place VALUES(1, NULL, 0);
`

// OpenIndex opens the index in a file, and makes it if there is none; without a path it is in memory. One that is
// damaged or of another version is made anew: it holds nothing that the store does not.
func OpenIndex(ctx context.Context, path string) (*Index, error) {
	ix := &Index{path: path, large: largeIndex, broad: broadWord}
	err := ix.dial(ctx, path == "")
	if spoilt(err) || errors.Is(err, fs.ErrNotExist) {
		err = ix.renew(ctx)
	}
	return ix, err // what cannot be read now may be whole: another process has it, or a disk is full
}

// Ready is Follow before anybody in this process uses the index. One that turns out to be damaged is made anew; another
// process that has it open goes on with the old file, and says so.
func (ix *Index) Ready(ctx context.Context, s perdure.Store) error {
	err := ix.Follow(ctx, s, nil)
	if ix.path == "" || !spoilt(err) {
		return err
	}
	if err := ix.renew(ctx); err != nil {
		return err
	}
	return ix.Follow(ctx, s, nil)
}

// renew puts an empty index in the place of one that is spoilt, or makes one where there is none. One that another
// process has made since is used as it is. Nobody else makes or removes the file meanwhile.
func (ix *Index) renew(ctx context.Context) error {
	done, err := ix.alone(ctx)
	if err != nil {
		return fmt.Errorf("open the search index: %w", err)
	}
	defer done()
	now, err := os.Stat(ix.path)
	same := err == nil && os.SameFile(ix.file, now) // the old file is open still, so that no new one passes for it
	if ix.db != nil {
		_ = ix.db.Close() // it is thrown away
	}
	ix.mu.Lock()
	ix.counts, ix.of, ix.ready = nil, 0, nil
	ix.mu.Unlock()
	if !same {
		if err := ix.dial(ctx, true); !spoilt(err) {
			return err
		}
	}
	if err := ix.discard(); err != nil {
		return fmt.Errorf("open the search index: %w", err)
	}
	return ix.dial(ctx, true)
}

// named says which file an error is of that tells of a damaged one, and what to do.
func (ix *Index) named(err error) error {
	if ix.path == "" || !sidedb.Spoilt(err) {
		return err
	}
	return perdure.WithHint(fmt.Errorf("%s is damaged: %w", ix.path, err),
		"run perdure search --rebuild, then restart what uses it; nothing is lost")
}

// errVersion says that an index was made by another version of this program.
var errVersion = errors.New("another version")

// spoilt reports whether a file is no index that can be used again.
func spoilt(err error) bool { return sidedb.Spoilt(err) || errors.Is(err, errVersion) }

// discard takes the file away.
func (ix *Index) discard() error {
	for _, tail := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(ix.path + tail); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// dial connects to the file, and makes what it holds if it is empty. Whoever creates it has the lock.
func (ix *Index) dial(ctx context.Context, create bool) error {
	ix.file = nil
	var file fs.FileInfo
	if ix.path != "" {
		how := os.O_RDWR
		if create {
			how |= os.O_CREATE
		}
		f, err := os.OpenFile(ix.path, how, 0o600) // what it holds is for its owner alone
		if err == nil {
			file, err = f.Stat()
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return fmt.Errorf("open the search index: %w", err)
		}
	}
	db, err := sidedb.Open(ctx, ix.path, "synchronous(NORMAL)", "secure_delete(1)", "cache_size(-32768)",
		"temp_store(2)")
	if err != nil {
		return fmt.Errorf("open the search index: %w", err)
	}
	if ix.path != "" {
		db.SetMaxOpenConns(4)
	}
	ix.db = db
	if err := ix.begin(ctx); err != nil {
		return errors.Join(fmt.Errorf("open the search index: %w", err), db.Close())
	}
	ix.file = file
	return nil
}

// begin makes the tables of an empty file.
func (ix *Index) begin(ctx context.Context) error {
	return ix.change(ctx, func(tx *sql.Tx) error {
		var v, tables int
		if err := tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v); err != nil {
			return err
		}
		if v == indexVersion {
			return nil
		}
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
			return err
		}
		if tables > 0 {
			return fmt.Errorf("%w: it is of %d, and %d is wanted", errVersion, v, indexVersion)
		}
		_, err := tx.ExecContext(ctx, schema+fmt.Sprintf("PRAGMA user_version=%d", indexVersion))
		return err
	})
}

// change makes changes that happen together or not at all. One process at a time does.
func (ix *Index) change(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := ix.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Close ends the use of the index.
func (ix *Index) Close() error { return ix.db.Close() }

// clearIndex empties the index.
func clearIndex(ctx context.Context, tx *sql.Tx) error {
	text := ""
	for _, table := range []string{"place", "agent", "version", "replaced", "beside", "bare", "link", "item", "words",
		"vector"} {
		text += "DROP TABLE " + table + ";"
	}
	_, err := tx.ExecContext(ctx, text+schema)
	return err
}

// hashOf is a hash that was kept as bytes.
func hashOf(b []byte) (h perdure.Hash) {
	copy(h[:], b)
	return h
}
