// Package sqlite is the store in one SQLite file, for one machine: any number of processes may use it at once.
//
// What Append and Put acknowledge has been synced to the disk, unless Options.Sync says otherwise. Calls that come at
// the same time share one sync. Bodies over perdure.InlineBody are files in a folder beside the store, named by their
// hash: FILE-blobs. Copy a store with Backup, or all of FILE, FILE-wal and FILE-blobs while nobody uses it.
//
// When a write or sync goes wrong, nobody can tell what is on the disk: the store then refuses every write until it has
// opened the file again, which finds out; it tries to now and then. Reading goes on.
//
// The nodes that work on agents of the store keep a file each in FILE-nodes, so that the others know when one has died
// and take its agents over at once instead of waiting for the end of its lease.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/alive"
)

// Options change how a store is opened. The zero value is right for most.
type Options struct {
	Limits   perdure.Limits // for entries that are read; zero fields are the defaults
	Existing bool           // refuse to make a store where there is none
	Look     bool           // only look: nothing is written, and writing is refused; the files may be read-only
	Sync     Sync           // what an acknowledged write survives; it holds for what this process writes
	Known    []perdure.Hash // keys and policies that entries here may name: Heal restores damaged ones from them
	// how long a write waits while another process keeps the file from being written; zero: as long as it takes
	Patience time.Duration

	// Waits is told, once per write, that another process has kept it waiting for some seconds; nil: nobody is.
	Waits func(text string)
}

// readers is how many calls read at the same time; more wait for their turn.
const readers = 4

// Store is an open store. Its methods may be called by any number of goroutines.
type Store struct {
	path   string
	limits perdure.Limits
	level  Sync
	words  words
	pool   chan *conn // of connections that read; nil stands for one not opened yet
	watch  hub
	syncs  atomic.Int64
	rooted atomic.Bool // the folder of blobs has a durable name
	nodes  alive.Folder
	known  []perdure.Hash
	worded atomic.Bool // every word has been found to be right

	looked    atomic.Int64 // listings read to list agents
	lookBacks atomic.Int64 // pages read to find entries before the heads
	relisted  relisted

	mu      sync.RWMutex // held for reading while a request is handed over, or writing is taken
	closed  bool
	queue   chan *request
	writing sync.Mutex    // held while writer is used
	writer  *writer       // nil: nothing is written
	done    chan struct{} // closed when the committer has ended
	ended   chan struct{} // closed when the store is
	looks   bool          // nothing is written
	err     error         // of closing, once ended is closed

	between func() // what a test has happen after a read, before it is known to be of one state of the file
}

var (
	_ perdure.Store   = (*Store)(nil)
	_ perdure.Claimer = (*Store)(nil)
	_ perdure.Holder  = (*Store)(nil)
	_ perdure.Lister  = (*Store)(nil)
	_ perdure.Watcher = (*Store)(nil)
	_ perdure.Pruner  = (*Store)(nil)
	_ perdure.Placed  = (*Store)(nil)
	_ perdure.Parter  = (*Store)(nil)
)

// Open opens the store in a file, and makes it when there is none. It refuses, and leaves as it is, a file of another
// program, of a newer version, or one that is damaged.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	if o.Look {
		return look(ctx, path, o)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if o.Existing {
			return nil, fmt.Errorf("open store %s: %w: make one first", path, perdure.ErrNotFound)
		}
		if err := create(path); err != nil {
			return nil, err
		}
		if err := found(path); err != nil {
			return nil, fmt.Errorf("open store: %w", err)
		}
	}
	loosen(path)
	if err := inspect(path); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := upgrade(path); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	w, err := openWriter(path, o.Sync, patience{path, o.Patience, o.Waits})
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s := newStore(path, o)
	w.words, w.hub, w.syncs, s.writer = &s.words, &s.watch, &s.syncs, w
	go func() {
		defer close(s.done)
		w.run(s.queue, &s.writing)
	}()
	return s, nil
}

// loosen gives what SQLite keeps beside a file the mode of the file. They get it when they are made: if the file could
// not be written then, as in a backup or on a stick, they could not be written now, and nobody could open the store.
func loosen(path string) {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o200 == 0 {
		return
	}
	for _, suffix := range []string{"-wal", "-shm"} {
		if beside, err := os.Lstat(path + suffix); err == nil && beside.Mode().IsRegular() &&
			beside.Mode().Perm()&0o200 == 0 {
			_ = os.Chmod(path+suffix, info.Mode().Perm()) // opening the store says what is wrong if it cannot be done
		}
	}
}

func newStore(path string, o Options) *Store {
	s := &Store{
		path: path, limits: o.Limits, level: o.Sync, known: o.Known, pool: make(chan *conn, readers),
		queue: make(chan *request, maxBatch),
		done:  make(chan struct{}), ended: make(chan struct{}),
	}
	for range readers {
		s.pool <- nil
	}
	s.nodes.Path = path + "-nodes"
	return s
}

// Path is the file the store is in.
func (s *Store) Path() string { return s.path }

// Sync is what the writes that this handle acknowledges survive.
func (s *Store) Sync() Sync { return s.level }

// Syncs is how many times this handle has had the write-ahead log synced, once for all the calls that shared it.
func (s *Store) Syncs() int64 { return s.syncs.Load() }

// Checkpoint moves everything out of the write-ahead log, so that the size of the file is the size of the store. It
// happens by itself often enough; call it before measuring.
func (s *Store) Checkpoint(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	c, err := dial(s.path, "rw", "busy_timeout=10000", "synchronous=FULL")
	if err != nil {
		return fmt.Errorf("checkpoint %s: %w", s.path, err)
	}
	return errors.Join(retry(func() error {
		busy, _, err := c.number("PRAGMA wal_checkpoint(TRUNCATE)")
		if err == nil && busy != 0 {
			err = fmt.Errorf("checkpoint %s: others are using the log; try again", s.path)
		}
		return err
	}), c.close())
}

// Close implements perdure.Store. It waits for calls under way.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if !first {
		<-s.ended
		return s.err
	}
	close(s.queue)
	<-s.done
	errs := []error{s.watch.close(), s.nodes.Close()}
	for range readers {
		if c := <-s.pool; c != nil {
			errs = append(errs, c.close())
		}
	}
	if err := errors.Join(errs...); err != nil {
		s.err = fmt.Errorf("close store %s: %w", s.path, err)
	}
	close(s.ended)
	return s.err
}

// usable says why the store cannot be used, if it cannot.
func (s *Store) usable(ctx context.Context) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return s.errClosed()
	}
	return ctx.Err()
}

func (s *Store) errClosed() error { return fmt.Errorf("store %s: %w", s.path, fs.ErrClosed) }

// read calls f with a connection to read from. Within one call f sees one state of the store. It calls f again when
// another process was in the way.
func (s *Store) read(ctx context.Context, f func(c *conn) error) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	var c *conn
	select {
	case c = <-s.pool:
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ended:
		return s.errClosed()
	}
	defer func() { s.pool <- c }()
	return retry(func() (err error) {
		if c != nil && c.stale() {
			_, c = c.close(), nil // it only read
		}
		if c == nil {
			if c, err = s.reader(); err != nil {
				return err
			}
		}
		for again := false; ; again = true {
			if err := c.exec("BEGIN"); err != nil {
				return err
			}
			err := f(c)
			if e := c.exec("COMMIT"); e != nil {
				if err == nil && !corrupt(e) { // else it says again what f has met, and may have done without
					err = e
				}
				err = errors.Join(err, c.rollback())
			}
			if s.between != nil {
				s.between()
			}
			if c.stale() { // what was read may be of two states of the file
				_ = c.close()
				c = nil
				if err := ctx.Err(); err != nil {
					return err
				}
				if c, err = s.reader(); err != nil {
					return err
				}
				continue
			}
			if again || !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			// A body was pruned between the row and its file: the row says so by now.
		}
	})
}
