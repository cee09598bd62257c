package perdure

import (
	"sync"
	"time"
)

// watch wakes the loop when entries arrive. A store that cannot be watched is looked at now and then; one whose watch
// broke is watched again, after a wait that becomes longer.
func (l *loop) watch() {
	w, ok := l.n.Store.(Watcher)
	l.watchers.Go(func() {
		for wait := 1; ok && l.ctx.Err() == nil; wait = min(2*wait, watchAgain) {
			begun := time.Now()
			if err := l.follow(w); err != nil && l.ctx.Err() == nil {
				l.n.Log.Warn("watch the store: looking every second until it can be watched again", "err", err)
			}
			if time.Since(begun) > time.Minute {
				wait = 1
			}
			for i := 0; i < wait && l.pause(storePoll); i++ {
				l.nudge()
			}
		}
		for l.pause(storePoll) {
			l.nudge()
		}
	})
}

// follow wakes the loop when entries arrive, until the watch ends.
func (l *loop) follow(w Watcher) (err error) {
	var ends sync.Mutex
	over := false
	settled := time.AfterFunc(watchSettles, func() {
		ends.Lock()
		defer ends.Unlock()
		if !over { // else nobody would say any more that it is not watched
			l.watched()
		}
	})
	defer func() {
		settled.Stop()
		ends.Lock()
		defer ends.Unlock()
		over = true
		l.n.watched(false)
	}()
	for id, err := range w.Watch(l.ctx) {
		if err != nil {
			return err
		}
		if settled.Stop() {
			l.watched()
		}
		l.n.arrived(id)
		l.n.refusals.forget(id)
		l.n.stir(id)
		if !l.busy(id) { // else it is mostly what was written here, and its turn ends with another look
			l.nudge()
		}
	}
	return nil
}

// watched says that the store tells of what arrives from now on. What arrived while the watch began may not have been
// told.
func (l *loop) watched() {
	l.n.watched(true)
	l.nudge()
}

func (l *loop) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// revisit looks at what a node left that died, or that ran while the clock was ahead: their claims, and the times to
// look at agents next, are not believed. Entries from the future show which agents these are.
func (l *loop) revisit() {
	l.watchers.Go(func() {
		if r, ok := l.n.Store.(Holder); ok {
			if err := r.Reclaim(l.ctx); err != nil && l.ctx.Err() == nil {
				l.n.Log.Error("reclaim agents", "err", err) // their leases end by themselves
			}
			l.nudge()
		}
		l.lookAhead()
	})
}

// watchFuture looks at agents now and then to which another machine has written whose clock is ahead: when they are due
// is by that clock. It mends lines, too.
func (l *loop) watchFuture() {
	if _, ok := l.n.Store.(Lister); !ok {
		return
	}
	l.watchers.Go(func() {
		l.mendLines()
		for wait := futureEvery; l.pause(wait); {
			begun := time.Now()
			l.lookAhead()
			l.mendLines()
			wait = max(futureEvery, futureShare*time.Since(begun))
		}
	})
}

// mendLines writes the lines of agents that are behind: whoever wrote their entries was stopped before it did.
func (l *loop) mendLines() {
	lister, ok := l.n.Store.(Lister)
	if !ok {
		return
	}
	for line, err := range lister.List(l.ctx, Filter{Behind: true}) {
		if err != nil || l.ctx.Err() != nil {
			return // who lists agents is told
		}
		l.n.mu.Lock()
		busy := l.n.working[line.Agent] > 0 // it writes the line when it is done
		l.n.mu.Unlock()
		if !busy {
			_ = l.n.list(l.ctx, line.Agent) // it is only an index, and what is wrong with the agent is said elsewhere
		}
	}
}

// lookAhead offers the agents whose last entry is from the future.
func (l *loop) lookAhead() {
	lister, ok := l.n.Store.(Lister)
	if !ok {
		return
	}
	for line, err := range lister.List(l.ctx, Filter{Since: TimeOf(time.Now().Add(horizon))}) {
		if err != nil {
			if l.ctx.Err() == nil {
				l.n.Log.Error("look for agents from the future", "err", err)
			}
			return
		}
		if !l.offer(Look{Agent: line.Agent, Scope: line.Scope}, time.Now()) {
			return
		}
	}
}
