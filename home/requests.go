package home

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/alive"
	"github.com/perdure/perdure/internal/sidedb"
	"github.com/perdure/perdure/internal/turns"
)

const (
	requestsFile = "requests.db"
	// keptFor is how long an answer is remembered.
	keptFor = 24 * time.Hour
	// maxIdempotencyKey bounds what clients choose.
	maxIdempotencyKey = 255
)

// ErrKeyReused says that a request bears the Idempotency-Key of another.
var ErrKeyReused error = &Error{
	KindMisuse, errors.New("this Idempotency-Key was used for another request; use a key of its own for each"),
}

// Requests remembers what was answered to requests that bear an Idempotency-Key, so that one that comes again is done
// once: also when the server was killed in between.
type Requests struct {
	db    *sql.DB
	turns turns.Turns[[32]byte]
	alive alive.Folder // who has claimed keys
	me    [16]byte     // the name of this one there
	stop  context.CancelFunc
	done  chan struct{}
}

// OpenRequests opens what this home remembers. Nil for a home in memory.
func (h *Home) OpenRequests(ctx context.Context) (*Requests, error) {
	if h.Dir == "" {
		return nil, nil
	}
	path := filepath.Join(h.Dir, requestsFile)
	if err := ownFile(path); err != nil { // entries and answers are in it
		return nil, fmt.Errorf("open %s: %w", requestsFile, err)
	}
	// What is kept before something is done must be on the disk by then.
	db, err := sidedb.Open(ctx, path, "synchronous(FULL)")
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", requestsFile, err)
	}
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(
		ctx,
		`CREATE TABLE IF NOT EXISTS requests (key BLOB PRIMARY KEY, print BLOB NOT NULL, at INTEGER NOT NULL,
		agent BLOB, entries BLOB, answer BLOB) WITHOUT ROWID, STRICT;
		CREATE INDEX IF NOT EXISTS requests_at ON requests (at);
		CREATE TABLE IF NOT EXISTS doing (key BLOB PRIMARY KEY, who BLOB NOT NULL) WITHOUT ROWID, STRICT;
		CREATE TABLE IF NOT EXISTS claims (key BLOB PRIMARY KEY, value TEXT NOT NULL, at INTEGER NOT NULL)
		WITHOUT ROWID, STRICT; CREATE INDEX IF NOT EXISTS claims_at ON claims (at)`,
	)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", requestsFile, err), db.Close())
	}
	r := &Requests{db: db, alive: alive.Folder{Path: filepath.Join(h.Dir, sessionsDir)}, done: make(chan struct{})}
	_, _ = rand.Read(r.me[:]) // it never fails
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	go r.forget(ctx)
	return r, nil
}

// forget drops what is old, now and every hour.
func (r *Requests) forget(ctx context.Context) {
	defer close(r.done)
	tick := time.NewTicker(time.Hour)
	defer tick.Stop()
	for {
		for _, table := range []string{"requests", "claims"} {
			_, _ = r.db.ExecContext(ctx, "DELETE FROM "+table+" WHERE at < ?",
				time.Now().Add(-keptFor).UnixMilli()) // it is tried again
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Close ends the use of it.
func (r *Requests) Close() error {
	r.stop()
	<-r.done
	return errors.Join(r.db.Close(), r.alive.Close())
}

// Claim durably remembers a value by a key unless there is one, and returns the one there is: the first, whichever
// process of the home it came to.
func (r *Requests) Claim(ctx context.Context, key, value string) (first string, err error) {
	sum := sha256.Sum256([]byte(key))
	const query = `INSERT INTO claims (key, value, at) VALUES (?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET at = max(at, excluded.at) RETURNING value`
	err = r.db.QueryRowContext(ctx, query, sum[:], value, time.Now().UnixMilli()).Scan(&first)
	if err != nil {
		return "", fmt.Errorf("remember the message: %w", err)
	}
	return first, nil
}

// note durably remembers a value by a key, instead of the one there is.
func (r *Requests) note(ctx context.Context, key, value string) error {
	sum := sha256.Sum256([]byte(key))
	_, err := r.db.ExecContext(ctx, "INSERT OR REPLACE INTO claims (key, value, at) VALUES (?, ?, ?)", sum[:], value,
		time.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("remember the message: %w", err)
	}
	return nil
}

// noted is what is remembered by a key; empty: nothing.
func (r *Requests) noted(ctx context.Context, key string) (value string, err error) {
	sum := sha256.Sum256([]byte(key))
	err = r.db.QueryRowContext(ctx, "SELECT value FROM claims WHERE key = ?", sum[:]).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("look up the message: %w", err)
	}
	return value, nil
}

// Keyed is a request that bears a key.
type Keyed struct {
	Who, Key string
	Print    [32]byte // of what is asked
	// Do does it, and returns the answer to be remembered.
	Do func(ctx context.Context) ([]byte, error)
	// Done is the answer to a request whose entries are in the store, and whose answer was lost.
	Done func(ctx context.Context, id perdure.AgentID, entries []*perdure.Entry) ([]byte, error)
}

// row is what is remembered of a request.
type row struct {
	print, agent, entries, answer []byte
}

// Once does a request unless it was done before; then it returns what was answered, and again. While another process of
// the home does it, it waits for that.
func (r *Requests) Once(ctx context.Context, s perdure.Store, q Keyed) (answer []byte, again bool, err error) {
	if q.Key == "" || len(q.Key) > maxIdempotencyKey {
		return nil, false, perdure.Invalid(fmt.Errorf("an Idempotency-Key has 1 to %d characters", maxIdempotencyKey))
	}
	key := sha256.Sum256([]byte(q.Who + "\n" + q.Key))
	done, err := r.turns.Take(ctx, key)
	if err != nil {
		return nil, false, err
	}
	defer done()
	for {
		if answer, err := r.answered(ctx, key, q.Print); answer != nil || err != nil {
			return answer, err == nil, err
		}
		mine, err := r.take(ctx, key)
		if err != nil {
			return nil, false, err
		}
		if mine {
			break
		}
		select {
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case <-time.After(elsewhere):
		}
	}
	defer r.release(context.WithoutCancel(ctx), key)
	return r.once(ctx, s, key, q)
}

// elsewhere is how often it is looked whether another process has answered.
const elsewhere = 20 * time.Millisecond

// answered is what a request with a key was answered; nil: it was not yet.
func (r *Requests) answered(ctx context.Context, key, print [32]byte) ([]byte, error) {
	was, err := r.read(ctx, key)
	if err != nil || was == nil {
		return nil, err
	}
	if !bytes.Equal(was.print, print[:]) {
		return nil, ErrKeyReused
	}
	return was.answer, nil
}

// take claims a key for this process, among all that serve the home; false: another one has it, and lives.
func (r *Requests) take(ctx context.Context, key [32]byte) (bool, error) {
	if err := r.alive.Hold(r.me[:]); err != nil { // before anybody can see the name
		return false, fmt.Errorf("claim the Idempotency-Key: %w", err)
	}
	var who []byte
	const claim = `INSERT INTO doing (key, who) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET who = who RETURNING who`
	if err := r.db.QueryRowContext(ctx, claim, key[:], r.me[:]).Scan(&who); err != nil {
		return false, fmt.Errorf("claim the Idempotency-Key: %w", err)
	}
	if bytes.Equal(who, r.me[:]) {
		return true, nil
	}
	if !r.ended(who) {
		return false, nil
	}
	got, err := r.db.ExecContext(ctx, "UPDATE doing SET who = ? WHERE key = ? AND who = ?", r.me[:], key[:], who)
	if err != nil {
		return false, fmt.Errorf("claim the Idempotency-Key: %w", err)
	}
	n, err := got.RowsAffected()
	return n == 1, err
}

// ended reports whether the process of a name has ended: its file is there without a lock, or it took that away.
func (r *Requests) ended(who []byte) bool {
	_, err := os.Stat(filepath.Join(r.alive.Path, hex.EncodeToString(who)))
	return errors.Is(err, fs.ErrNotExist) || r.alive.Dead(who)
}

// release lets a key go. If it cannot, it is free when this process has ended.
func (r *Requests) release(ctx context.Context, key [32]byte) {
	_, _ = r.db.ExecContext(ctx, "DELETE FROM doing WHERE key = ? AND who = ?", key[:], r.me[:])
}

// once does a request whose key this process has, unless it was done before.
func (r *Requests) once(ctx context.Context, s perdure.Store, key [32]byte, q Keyed) (answer []byte, again bool,
	err error) {
	was, err := r.read(ctx, key)
	if err != nil {
		return nil, false, err
	}
	if was != nil {
		if !bytes.Equal(was.print, q.Print[:]) {
			return nil, false, ErrKeyReused
		}
		if was.answer != nil {
			return was.answer, true, nil
		}
		if answer, err = r.recover(ctx, s, q, was); err != nil {
			return nil, false, err
		}
		if answer != nil {
			return answer, true, r.keep(ctx, key, q.Print, answer)
		}
	}
	answer, err = q.Do(perdure.WithJournal(ctx, func(id perdure.AgentID, entries []*perdure.Entry) error {
		return r.journal(ctx, key, q.Print, id, entries)
	}))
	if err != nil { // what was journaled may be durable all the same: whoever asks again has it looked for
		return nil, false, err
	}
	return answer, false, r.keep(context.WithoutCancel(ctx), key, q.Print, answer)
}

func (r *Requests) read(ctx context.Context, key [32]byte) (*row, error) {
	w := new(row)
	const query = "SELECT print, agent, entries, answer FROM requests WHERE key = ? AND at >= ?"
	err := r.db.QueryRowContext(ctx, query, key[:], time.Now().Add(-keptFor).UnixMilli()).
		Scan(&w.print, &w.agent, &w.entries, &w.answer)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look up the Idempotency-Key: %w", err)
	}
	return w, nil
}

// journal keeps the entries that are about to be stored for a request.
func (r *Requests) journal(
	ctx context.Context,
	key, print [32]byte,
	id perdure.AgentID,
	entries []*perdure.Entry,
) error {
	var all []byte
	for _, e := range entries {
		b, err := e.MarshalBinary()
		if err != nil {
			return err
		}
		all = append(binary.AppendUvarint(all, uint64(len(b))), b...)
	}
	_, err := r.db.ExecContext(ctx,
		"INSERT OR REPLACE INTO requests (key, print, at, agent, entries) VALUES (?, ?, ?, ?, ?)", key[:],
		print[:], time.Now().UnixMilli(), id[:], all)
	if err != nil {
		return fmt.Errorf("keep the Idempotency-Key: %w", err)
	}
	return nil
}

// keep remembers an answer.
func (r *Requests) keep(ctx context.Context, key, print [32]byte, answer []byte) error {
	_, err := r.db.ExecContext(ctx,
		"INSERT OR REPLACE INTO requests (key, print, at, answer) VALUES (?, ?, ?, ?)", key[:], print[:],
		time.Now().UnixMilli(), answer)
	if err != nil {
		return fmt.Errorf("keep the answer: %w", err)
	}
	return nil
}

// recover is the answer to a request whose answer was lost, with its server or by an error after its entries were
// stored; nil: they were not.
func (r *Requests) recover(ctx context.Context, s perdure.Store, q Keyed, was *row) ([]byte, error) {
	var id perdure.AgentID
	if len(was.agent) != len(id) {
		return nil, nil
	}
	copy(id[:], was.agent)
	var entries []*perdure.Entry
	for rest := was.entries; len(rest) > 0; {
		n, used := binary.Uvarint(rest)
		if used <= 0 || n > uint64(len(rest)-used) {
			return nil, errors.New("what was kept of this request cannot be read")
		}
		e, err := perdure.DecodeEntry(rest[used:used+int(n)], perdure.Limits{})
		if err != nil {
			return nil, err
		}
		entries, rest = append(entries, e), rest[used+int(n):]
	}
	if len(entries) == 0 {
		return nil, nil
	}
	last := entries[len(entries)-1].Name
	for item, err := range s.Entries(ctx, id, 0) {
		if errors.Is(err, perdure.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if item.Name == last {
			return q.Done(ctx, id, entries)
		}
	}
	return nil, nil
}
