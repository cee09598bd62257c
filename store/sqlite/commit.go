package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure"
)

const (
	// maxBatch and maxBatchBytes bound what shares one sync: enough that the sync costs little, few enough that nobody
	// waits long.
	maxBatch      = 1024
	maxBatchBytes = 4 << 20
	// maxAgents bounds the agents whose heads the committer remembers, at about 250 bytes each.
	maxAgents = 1 << 17
)

// request is a change that waits for the committer.
type request struct {
	// checks, then writes; what it returns before it has written concerns this request alone
	apply   func(w *writer) error
	bytes   int
	relaxed bool // what it writes is derived, and need not be synced
	alone   bool // it has a transaction of its own, which an error of it rolls back
	state   atomic.Int32
	err     error
	done    chan struct{} // nil: whoever made it commits it
}

// The states of a request.
const (
	waiting int32 = iota
	taken
	abandoned
)

// brokenError is an error of the file, which ends the whole batch. Others concern one request.
type brokenError struct{ error }

func (e brokenError) Unwrap() error { return e.error }

// submit applies a change, here or by the committer, and waits until it is committed. When ctx ends before that has
// begun, nothing was changed; after that submit waits, which is short.
func (s *Store) submit(ctx context.Context, r *request) error {
	if s.commitHere(ctx, r) {
		if r.state.Load() == abandoned {
			return ctx.Err()
		}
		return r.err
	}
	r.done = make(chan struct{})
	if err := s.hand(ctx, r); err != nil {
		return err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		if r.state.CompareAndSwap(waiting, abandoned) {
			return ctx.Err()
		}
		<-r.done
	}
	return r.err
}

// commitHere commits a request in the goroutine that made it, and reports whether it did: nobody else writes, or is
// about to. To wake the committer, and to be woken by it, would cost a step of an agent a tenth more.
func (s *Store) commitHere(ctx context.Context, r *request) bool {
	if !s.takeTurn(ctx) {
		return false
	}
	defer s.writing.Unlock()
	w := s.writer
	if w.crowd > 1 || w.poisoned != nil { // to open the file anew may take long
		return false
	}
	committed := false
	defer func() {
		if !committed { // it panicked
			_ = w.undo()
		}
	}()
	defer context.AfterFunc(ctx, func() { r.state.CompareAndSwap(waiting, abandoned) })()
	w.commit(r)
	committed = true
	return true
}

// takeTurn locks writing, if nobody has it and nothing waits for it. The committer closes the connection under the same
// lock, so whoever has it can use the connection, also while the store is being closed.
func (s *Store) takeTurn(ctx context.Context) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return !s.closed && s.writer != nil && ctx.Err() == nil && len(s.queue) == 0 && s.writing.TryLock()
}

// hand puts a request into the queue.
func (s *Store) hand(ctx context.Context, r *request) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return s.errClosed()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case s.queue <- r:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// writer is the committer: the one connection of a store that writes, used by one goroutine at a time. It remembers the
// agents it has met for as long as no other connection writes to the file.
type writer struct {
	*conn
	file    string
	level   Sync
	words   *words
	hub     *hub
	syncs   *atomic.Int64
	agents  map[perdure.AgentID]*agent
	pasts   map[perdure.AgentID]*past // what is known of entries before the heads
	version uint32                    // of the file, after this connection changed it last
	next    int64                     // rid
	room    int                       // bytes that the last page of the log has left, as far as is known
	recent  int64                     // rows in recent
	tail    []driver.Value            // agent and rid of the rows after mark
	mark    int64                     // the row that those are after
	moved   bool                      // that is another than in the file
	noted   int64                     // what next was when the tail was noted; zero: it is not
	rest    int64                     // the agent of all rows since then, as the note says; zero: they are others', too
	noting  note                      // room for the note
	wary                              // once a damaged page was met
	buffer  []byte
	parts   []part // room for those of one row
	births  births
	relaxed bool  // commits are not synced at present
	synced  int   // how many commits were
	log     int64 // length of the log's file when last looked at, or made so
	changed []perdure.AgentID
	crowd   int       // requests in a batch, of late
	hasty   time.Time // until when nothing is gathered
	locked  patience  // while others write

	poisoned error         // why nothing is written
	pause    time.Duration // until the file is opened again
	tried    time.Time     // when it was last, or went wrong
}

// openWriter opens the connection that writes, and tries whether it can.
func openWriter(path string, level Sync, p patience) (*writer, error) {
	w := &writer{file: path, level: level, locked: p, relaxed: level == Normal, agents: map[perdure.AgentID]*agent{},
		pasts: map[perdure.AgentID]*past{}}
	if p.limit == 0 {
		p.limit = time.Minute
	}
	err := p.wait(nil, func() (err error) {
		if w.conn == nil {
			if w.conn, err = dial(path, "rw", append(slices.Clone(writerPragmas), level.pragma())...); err != nil {
				return err
			}
		}
		if err := w.exec("BEGIN IMMEDIATE"); err != nil {
			return err
		}
		// On a file that cannot be written SQLite begins a transaction that only reads, and says nothing until the
		// first write.
		return errors.Join(w.exec(fmt.Sprintf("PRAGMA user_version=%d", schemaVersion)), w.exec("ROLLBACK"))
	})
	if err != nil && w.conn != nil {
		err = errors.Join(err, w.close())
		w.conn = nil
	}
	return w, err
}

// run commits what is in the queue until it is closed, then closes the connection. It holds writing while it uses the
// connection.
func (w *writer) run(queue <-chan *request, writing *sync.Mutex) {
	for first := range queue {
		writing.Lock()
		w.commitAll(first, queue)
		writing.Unlock()
	}
	writing.Lock()
	defer writing.Unlock()
	if w.conn != nil {
		_ = w.close() // everything acknowledged has been committed
	}
	if w.side != nil {
		_ = w.side.close() // it only read
	}
}

// commitAll commits a request and those that wait behind it.
func (w *writer) commitAll(first *request, queue <-chan *request) {
	w.gather(queue)
	batch, bytes := []*request{first}, first.bytes
	var next *request // one that goes alone
fill:
	for len(batch) < maxBatch && bytes < maxBatchBytes && !first.alone {
		select {
		case r, open := <-queue:
			if !open {
				break fill
			}
			if r.alone {
				next = r
				break fill
			}
			batch, bytes = append(batch, r), bytes+r.bytes
		default:
			break fill
		}
	}
	w.crowd = max(len(batch), w.crowd*7/8)
	w.commit(batch...)
	if next != nil {
		w.commit(next)
	}
}

const (
	// slowGather is how long one more request may take to come: where they take longer, others use the processor for
	// themselves.
	slowGather = time.Millisecond
	// hasty is how many times as long as such a gathering took nothing is gathered, and longestHaste how long at most.
	hasty        = 20
	longestHaste = 200 * time.Millisecond
)

// gather lets those go first who are about to write, where several do at once: what a transaction costs is mostly not
// what is in it. Where one writes after the other it waits for nobody.
func (w *writer) gather(queue <-chan *request) {
	if w.crowd < 2 {
		return
	}
	begun := time.Now()
	if begun.Before(w.hasty) {
		return
	}
	waiting := len(queue)
	runtime.Gosched()
	now := time.Now()
	if took := now.Sub(begun); took > slowGather*time.Duration(1+len(queue)-waiting) {
		w.hasty = now.Add(min(hasty*took, longestHaste))
	}
}

// commit applies a batch in one transaction, in which every request has its own outcome. An error of the file poisons
// the store.
func (w *writer) commit(batch ...*request) {
	defer func() {
		for _, r := range batch {
			if r.done != nil {
				close(r.done)
			}
		}
	}()
	failed, err := batch, w.reopen()
	if err == nil && !w.met {
		err = w.transact(batch)
	}
	if err == nil && w.met || corrupt(err) {
		failed, err = w.singly(batch, err)
	}
	if err == nil {
		return
	}
	var held heldError
	if errors.As(err, &held) { // nothing was begun
		for _, r := range failed {
			r.err = held.error
		}
		return
	}
	w.words.forget()
	if w.poisoned == nil {
		w.poisoned = fmt.Errorf("a write to %s went wrong, so nothing more is written until it can be opened again, "+
			"which is tried now and then: %w", w.file, err)
		w.pause, w.tried = firstReopen, time.Now()
	}
	for _, r := range failed {
		r.err = w.poisoned
	}
}

// firstReopen and lastReopen are how long a file that could not be written is left alone, at first and at last: less
// than a lease, so that a node goes on about when its claims on agents would have ended.
const (
	firstReopen = time.Second
	lastReopen  = 5 * time.Second
)

// reopen opens a file anew that a write went wrong with, once it has been left alone for a while. A failed sync must
// not be tried again: the system may say that it worked and have lost what it was for. So everything in the log is
// first written out to the file and synced there; what can be read after that is on the disk.
func (w *writer) reopen() error {
	if w.poisoned == nil || time.Since(w.tried) < w.pause {
		return w.poisoned
	}
	if w.conn != nil {
		_ = w.close() // whatever it says, it is not used any more
		w.conn = nil
	}
	fresh, err := openWriter(w.file, w.level, w.locked)
	if err == nil {
		err = fresh.empty()
	}
	if err != nil {
		if fresh != nil && fresh.conn != nil {
			_ = fresh.close()
		}
		w.pause, w.tried = min(2*w.pause, lastReopen), time.Now()
		return w.poisoned
	}
	if w.side != nil {
		_ = w.side.close() // it only read
	}
	fresh.words, fresh.hub, fresh.syncs = w.words, w.hub, w.syncs
	*w = *fresh
	return nil
}

// empty moves everything out of the log into the file, and syncs it.
func (w *writer) empty() error {
	busy, _, err := w.number("PRAGMA wal_checkpoint(TRUNCATE)")
	if err == nil && busy != 0 {
		err = errors.New("others are using the log")
	}
	return err
}

func (w *writer) transact(batch []*request) error {
	relaxed := w.level == Normal || !slices.ContainsFunc(batch, func(r *request) bool { return !r.relaxed })
	if err := w.sync(!relaxed); err != nil {
		return err
	}
	if err := w.begin(batch); err != nil {
		return err
	}
	if !relaxed {
		w.lengthen()
	}
	first := w.next
	w.births.drop()
	w.changed = w.changed[:0]
	for _, r := range batch {
		if !r.state.CompareAndSwap(waiting, taken) {
			continue
		}
		r.err = r.apply(w)
		var broken brokenError
		if errors.As(r.err, &broken) {
			return errors.Join(r.err, w.rollback())
		}
		if r.alone && r.err != nil {
			return w.undo()
		}
	}
	if err := w.place(); err != nil {
		return errors.Join(err, w.rollback())
	}
	if err := w.exec("COMMIT"); err != nil {
		return errors.Join(err, w.rollback())
	}
	w.version, _ = w.dataVersion() // what is wrong with it, begin says
	if !relaxed {
		w.syncs.Add(1)
	}
	w.hub.tell(w.changed, first, w.next)
	w.bear()
	return nil
}

// undo takes back a transaction that went well so far, and what the committer remembers of it.
func (w *writer) undo() error {
	w.unknow()
	return w.exec("ROLLBACK")
}

// unlearn forgets what the committer knows of agents: others may have changed them.
func (w *writer) unlearn() {
	clear(w.agents)
	clear(w.pasts)
	w.births.lost, w.room = false, 0
}

// sync switches whether commits are synced. A synced commit also syncs those before it.
func (w *writer) sync(on bool) error {
	if w.relaxed == !on {
		return nil
	}
	w.relaxed = !on
	if on {
		return w.exec("PRAGMA synchronous=FULL")
	}
	return w.exec("PRAGMA synchronous=NORMAL")
}

// begin takes the lock of the file, as long as somebody waits for that and has the patience, and forgets what others
// may have changed.
func (w *writer) begin(batch []*request) error {
	left := func() bool {
		return !slices.ContainsFunc(batch, func(r *request) bool { return r.state.Load() != abandoned })
	}
	if err := w.locked.wait(left, func() error { return w.exec("BEGIN IMMEDIATE") }); err != nil {
		return err
	}
	version, err := w.dataVersion()
	if err != nil {
		return errors.Join(err, w.rollback())
	}
	if version != w.version || w.next == 0 {
		w.unlearn()
		w.version = version
		var last int64
		const text = "SELECT max(coalesce((SELECT max(rid) FROM log),0), coalesce((SELECT max(rid) FROM mark),0))"
		last, _, err = w.eyes().number(text)
		if w.apart && corrupt(err) { // of mark, it may be
			last, _, err = w.side.number("SELECT coalesce(max(rid),0) FROM log")
		}
		w.next = last + 1
		if err == nil {
			err = w.recall()
			w.noted = w.next // a tail that is not noted is with the next rows
		}
	}
	if err != nil {
		return errors.Join(err, w.rollback())
	}
	return nil
}

// do runs a statement of a transaction.
func (w *writer) do(text string, args ...driver.Value) error {
	if err := w.exec(text, args...); err != nil {
		return brokenError{err}
	}
	return nil
}
