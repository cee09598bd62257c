package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"sync"
	"time"

	"github.com/perdure/perdure"
)

const (
	// watchEvery is how often a watcher looks for what other processes wrote.
	watchEvery = 30 * time.Millisecond
	// watchPause is how long at least lies between two times that a watcher is told: an agent at work here writes
	// several thousand times a second, and to wake somebody each time costs as much as a tenth of that work.
	watchPause = time.Millisecond
	// maxWatched bounds the agents a watcher is told of before it has asked: one that is further behind looks at all of
	// them.
	maxWatched = 4096
)

// hub tells watchers what arrives. Nothing runs for them while there are none.
type hub struct {
	mu       sync.Mutex
	watchers map[*watcher]struct{}
	conn     *conn      // to see what other processes write; nil while nobody watches
	version  int64      // of the file when last seen
	rid      int64      // everything up to here has been told
	own      [][2]int64 // rows written by this process since, which were told at once
	polled   time.Time
	closed   bool
	looks    bool // nothing is written
}

// watcher is one caller of Watch.
type watcher struct {
	changed map[perdure.AgentID]struct{}
	signal  chan struct{}
}

// tell tells the watchers of agents that the rows from first up to next belong to.
func (h *hub) tell(ids []perdure.AgentID, first, next int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.watchers) == 0 || first == next {
		return
	}
	h.own = append(h.own, [2]int64{first, next})
	for _, id := range ids {
		h.wake(id)
	}
}

func (h *hub) wake(id perdure.AgentID) {
	for w := range h.watchers {
		if len(w.changed) < maxWatched {
			w.changed[id] = struct{}{}
		} else {
			w.changed[perdure.AgentID{}] = struct{}{}
		}
		select {
		case w.signal <- struct{}{}:
		default:
		}
	}
}

// join adds a watcher.
func (h *hub) join(path string, w *watcher) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return fmt.Errorf("store %s: %w", path, fs.ErrClosed)
	}
	if h.conn == nil {
		err := retry(func() (err error) {
			if h.conn == nil {
				mode := "rw"
				if h.looks && logged(path) {
					mode = "ro" // else SQLite makes a log beside the file, and removes it again
				}
				if h.conn, err = dial(path, mode, readerPragmas...); err != nil {
					return err
				}
			}
			if h.version, _, err = h.conn.number("PRAGMA data_version"); err == nil {
				h.rid, _, err = h.conn.number("SELECT max(rid) FROM log")
			}
			return err
		})
		if err != nil {
			return err
		}
		h.watchers = map[*watcher]struct{}{}
	}
	h.watchers[w] = struct{}{}
	return nil
}

// leave removes a watcher.
func (h *hub) leave(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers, w)
	if len(h.watchers) > 0 || h.conn == nil {
		return
	}
	_ = h.conn.close() // it only read
	h.conn, h.own = nil, nil
}

// close wakes the watchers of a store that has ended.
func (h *hub) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for w := range h.watchers {
		close(w.signal)
	}
	var err error
	if h.conn != nil {
		err = h.conn.close()
	}
	h.conn, h.watchers = nil, nil
	return err
}

// poll finds what other processes wrote, unless another watcher just did.
func (h *hub) poll() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.conn == nil || time.Since(h.polled) < watchEvery/2 {
		return nil
	}
	h.polled = time.Now()
	version, _, err := h.conn.number("PRAGMA data_version")
	if err != nil || version == h.version {
		return ignoreBusy(err)
	}
	for len(h.own) > 0 && h.own[0][0] <= h.rid+1 { // what this process wrote was told at once: it is not read again
		h.rid = max(h.rid, h.own[0][1]-1)
		h.own = h.own[1:]
	}
	n := 0
	last := h.rid
	err = h.conn.query("SELECT l.rid, a.id FROM log l JOIN agents a ON a.key=l.agent WHERE l.rid>? ORDER BY l.rid",
		func(v []driver.Value) error {
			if n == maxWatched {
				return errEnough
			}
			n++
			last = integer(v[0])
			if h.isOwn(last) {
				return nil
			}
			var id perdure.AgentID
			b, _ := v[1].([]byte)
			copy(id[:], b)
			h.wake(id)
			return nil
		}, h.rid)
	if err != nil && !errors.Is(err, errEnough) {
		return ignoreBusy(err)
	}
	h.rid = last
	if n < maxWatched { // else there is more to see next time
		h.version = version
	}
	for len(h.own) > 0 && h.own[0][1] <= h.rid+1 {
		h.own = h.own[1:]
	}
	return nil
}

func (h *hub) isOwn(rid int64) bool {
	for _, r := range h.own {
		if rid >= r[0] && rid < r[1] {
			return true
		}
	}
	return false
}

// ignoreBusy leaves it to the next time to look again.
func ignoreBusy(err error) error {
	if busy(err) {
		return nil
	}
	return err
}

// Watch implements perdure.Watcher. It sees what other processes wrote within a few hundredths of a second.
func (s *Store) Watch(ctx context.Context) iter.Seq2[perdure.AgentID, error] {
	return func(yield func(perdure.AgentID, error) bool) {
		if ctx.Err() != nil {
			return
		}
		if err := s.follow(ctx, func(id perdure.AgentID) bool { return yield(id, nil) }); err != nil {
			yield(perdure.AgentID{}, fmt.Errorf("watch: %w", err))
		}
	}
}

// follow calls f with each change until it returns false or ctx ends.
func (s *Store) follow(ctx context.Context, f func(perdure.AgentID) bool) error {
	if err := s.usable(ctx); err != nil {
		return err
	}
	w := &watcher{changed: map[perdure.AgentID]struct{}{}, signal: make(chan struct{}, 1)}
	if err := s.watch.join(s.path, w); err != nil {
		return err
	}
	defer s.watch.leave(w)
	spare := map[perdure.AgentID]struct{}{} // for what changes while they are told
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for told := (time.Time{}); ; told = time.Now() {
		select {
		case _, open := <-w.signal:
			if !open {
				return s.errClosed()
			}
		case <-tick.C:
			if err := s.watch.poll(); err != nil {
				return err
			}
			continue
		case <-ctx.Done():
			return nil
		}
		time.Sleep(watchPause - time.Since(told)) // more may come meanwhile
		s.watch.mu.Lock()
		changed := w.changed
		w.changed = spare
		s.watch.mu.Unlock()
		for id := range changed {
			if ctx.Err() != nil || !f(id) {
				return nil
			}
		}
		clear(changed)
		spare = changed
	}
}
