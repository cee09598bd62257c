package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

// Witness is a perdure.Witness in a file of its own, beside a store or far from it. Several processes may use one at once. It is not synced:
// a power cut may lose what it saw last, and then it notices less.
type Witness struct {
	mu    sync.Mutex
	c     *conn
	fresh map[perdure.AgentID]sighting // not written yet
	timer *time.Timer
	err   error // that kept the last of it from being written
}

// sighting is how far a memory had come.
type sighting struct {
	seq   int64
	heads []byte
}

var _ perdure.Witness = (*Witness)(nil)

// witnessEvery is how long sightings wait to be written together: so many steps of one agent cost one row.
const witnessEvery = 50 * time.Millisecond

// OpenWitness opens a witness, and makes the file if there is none.
func OpenWitness(path string) (*Witness, error) {
	if f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil { // else it is there, or SQLite says why not
		if err := f.Close(); err != nil {
			return nil, fmt.Errorf("open witness: %w", err)
		}
	}
	c, err := dial(path, "rwc", "busy_timeout=5000", "journal_mode=WAL", "synchronous=OFF")
	if err != nil {
		return nil, fmt.Errorf("open witness: %w", err)
	}
	err = c.exec("CREATE TABLE IF NOT EXISTS seen (agent BLOB PRIMARY KEY, seq INTEGER NOT NULL, heads BLOB NOT NULL) WITHOUT ROWID")
	if err != nil {
		return nil, fmt.Errorf("open witness: %w", errors.Join(err, c.close()))
	}
	return &Witness{c: c, fresh: map[perdure.AgentID]sighting{}}, nil
}

// Seen returns the heads an agent was last seen with.
func (w *Witness) Seen(_ context.Context, id perdure.AgentID) ([]perdure.Hash, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	packed := w.fresh[id].heads
	if packed == nil {
		err := w.c.query("SELECT heads FROM seen WHERE agent = ?", func(v []driver.Value) error {
			packed, _ = v[0].([]byte)
			return nil
		}, id[:])
		if err != nil {
			return nil, fmt.Errorf("ask the witness about agent %s: %w", id.Short(), err)
		}
	}
	heads := make([]perdure.Hash, len(packed)/len(perdure.Hash{}))
	for i := range heads {
		copy(heads[i][:], packed[i*len(perdure.Hash{}):])
	}
	return heads, nil
}

// See remembers the heads of an agent, unless more was seen of it before. They are written a moment later, or by Close.
func (w *Witness) See(id perdure.AgentID, seq int64, heads []perdure.Hash) {
	packed := make([]byte, 0, len(heads)*len(perdure.Hash{}))
	for _, h := range heads {
		packed = append(packed, h[:]...)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.c == nil || w.fresh[id].seq > seq {
		return
	}
	w.fresh[id] = sighting{seq, packed}
	if w.timer == nil {
		w.timer = time.AfterFunc(witnessEvery, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.write()
		})
	}
}

// write writes what is fresh. The caller holds the lock.
func (w *Witness) write() {
	w.timer = nil
	if w.c == nil || len(w.fresh) == 0 {
		return
	}
	err := w.c.exec("BEGIN IMMEDIATE")
	for id, s := range w.fresh {
		if err != nil {
			break
		}
		err = w.c.exec("INSERT INTO seen VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET seq = excluded.seq, heads = excluded.heads WHERE excluded.seq >= seen.seq",
			id[:], s.seq, s.heads)
	}
	if err == nil {
		err = w.c.exec("COMMIT")
	} else {
		_ = w.c.exec("ROLLBACK") // there may be no transaction
	}
	if w.err = err; err == nil {
		clear(w.fresh)
	}
}

// Forget forgets what was seen of an agent.
func (w *Witness) Forget(id perdure.AgentID) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.fresh, id)
	return w.c.exec("DELETE FROM seen WHERE agent = ?", id[:])
}

// Close writes what is fresh and closes the file.
func (w *Witness) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.c == nil {
		return nil
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	w.write()
	err := errors.Join(w.err, w.c.close())
	w.c = nil
	return err
}
