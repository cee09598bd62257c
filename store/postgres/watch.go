package postgres

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure"
)

const (
	// watchEvery is how often a watcher looks for what other processes wrote where the server tells of it, and
	// watchPooled where a pooler is in between.
	watchEvery, watchPooled = time.Second, 100 * time.Millisecond
	// bellEvery is how often a process tells others at most that it wrote. It does so outside the transactions that
	// write: those would end one by one.
	bellEvery = 50 * time.Millisecond
	// maxWatched bounds the agents a watcher is told of before it has asked: one that is further behind looks at all of
	// them.
	maxWatched = 4096
)

// bell tells other processes that this one wrote something.
type bell struct {
	store *Store
	mu    sync.Mutex
	rung  time.Time
	due   bool
	ended bool
	group sync.WaitGroup
}

// channel is what processes listen to.
func (s *Store) channel() string { return "perdure_" + s.server.place.String()[:16] }

// ring has it told, at once or a moment later.
func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.due || b.ended {
		return
	}
	b.due = true
	wait := max(0, bellEvery-time.Since(b.rung))
	b.group.Go(func() {
		pause(context.Background(), b.store.ended, wait)
		b.mu.Lock()
		b.due, b.rung = false, time.Now()
		b.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), bellEvery*20)
		defer cancel()
		// Who is not told looks now and then.
		_, _ = b.store.pool.Exec(ctx, "SELECT pg_notify($1, ''), set_config('synchronous_commit','off',true)",
			b.store.channel())
	})
}

// close waits until what is to be told has been.
func (b *bell) close() {
	b.mu.Lock()
	b.ended = true
	b.mu.Unlock()
	b.group.Wait()
}

// changed tells everybody that agents got entries. At are their positions, where they are known.
func (s *Store) changed(ids []perdure.AgentID, at []int64) {
	if len(ids) == 0 {
		return
	}
	s.watch.tell(ids, at)
	s.bell.ring()
}

// hub tells watchers what arrives. Nothing runs for them while there are none.
type hub struct {
	store    *Store
	mu       sync.Mutex
	watchers map[*watcher]struct{}
	running  *listening     // nil: nothing
	at       int64          // everything up to here has been told
	told     map[int64]bool // and these after it
	closed   bool
}

// listening is what runs while there are watchers.
type listening struct {
	stop  context.CancelFunc
	group sync.WaitGroup
}

// end ends it and waits for that. The hub is not locked.
func (l *listening) end() {
	if l != nil {
		l.stop()
		l.group.Wait()
	}
}

// watcher is one caller of Watch.
type watcher struct {
	changed map[perdure.AgentID]struct{}
	signal  chan struct{}
}

// tell tells the watchers of agents that this process wrote to, at once.
func (h *hub) tell(ids []perdure.AgentID, at []int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.watchers) == 0 {
		return
	}
	for _, pos := range at {
		if pos > h.at {
			h.told[pos] = true
		}
	}
	for _, id := range ids {
		h.wake(id)
	}
}

func (h *hub) wake(id perdure.AgentID) {
	for w := range h.watchers {
		if len(w.changed) >= maxWatched {
			w.changed[perdure.AgentID{}] = struct{}{} // it is told of any
		} else {
			w.changed[id] = struct{}{}
		}
		select {
		case w.signal <- struct{}{}:
		default:
		}
	}
}

// join adds a watcher. The first has the hub begin.
func (h *hub) join(ctx context.Context, w *watcher) error {
	var at int64
	err := h.store.try(ctx, func(ctx context.Context) (err error) {
		at, err = h.store.horizon(ctx)
		return err
	})
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return h.store.errClosed()
	}
	if len(h.watchers) == 0 {
		h.watchers, h.told, h.at = map[*watcher]struct{}{}, map[int64]bool{}, at
		run, stop := context.WithCancel(context.Background())
		h.running = &listening{stop: stop}
		rung := make(chan struct{}, 1)
		h.running.group.Go(func() { h.run(run, rung) })
		if !h.store.server.pooled {
			h.running.group.Go(func() { h.listen(run, rung) })
		}
	}
	h.watchers[w] = struct{}{}
	return nil
}

// leave removes a watcher. The last has the hub end.
func (h *hub) leave(w *watcher) {
	h.mu.Lock()
	delete(h.watchers, w)
	var last *listening
	if len(h.watchers) == 0 {
		last, h.running = h.running, nil
	}
	h.mu.Unlock()
	last.end() // another may begin meanwhile
}

// close wakes the watchers of a store that has ended.
func (h *hub) close() {
	h.mu.Lock()
	h.closed = true
	for w := range h.watchers {
		close(w.signal)
	}
	h.watchers = nil
	last := h.running
	h.running = nil
	h.mu.Unlock()
	last.end()
}

// listen hears of what other processes write, until ctx ends. Where the connection is lost it makes another.
func (h *hub) listen(ctx context.Context, rung chan<- struct{}) {
	for ctx.Err() == nil {
		c, err := pgx.ConnectConfig(ctx, h.store.pool.Config().ConnConfig)
		if err == nil {
			_, err = c.Exec(ctx, "LISTEN "+pgx.Identifier{h.store.channel()}.Sanitize())
			for err == nil {
				select {
				case rung <- struct{}{}: // also at first: what came before is looked for
				default:
				}
				_, err = c.WaitForNotification(ctx)
			}
			end, cancel := context.WithTimeout(context.Background(), cancelGrace)
			_ = c.Close(end)
			cancel()
		}
		pause(ctx, nil, watchEvery)
	}
}

// run looks for what others wrote, when told and now and then, until ctx ends.
func (h *hub) run(ctx context.Context, rung <-chan struct{}) {
	every := watchEvery
	if h.store.server.pooled {
		every = watchPooled
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-rung:
		case <-tick.C:
		}
		call, done := bounded(ctx, callTime)
		_ = h.poll(call) // the next look may go better; nothing is passed over
		done()
	}
}

// poll tells of what arrived. What arrives before something that was told already, because its transaction took longer,
// is told, too.
func (h *hub) poll(ctx context.Context) error {
	to, err := h.store.horizon(ctx)
	if err != nil {
		return err
	}
	h.mu.Lock()
	from := h.at
	h.mu.Unlock()
	const text = "SELECT l.pos, a.id FROM ~log l JOIN ~agents a ON a.key=l.agent WHERE l.pos>$1 ORDER BY l.pos LIMIT $2"
	rows, err := h.store.pool.Query(ctx, h.store.sql(text), from, maxWatched)
	if err != nil {
		return err
	}
	type arrival struct {
		pos int64
		id  perdure.AgentID
	}
	var found []arrival
	err = each(rows, func(r pgx.Rows) error {
		var a arrival
		var id []byte
		err := r.Scan(&a.pos, &id)
		copy(a.id[:], id)
		found = append(found, a)
		return err
	})
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(found) == maxWatched { // they are told to look at everything, so none of it is passed over
		h.wake(perdure.AgentID{})
	} else {
		for _, a := range found {
			if !h.told[a.pos] {
				h.told[a.pos] = true
				h.wake(a.id)
			}
		}
	}
	h.at = max(h.at, to)
	for pos := range h.told {
		if pos <= h.at {
			delete(h.told, pos)
		}
	}
	return nil
}

// Watch implements perdure.Watcher. It sees at once what this process writes, what others write when the server tells,
// and else when it looks.
func (s *Store) Watch(ctx context.Context) iter.Seq2[perdure.AgentID, error] {
	return func(yield func(perdure.AgentID, error) bool) {
		if ctx.Err() != nil {
			return
		}
		if err := s.follow(ctx, func(id perdure.AgentID) bool { return yield(id, nil) }); err != nil &&
			ctx.Err() == nil {
			yield(perdure.AgentID{}, fmt.Errorf("watch: %w", err))
		}
	}
}

// follow calls f with each change until it returns false or ctx ends.
func (s *Store) follow(ctx context.Context, f func(perdure.AgentID) bool) error {
	w := &watcher{changed: map[perdure.AgentID]struct{}{}, signal: make(chan struct{}, 1)}
	if err := s.watch.join(ctx, w); err != nil {
		return err
	}
	defer s.watch.leave(w)
	if !f(perdure.AgentID{}) { // what came while it began was not told
		return nil
	}
	for {
		select {
		case _, open := <-w.signal:
			if !open {
				return s.errClosed()
			}
		case <-ctx.Done():
			return nil
		}
		s.watch.mu.Lock()
		changed := w.changed
		w.changed = map[perdure.AgentID]struct{}{}
		s.watch.mu.Unlock()
		for id := range changed {
			if ctx.Err() != nil || !f(id) {
				return nil
			}
		}
	}
}
