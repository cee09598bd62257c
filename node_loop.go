package perdure

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/phase"
)

const (
	// horizon is how far ahead the next due agent is looked for.
	horizon = time.Hour
	// restFor is how long an agent this node can do nothing for is left alone if nothing happens to it. A node does not
	// change, so only what happens to the agent makes another look worthwhile.
	restFor = time.Hour
	// doubtRest is how long an agent is taken to have the heads it had, although the store would have told of others.
	doubtRest = 30 * time.Second
	// maxRests bounds the agents a node remembers to have nothing to do for. Each takes some hundred bytes.
	maxRests = 1 << 20
	// restCost is about what it costs to pass over one of them. Scans that pass over many are not made one after the
	// other.
	restCost = 2 * time.Microsecond
	// watchSettles is how long a store may take until it tells of everything that arrives, if it has told of nothing by
	// then.
	watchSettles = 2 * time.Second
	// futureEvery is how often agents are looked for to which a clock that is ahead has written; futureShare how many
	// times longer than a look it is at least until the next.
	futureEvery, futureShare = time.Minute, 200
	// clockBack is by how much a clock must have been set back to be noticed.
	clockBack = time.Minute
	// watchAgain is after how many storePolls a watch that broke is begun again at the latest.
	watchAgain = 60
	// storePoll is how often a store that cannot be watched is looked at for work of other processes.
	storePoll = time.Second
	// longestTurn is how long an agent goes on for which nobody waits: its line in the store's list is as old as its
	// turn.
	longestTurn = time.Second
)

// Run works on the agents that are due until ctx ends: it claims them, earliest first, gives each its turn, and sleeps
// until the next is due or something arrives. When ctx ends it begins nothing more: no cycle, advice, decision or
// effect. What is under way may go on for Grace and is then cut off; what is known of it is recorded: its outcome, or
// that it is in doubt. It returns nil when stopped that way.
func (n *Node) Run(ctx context.Context) error {
	if err := n.fit(); err != nil {
		return err
	}
	workCtx, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	l := &loop{n: n, ctx: ctx, workCtx: workCtx, slots: make(chan struct{}, or(n.Concurrency, 64)),
		wake: make(chan struct{}, 1), running: map[AgentID]bool{}, said: map[AgentID]string{}}
	n.runs(l, true)
	defer n.runs(l, false)
	l.watch()
	l.collect()
	l.revisit()
	l.watchFuture()
	err := l.run()
	timer := time.AfterFunc(or(n.Grace, 10*time.Second), func() { giveUp(errStopping) })
	l.workers.Wait()
	timer.Stop()
	l.watchers.Wait()
	n.endVigils(workCtx)
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
	queued   atomic.Bool   // an agent waits for a slot
	workers  sync.WaitGroup
	watchers sync.WaitGroup

	mu      sync.Mutex
	running map[AgentID]bool
	said    map[AgentID]string // what was logged of agents that this node cannot go on with
	crowd   crowd
	share   share
	vigils  vigils
}

// run starts work until stopped.
func (l *loop) run() error {
	seen := time.Now().Round(0) // the clock on the wall
	for {
		if now := time.Now().Round(0); now.Before(seen.Add(-clockBack)) {
			l.n.Log.Warn("the clock was set back: looking at every agent that is due", "from", seen, "to", now)
			l.n.wakeAll()
			l.revisit()
		}
		seen = time.Now().Round(0)
		next, passed, err := l.scan()
		if err != nil && l.ctx.Err() == nil {
			l.n.Log.Error("look for due agents", "err", err)
			next = time.Now().Add(storePoll)
		}
		wait := time.Until(next)
		if wait > storePoll && (wait <= l.n.lease()+storePoll || !l.n.isWatched()) {
			wait = storePoll // it may be a lease of another node, which does not say when it gives the agent up
		}
		if !l.pause(time.Duration(passed) * restCost) {
			return nil
		}
		timer := time.NewTimer(wait)
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

// pause waits, and reports whether to go on.
func (l *loop) pause(d time.Duration) bool {
	if d < time.Millisecond {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-l.ctx.Done():
		return false
	}
}

// scan starts work on every agent that is due, as slots allow, and returns when to look again and how many it passed
// over because there is nothing to do for them here.
func (l *loop) scan() (next time.Time, passed int, err error) {
	now := time.Now()
	next, on := l.watchOver(now)
	if !on {
		return now, passed, nil
	}
	left := false
	for look, err := range l.n.Store.Due(l.ctx, now.Add(horizon)) {
		if err != nil {
			return now, passed, err
		}
		if at := look.Due.Go(); at.After(now) {
			if at.Before(next) {
				next = at
			}
			break
		}
		if until, rests := l.n.atRest(l.ctx, look.Agent, now); rests {
			if passed++; until.Before(next) {
				next = until // nothing else may happen until then
			}
		} else if l.leaves() {
			left = true
		} else if !l.offer(look, now) {
			return now, passed, nil
		}
	}
	if l.atEnd(); left {
		next = now // others may leave them too
	}
	return next, passed, nil
}

// offer starts work on an agent, unless it is under way or there is nothing to do for it here. It reports false when
// Run is to stop.
func (l *loop) offer(look Look, now time.Time) bool {
	if l.busy(look.Agent) {
		return true
	}
	if _, rests := l.n.atRest(l.ctx, look.Agent, now); rests {
		return true
	}
	for {
		if !l.slot() {
			return false
		}
		next := l.fairest(look, now)
		if l.start(next); next.Agent == look.Agent || l.ctx.Err() != nil {
			return l.ctx.Err() == nil
		}
	}
}

// slot waits for a place. It reports false when Run is to stop. Nothing is claimed while none is free: what this node
// has no place for is left to others.
func (l *loop) slot() bool {
	select {
	case l.slots <- struct{}{}:
		return true
	default:
	}
	l.queued.Store(true)
	defer l.queued.Store(false)
	l.lookAside()
	select {
	case l.slots <- struct{}{}:
		l.mu.Lock()
		l.share.crowded = time.Now() // until now
		l.mu.Unlock()
		return true
	case <-l.ctx.Done():
		return false
	}
}

func (l *loop) busy(id AgentID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running[id]
}

// start works on one agent in a goroutine of its own, for one turn.
func (l *loop) start(look Look) {
	id := look.Agent
	l.mu.Lock()
	under := l.running[id]
	if !under {
		l.running[id] = true
		l.share.started(look.Scope)
	}
	l.mu.Unlock()
	if under {
		<-l.slots
		return
	}
	l.workers.Go(func() {
		defer func() {
			l.mu.Lock()
			delete(l.running, id)
			l.share.stopped(look.Scope)
			l.mu.Unlock()
			<-l.slots
			l.nudge()
		}()
		l.turn(look)
	})
}

// turn is one agent's turn.
func (l *loop) turn(look Look) {
	id := look.Agent
	if l.ctx.Err() != nil || l.keepWatch(look) {
		return
	}
	begun := TimeOf(time.Now())
	c, err := l.n.claim(l.workCtx, id)
	if err != nil {
		if !errors.Is(err, ErrConflict) && l.news(id, err.Error()) {
			l.n.Log.Error("claim agent", "agent", id.Short(), "err", err)
		}
		l.n.rest(id, Hash{}, time.Now().Add(storePoll))
		if errors.Is(err, ErrConflict) {
			l.refused(id)
		}
		return
	}
	l.taken()
	idle, heads, err := l.n.runClaimed(l.workCtx, l.ctx.Done(), id, c, l.quantum())
	if err != nil {
		if l.workCtx.Err() == nil && l.news(id, err.Error()) {
			l.n.Log.Error("run agent", "agent", id.Short(), "err", err)
		}
		l.n.rest(id, Hash{}, time.Now().Add(loadRetry))
		return
	}
	l.logLack(id, &idle)
	if idle.Until != 0 && idle.Until <= TimeOf(time.Now()) && idle.Needs == "" {
		if idle.Until < begun { // it was so when the turn began, and came to nothing: at once it would again
			l.n.rest(id, Hash{}, time.Now().Add(storePoll))
		}
		return // its next turn is now
	}
	l.rested(look, &idle, heads)
}

// maxSaid bounds the agents of which a node remembers what it has logged of them.
const maxSaid = 1 << 16

// news reports whether this is to be logged of an agent that this node cannot go on with: once, until it is something
// else. Empty: it can.
func (l *loop) news(id AgentID, what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if what == "" {
		delete(l.said, id)
		return false
	}
	if l.said[id] == what {
		return false
	}
	if len(l.said) >= maxSaid {
		clear(l.said)
	}
	l.said[id] = what
	return true
}

// logLack logs what this node lacks for an agent.
func (l *loop) logLack(id AgentID, idle *Idle) {
	_, outside := phase.ScopeIn(idle.Needs)
	if l.news(id, idle.Needs) && !outside {
		l.n.Log.Warn("cannot go on here", "agent", id.Short(), "needs", idle.Needs)
	}
}

// quantum says when a turn is over: after the cycles it has, if others wait for theirs or it has lasted longestTurn.
func (l *loop) quantum() func(cycles int) bool {
	begun, most := time.Now(), or(l.n.Quantum, 64)
	return func(cycles int) bool {
		return cycles >= most && (l.queued.Load() || time.Since(begun) >= longestTurn)
	}
}
