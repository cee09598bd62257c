package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure"
)

const (
	// committers is how many transactions of appends one process has under way at a time. Each agent has its own: what
	// is written to it is in order.
	committers = 4
	// maxBatch and maxBatchBytes bound what shares one transaction: enough that it costs little, few enough that nobody
	// waits long.
	maxBatch      = 1024
	maxBatchBytes = 4 << 20
)

// request is an append that waits to be committed.
type request struct {
	row
	id         perdure.AgentID
	old, heads []byte
	says       perdure.Time
	genesis    *perdure.Entry // of an agent that is to be made
	last       perdure.Hash   // the name of its last entry
	state      atomic.Int32
	left       <-chan struct{} // closed when the caller does not wait any more
	err        error
	done       chan struct{}
}

// The states of a request.
const (
	waiting int32 = iota
	taken
	abandoned
)

// queue is the appends of some agents that wait for the transaction before theirs to end. Who finds it at rest commits
// what is there, its own request among it; what came meanwhile is committed beside its callers.
type queue struct {
	mu      sync.Mutex
	waiting []*request
	busy    bool // a transaction of it is under way, or about to begin
}

// submit appends and waits until it is committed. When ctx ends before its transaction has begun, nothing was added.
func (s *Store) submit(ctx context.Context, r *request) error {
	r.done, r.left = make(chan struct{}), ctx.Done()
	q := &s.queues[binary.BigEndian.Uint16(r.id[:])%committers]
	first, err := s.hand(ctx, q, r)
	if err != nil {
		return err
	}
	if first {
		runtime.Gosched() // those who are about to write share the transaction
		s.commit(q.take())
		s.goOn(q)
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

// hand puts a request into a queue, and says whether its caller is the one to commit.
func (s *Store) hand(ctx context.Context, q *queue, r *request) (first bool, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return false, s.errClosed()
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, r)
	first, q.busy = !q.busy, true
	if first {
		s.group.Add(1)
	}
	return first, nil
}

// goOn lets a queue rest, or has what came meanwhile committed.
func (s *Store) goOn(q *queue) {
	if q.rests() {
		s.group.Done()
		return
	}
	go func() {
		defer s.group.Done()
		for {
			s.commit(q.take())
			runtime.Gosched() // those who were answered may have more
			if q.rests() {
				return
			}
		}
	}()
}

// rests reports whether nothing waits; then the next that comes commits.
func (q *queue) rests() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy = len(q.waiting) > 0
	return !q.busy
}

// take takes what shares the next transaction, in the order it came. Of one agent that is one request: the second waits
// for what came of the first.
func (q *queue) take() []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 1 {
		batch := q.waiting
		q.waiting = nil
		return batch
	}
	var batch, later []*request
	seen, size := make(map[perdure.AgentID]bool, len(q.waiting)), 0
	for _, r := range q.waiting {
		if seen[r.id] || len(batch) >= maxBatch || size >= maxBatchBytes {
			later = append(later, r)
			continue
		}
		batch, size, seen[r.id] = append(batch, r), size+len(r.data), true
	}
	q.waiting = later
	return batch
}

// commit appends a batch in one transaction, in which every request has its own outcome. Where the connection is lost
// it is done again: what had been committed is found then.
func (s *Store) commit(batch []*request) {
	batch = slices.DeleteFunc(batch, func(r *request) bool { return !r.state.CompareAndSwap(waiting, taken) })
	// in one order, so that processes that write to the same agents are seldom in each other's way: where the server
	// takes them in another and finds a deadlock, it is done again
	slices.SortFunc(batch, func(a, b *request) int { return bytes.Compare(a.id[:], b.id[:]) })
	s.carryOut(batch, false)
}

// carryOut is commit of requests that were taken. Again says that they were tried before.
func (s *Store) carryOut(batch []*request, again bool) {
	deadline, wait := time.Now().Add(s.patience), firstRetry
	for ; len(batch) > 0; again = true {
		added, err := s.appendAll(batch)
		if err == nil {
			s.conclude(batch, added, again)
			return
		}
		if !passing(err) && len(batch) > 1 { // it is about one of them
			for i := range batch {
				s.carryOut(batch[i:i+1], again)
			}
			return
		}
		if !passing(err) || time.Now().Add(wait).After(deadline) {
			if err = s.helped(err); passing(err) {
				err = unreachable(fmt.Errorf("whether it was added is not known: %w", err))
			}
			for _, r := range batch {
				r.finish(err)
			}
			return
		}
		time.Sleep(wait)
		wait = min(2*wait, lastRetry)
		batch = slices.DeleteFunc(batch, func(r *request) bool {
			select {
			case <-r.left:
				r.finish(
					fmt.Errorf(
						"%w while the server could not be reached: whether it was added is not known: %w",
						context.Canceled, err,
					),
				)
				return true
			default:
				return false
			}
		})
	}
}

func (r *request) finish(err error) {
	r.err = err
	close(r.done)
}

// conclude tells everybody what came of their request. One that was made again and was refused may have been committed
// the first time.
func (s *Store) conclude(batch []*request, added map[int]int64, again bool) {
	var ids []perdure.AgentID
	var at []int64
	for i, r := range batch {
		if added[i] != 0 {
			ids, at = append(ids, r.id), append(at, added[i])
		}
	}
	s.changed(ids, at)
	for i, r := range batch {
		switch {
		case added[i] != 0:
			r.finish(nil)
		case !again:
			r.finish(perdure.ErrConflict)
		default:
			ctx, cancel := context.WithTimeout(context.Background(), s.patience)
			held, err := s.holds(ctx, r.id, r.last)
			cancel()
			if err == nil && !held {
				err = perdure.ErrConflict
			}
			r.finish(err)
		}
	}
}

// lockText says that a transaction is about to take positions after the last: see horizon. It comes before them, as a
// statement of its own, or as one that must have yielded its row before the first of them is taken.
const lockText = "SELECT pg_advisory_xact_lock_shared($1::bigint | last_value) FROM ~pos"

// appendText appends to agents whose heads are the ones given. A row that another transaction has changed meanwhile is
// looked at as it is then. What it returns says which appends were carried out, by their first name, and where.
//
// Each row that is added is one of u beside the one of l, and its position is taken when both are there: so the lock
// comes first.
//
// When to look is indexed, and changing it costs more than all the rest of the row: of an agent that is told one thing
// after the other it stays what it was for a second.
const appendText = `
WITH l AS MATERIALIZED (
	SELECT pg_advisory_xact_lock_shared($8::bigint | last_value) FROM ~pos
), u AS (
	UPDATE ~agents a SET heads=r.fresh, unlisted=true, says=nullif(r.says,0), due=CASE
		WHEN a.node IS NOT NULL OR r.says>=a.due AND r.says<a.due+1000 THEN a.due ELSE nullif(r.says,0) END
	FROM unnest($1::bytea[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bytea[], $6::bytea[], $7::bytea[])
		AS r(id, old, fresh, says, names, data, snaps)
	WHERE a.id=r.id AND a.heads=r.old RETURNING a.key, r.names, r.data, r.snaps
)
INSERT INTO ~log(agent, pos, names, data, snaps) SELECT key, nextval('~pos'), names, data, snaps FROM u, l
RETURNING pos, substring(names FROM 1 FOR 32)`

// singleText is appendText for one agent, as of a writer who is alone: the server spends a third less on it than on
// taking arrays apart.
const singleText = `
WITH l AS MATERIALIZED (
	SELECT pg_advisory_xact_lock_shared($8::bigint | last_value) FROM ~pos
), u AS (
	UPDATE ~agents a SET heads=$3, unlisted=true, says=nullif($4::bigint,0), due=CASE
		WHEN a.node IS NOT NULL OR $4>=a.due AND $4<a.due+1000 THEN a.due ELSE nullif($4,0) END
	WHERE a.id=$1 AND a.heads=$2 RETURNING a.key
)
INSERT INTO ~log(agent, pos, names, data, snaps) SELECT key, nextval('~pos'), $5::bytea, $6::bytea, $7::bytea FROM u, l
RETURNING pos, substring(names FROM 1 FOR 32)`

// createText makes agents that are not there.
const createText = `
WITH r AS (
	SELECT * FROM unnest($1::bytea[], $2::bytea[], $3::bigint[], $4::bytea[], $5::bytea[], $6::bytea[],
		$7::bytea[], $8::bytea[], $9::bytea[], $10::int[], $11::bytea[], $12::bigint[], $13::bigint[], $14::bigint[], $15::bigint[], $16::bool[])
	AS r(id, fresh, says, names, data, snaps, name, kind, scope, state, labels, created, updated, due, entries, waiting)
), u AS (
	INSERT INTO ~agents(id, heads, says, due, unlisted) SELECT id, fresh, nullif(says,0), nullif(says,0), fresh<>id FROM r ORDER BY id
	ON CONFLICT (id) DO NOTHING RETURNING key, id
), m AS (
	INSERT INTO ~listings(agent, id, name, kind, scope, state, labels, created, updated, due, entries, waiting)
	SELECT u.key, u.id, r.name, r.kind, r.scope, r.state, r.labels, r.created, r.updated, r.due, r.entries, r.waiting FROM u JOIN r ON r.id=u.id
)
INSERT INTO ~log(agent, pos, names, data, snaps) SELECT u.key, nextval('~pos'), r.names, r.data, r.snaps FROM u JOIN r ON r.id=u.id
RETURNING pos, substring(names FROM 1 FOR 32)`

// appendAll sends a batch in one round trip, which is one transaction, and returns the positions of its requests that
// were carried out.
func (s *Store) appendAll(batch []*request) (map[int]int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTime)
	defer cancel()
	var grow, born columns
	for i, r := range batch {
		if r.genesis == nil {
			grow.add(i, r)
		} else {
			born.add(i, r)
		}
	}
	added := map[int]int64{}
	growing := []any{grow.id, grow.old, grow.heads, grow.says, grow.names, grow.data, grow.snaps, s.server.tag}
	if len(born.index) == 0 {
		text := appendText
		if r := batch[0]; len(batch) == 1 {
			text, growing = singleText,
				[]any{r.id[:], r.old, r.heads, int64(r.says), r.names, r.data, r.snaps, s.server.tag}
		}
		rows, err := s.pool.Query(ctx, s.sql(text), growing...)
		if err == nil {
			err = grow.placed(rows, added)
		}
		return added, err
	}
	l := &born.listings
	if err := l.fill(batch); err != nil {
		return nil, err
	}
	b := &pgx.Batch{}
	b.Queue(s.sql(lockText), s.server.tag) // what grows takes it only where something does
	var all []*columns
	if len(grow.index) > 0 {
		b.Queue(s.sql(appendText), growing...)
		all = append(all, &grow)
	}
	b.Queue(s.sql(createText), born.id, born.heads, born.says, born.names, born.data, born.snaps,
		l.name, l.kind, l.scope, l.state, l.labels, l.created, l.updated, l.due, l.entries, l.waiting)
	all = append(all, &born)
	sent := s.pool.SendBatch(ctx, b)
	_, err := sent.Exec()
	for _, c := range all {
		if err == nil {
			var rows pgx.Rows
			if rows, err = sent.Query(); err == nil {
				err = c.placed(rows, added)
			}
		}
	}
	if e := sent.Close(); err == nil { // the transaction has ended only then
		err = e
	}
	return added, err
}

// placed notes the positions of requests that were carried out.
func (c *columns) placed(rows pgx.Rows, added map[int]int64) error {
	return each(rows, func(r pgx.Rows) error {
		var pos int64
		var name []byte
		err := r.Scan(&pos, &name)
		if i, ok := c.index[string(name)]; err == nil && ok {
			added[i] = pos
		}
		return err
	})
}

// columns are requests as a statement takes them.
type columns struct {
	index                              map[string]int // where each is in its batch, by its first name
	id, old, heads, names, data, snaps [][]byte
	says                               []int64
	listings                           listingColumns
}

func (c *columns) add(i int, r *request) {
	if c.index == nil {
		c.index = map[string]int{}
	}
	c.index[string(r.names[:hashSize])] = i
	c.id, c.old, c.heads = append(c.id, r.id[:]), append(c.old, r.old), append(c.heads, r.heads)
	c.names, c.data, c.snaps = append(c.names, r.names), append(c.data, r.data), append(c.snaps, r.snaps)
	c.says = append(c.says, int64(r.says))
}
