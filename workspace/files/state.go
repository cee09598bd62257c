package files

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"

	_ "modernc.org/sqlite" // the driver of files.db

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/sidedb"
)

// StateFile is the file of a home that says what was projected where.
const StateFile = "files.db"

// State is what was projected into the folders of a home. It is written before files are, so that whatever is killed
// when, the next sync knows which text a person has seen. Without it nothing is lost, but texts that differ can only
// be put together, not compared with what they were made of.
type State struct {
	db   *sql.DB
	path string
}

// stateVersion is written into the file.
const stateVersion = 2

const stateSchema = `
CREATE TABLE folder(id INTEGER PRIMARY KEY, dir TEXT NOT NULL, agent BLOB NOT NULL, head TEXT NOT NULL DEFAULT '',
	cursor INTEGER NOT NULL DEFAULT 0, mark TEXT NOT NULL DEFAULT '', UNIQUE(dir, agent));
CREATE TABLE file(folder INTEGER NOT NULL, path TEXT NOT NULL, base TEXT, versions BLOB, incoming TEXT, outgoing TEXT,
	PRIMARY KEY(folder, path));
CREATE TABLE deed(folder INTEGER NOT NULL, n INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL,
	what TEXT NOT NULL, told TEXT NOT NULL, files TEXT NOT NULL, entry BLOB NOT NULL, failing INTEGER NOT NULL,
	committed INTEGER NOT NULL DEFAULT 0, UNIQUE(folder, entry));
CREATE INDEX deed_failing ON deed(folder, n) WHERE failing=1;
CREATE INDEX deed_committed ON deed(folder, n) WHERE committed=0;
`

// OpenState opens the state in a file, and makes it if there is none; without a path it is in memory.
func OpenState(ctx context.Context, path string) (*State, error) {
	if path != "" {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // what it holds is for its owner alone
		if err == nil {
			err = f.Close()
		}
		if err != nil {
			return nil, unopened(path, err)
		}
	}
	db, err := sidedb.Open(ctx, path, "synchronous(FULL)", "secure_delete(1)")
	if err != nil {
		return nil, unopened(path, err)
	}
	db.SetMaxOpenConns(1)
	s := &State{db, path}
	if err := s.begin(ctx); err != nil {
		return nil, errors.Join(unopened(path, err), db.Close())
	}
	return s, nil
}

// unopened says that a file cannot be opened, and what to do if it is broken.
func unopened(path string, err error) error {
	err = fmt.Errorf("open what is known of folders, %s: %w", path, err)
	if sidedb.Spoilt(err) {
		err = perdure.WithHint(err, ifBroken)
	}
	return err
}

const ifBroken = "move it away, with its -wal and -shm, then sync: no text is lost; where a file and memory differ, " +
	"both texts are put together"

// named says that an error is of a file which turned out to be broken while it was used, and what to do.
func (s *State) named(ctx context.Context, err error) error {
	if s.path == "" || !sidedb.Spoilt(err) {
		return err
	}
	var is string
	if s.db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&is) == nil && is == "ok" {
		return err // another file is
	}
	return perdure.WithHint(fmt.Errorf("what is known of folders, %s, is broken: %w", s.path, err), ifBroken)
}

// begin makes the tables of an empty file.
func (s *State) begin(ctx context.Context) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	var v int
	if err = tx.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v); err == nil {
		switch v {
		case stateVersion:
		case 1: // it has no marks: deeds are looked for anew, once
			_, err = tx.ExecContext(ctx, "ALTER TABLE folder ADD COLUMN mark TEXT NOT NULL DEFAULT ''; PRAGMA "+
				"user_version=2")
		case 0:
			_, err = tx.ExecContext(ctx, stateSchema+fmt.Sprintf("PRAGMA user_version=%d", stateVersion))
		default:
			err = fmt.Errorf("it is of version %d, and this program knows %d; use a newer perdure", v, stateVersion)
		}
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Close ends the use of the state.
func (s *State) Close() error { return s.db.Close() }

// lock waits until nobody else of this machine syncs, and keeps others from it until done is called.
func (s *State) lock() (done func() error, err error) {
	if s.path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.OpenFile(s.path+"-lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := disk.Lock(f, true); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// folder is the number of a folder, for the memory of an agent. Known says that it was there before.
func (s *State) folder(ctx context.Context, dir string, agent perdure.AgentID) (id int64, known bool, err error) {
	row := func() error {
		return s.db.QueryRowContext(ctx, "SELECT id FROM folder WHERE dir=? AND agent=?", dir, agent[:]).Scan(&id)
	}
	if err = row(); !errors.Is(err, sql.ErrNoRows) {
		return id, err == nil, err
	}
	if _, err := s.db.ExecContext(ctx, "INSERT OR IGNORE INTO folder(dir, agent) VALUES(?,?)", dir,
		agent[:]); err != nil {
		return 0, false, err
	}
	return id, false, row()
}

// record is what is known of a file.
type record struct {
	path     string
	base     *string // the text that was projected, or taken in, last; nil: none
	versions string  // of its document then; after unsettled: base is not their text, but memory had both
	incoming *string // a text that is being taken in
	outgoing *string // a text that is being projected

	lost bool // memory does not hold its versions, so that nothing is known of what the file was made of
}

// unsettled begins the versions of a record whose base is another text than theirs.
const unsettled = "~"

// names are the versions that a record rests on.
func (r *record) names() []perdure.Hash { return namesOf(r.versions) }

// namesOf are the names of versions, as named joins them.
func namesOf(versions string) (all []perdure.Hash) {
	const size = len(perdure.Hash{})
	for name := range slices.Chunk([]byte(versions[len(versions)%size:]), size) { // the rest is unsettled
		all = append(all, perdure.Hash(name))
	}
	return all
}

// disown forgets what was projected, if memory has lost it: the file is all there is.
func (r *record) disown() {
	if r.lost {
		r.base, r.versions, r.outgoing = nil, "", nil
	}
}

// records are what is known of the files of a folder, by path.
func (s *State) records(ctx context.Context, folder int64) (map[string]*record, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT path, base, versions, incoming, outgoing FROM file WHERE folder=?",
		folder)
	if err != nil {
		return nil, err
	}
	all := map[string]*record{}
	for rows.Next() {
		r := &record{}
		var versions []byte
		if err := rows.Scan(&r.path, &r.base, &versions, &r.incoming, &r.outgoing); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		r.versions = string(versions)
		all[r.path] = r
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

// anew forgets what was projected into a folder that has nothing of it any more. What is on its way into memory stays.
func (s *State) anew(ctx context.Context, folder int64) error {
	_, err := s.db.ExecContext(ctx, "UPDATE file SET base=NULL, versions=x'', outgoing=NULL WHERE folder=?", folder)
	return err
}

// record is what is known of a file.
func (s *State) record(ctx context.Context, folder int64, path string) (*record, error) {
	r := &record{path: path}
	var versions []byte
	err := s.db.QueryRowContext(ctx, "SELECT base, versions, incoming, outgoing FROM file WHERE folder=? AND path=?",
		folder, path).Scan(&r.base, &versions, &r.incoming, &r.outgoing)
	if r.versions = string(versions); errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return r, err
}

// keep makes records durable, all or none.
func (s *State) keep(ctx context.Context, folder int64, records ...*record) error {
	if len(records) == 0 {
		return nil
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, r := range records {
		if err == nil {
			_, err = tx.ExecContext(ctx, "INSERT INTO file(folder, path, base, versions, incoming, outgoing) "+
				"VALUES(?1,?2,?3,?4,?5,?6) ON CONFLICT(folder, path) DO UPDATE SET base=?3, versions=?4, "+
				"incoming=?5, outgoing=?6", folder, r.path, r.base, []byte(r.versions), r.incoming, r.outgoing)
		}
	}
	if err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// forget takes a record out.
func (s *State) forget(ctx context.Context, folder int64, path string) error {
	_, err := s.db.ExecContext(ctx, "DELETE FROM file WHERE folder=? AND path=?", folder, path)
	return err
}
