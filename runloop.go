package perdure

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	// horizon is how far ahead the next due agent is looked for.
	horizon = time.Hour
	// restFor is how long an agent this node can do nothing for is left alone if nothing happens to it.
	restFor = 30 * time.Second
	// storePoll is how often a store that cannot be watched is looked at for work of other processes.
	storePoll = time.Second
)

// Run works on the agents that are due until ctx ends: it claims them, earliest first, gives each its turn, and sleeps until the next is due
// or something arrives. When ctx ends it begins nothing more: no cycle, advice, decision or effect. What is under way may go on for Grace and is
// then cut off; what is known of it is recorded: its outcome, or that it is in doubt. It returns nil when stopped that way.
func (n *Node) Run(ctx context.Context) error {
	if err := n.fit(); err != nil {
		return err
	}
	workCtx, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	l := &loop{n: n, ctx: ctx, workCtx: workCtx, slots: make(chan struct{}, or(n.Concurrency, 64)), wake: make(chan struct{}, 1), running: map[AgentID]bool{}}
	l.watch()
	l.collect()
	if r, ok := n.Store.(Reclaimer); ok {
		if err := r.Reclaim(ctx); err != nil && ctx.Err() == nil {
			n.Log.Error("reclaim agents", "err", err) // their leases end by themselves
		}
	}
	err := l.run()
	timer := time.AfterFunc(or(n.Grace, 10*time.Second), func() { giveUp(errStopping) })
	l.workers.Wait()
	timer.Stop()
	l.watchers.Wait()
	n.release()
	return err
}

// loop is one Run.
type loop struct {
	n        *Node
	ctx      context.Context // ends when Run is to stop
	workCtx  context.Context // ends when effects under way are given up
	slots    chan struct{}
	wake     chan struct{} // something may be due earlier than thought
	workers  sync.WaitGroup
	watchers sync.WaitGroup

	mu      sync.Mutex
	running map[AgentID]bool
}

// watch wakes the loop when entries arrive.
func (l *loop) watch() {
	w, ok := l.n.Store.(Watcher)
	l.watchers.Go(func() {
		if ok {
			for _, err := range w.Watch(l.ctx) {
				if err != nil {
					break
				}
				l.nudge()
			}
		}
		tick := time.NewTicker(storePoll) // the store cannot be watched, or no longer
		defer tick.Stop()
		for {
			select {
			case <-l.ctx.Done():
				return
			case <-tick.C:
				l.nudge()
			}
		}
	})
}

func (l *loop) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run starts work until stopped.
func (l *loop) run() error {
	for {
		next, err := l.scan()
		if err != nil && l.ctx.Err() == nil {
			l.n.Log.Error("look for due agents", "err", err)
			next = time.Now().Add(storePoll)
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-l.ctx.Done():
			timer.Stop()
			return nil
		case <-l.wake:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// scan starts work on every agent that is due, as slots allow, and returns when to look again.
func (l *loop) scan() (time.Time, error) {
	now := time.Now()
	for look, err := range l.n.Store.Due(l.ctx, now.Add(horizon)) {
		if err != nil {
			return now, err
		}
		if at := look.Due.Go(); at.After(now) {
			return at, nil
		}
		if l.busy(look.Agent) || l.n.atRest(l.ctx, look.Agent, now) {
			continue
		}
		select {
		case l.slots <- struct{}{}:
		case <-l.ctx.Done():
			return now, nil
		}
		l.start(look.Agent)
	}
	return now.Add(horizon), nil
}

func (l *loop) busy(id AgentID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running[id]
}

// start works on one agent in a goroutine of its own, for one turn.
func (l *loop) start(id AgentID) {
	l.mu.Lock()
	l.running[id] = true
	l.mu.Unlock()
	l.workers.Go(func() {
		defer func() {
			l.mu.Lock()
			delete(l.running, id)
			l.mu.Unlock()
			<-l.slots
			l.nudge()
		}()
		l.turn(id)
	})
}

// turn is one agent's turn.
func (l *loop) turn(id AgentID) {
	if l.ctx.Err() != nil {
		return
	}
	c, err := l.n.claim(l.workCtx, id)
	if err != nil {
		if !errors.Is(err, ErrConflict) {
			l.n.Log.Error("claim agent", "agent", id.Short(), "err", err)
		}
		l.n.rest(id, Hash{}, time.Now().Add(storePoll))
		return
	}
	idle, heads, err := l.n.runClaimed(l.workCtx, l.ctx.Done(), id, c, or(l.n.Quantum, 64))
	if err != nil {
		if l.workCtx.Err() == nil {
			l.n.Log.Error("run agent", "agent", id.Short(), "err", err)
		}
		l.n.rest(id, Hash{}, time.Now().Add(loadRetry))
		return
	}
	if idle.Until != 0 && idle.Until <= TimeOf(time.Now()) && idle.Cannot == "" {
		return // its next turn is now
	}
	l.n.rest(id, digest(heads), restUntil(idle)) // with the heads it was found idle at: others may have come since
}

// restUntil is when an idle agent is worth another look if nothing happens to it.
func restUntil(idle Idle) time.Time {
	if idle.Until == 0 || idle.Cannot != "" {
		return time.Now().Add(restFor)
	}
	return idle.Until.Go()
}

// rest remembers that this node has nothing to do for an agent with these heads. It saves work; forgetting it costs a look.
func (n *Node) rest(id AgentID, head Hash, until time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.rests) > 4*or(n.CacheSize, 256)+1024 {
		clear(n.rests)
	}
	n.rests[id] = resting{head: head, until: until}
}

// atRest reports whether there is still nothing to do here for an agent.
func (n *Node) atRest(ctx context.Context, id AgentID, now time.Time) bool {
	n.mu.Lock()
	r, ok := n.rests[id]
	n.mu.Unlock()
	if !ok {
		return false
	}
	if now.Before(r.until) {
		if r.head.IsZero() {
			return true
		}
		if heads, err := n.Store.Heads(ctx, id); err == nil && digest(heads) == r.head {
			return true
		}
	}
	n.mu.Lock()
	delete(n.rests, id)
	n.mu.Unlock()
	return false
}

// digest names a set of heads.
func digest(heads []Hash) Hash {
	if len(heads) == 1 {
		return heads[0]
	}
	b := make([]byte, 0, len(heads)*len(Hash{}))
	for _, h := range slices.SortedFunc(slices.Values(heads), Hash.Compare) {
		b = append(b, h[:]...)
	}
	return HashOf(b)
}
