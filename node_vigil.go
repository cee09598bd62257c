package perdure

import (
	"container/heap"
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/phase"
)

// A vigil is what an agent is under whose polls tell nothing new: this node polls it from memory, and the store is told
// once in a lease that others need not look. Nothing is claimed, so that everybody may work on the agent at any time,
// and nothing is written. Where this node dies, others poll it as late as they would notice that a claim is nobody's.

// keepVigil begins a vigil over an agent, or goes on with it, and says from when on others look after it.
func (n *Node) keepVigil(id AgentID, due Time) Time {
	now := time.Now()
	n.mu.Lock()
	defer n.mu.Unlock()
	u := n.unheard[id]
	if u == nil || due == 0 || due.Go().After(now.Add(n.lease())) {
		return due
	}
	u.until = now.Add(n.lease())
	return TimeOf(u.until)
}

// underVigil is until when others leave an agent to this node; zero: they do not.
func (n *Node) underVigil(id AgentID) time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	if u := n.unheard[id]; u != nil && u.until.After(time.Now()) {
		return u.until
	}
	return time.Time{}
}

// leaveWithin is how long a node that stops gives back what it has claimed, and tells the store which agents it
// watched: it may be thousands, and others look after those it did not come to when its lease is up.
const leaveWithin = 2 * time.Second

// endVigils tells the store that others may look after the agents this node watched, at once: a poll may have been cut
// off.
func (n *Node) endVigils(ctx context.Context) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), leaveWithin) // also once its grace is over
	defer done()
	var ids []AgentID
	n.mu.Lock()
	for id, u := range n.unheard {
		if u.until.After(time.Now()) {
			ids = append(ids, id)
		}
		u.until = time.Time{}
	}
	n.mu.Unlock()
	for i, id := range ids {
		if ctx.Err() != nil {
			n.Log.Info("others look after agents once the lease is up", "agents", len(ids)-i)
			return
		}
		c, err := n.claim(ctx, id)
		if err == nil {
			var heads []Hash
			heads, err = n.Store.Heads(ctx, id)
			err = errors.Join(err, c.release(ctx, heads, TimeOf(time.Now())))
		}
		if err != nil && !errors.Is(err, ErrConflict) && ctx.Err() == nil { // they do when its time is up
			n.Log.Warn("leave agent to others", "agent", id.Short(), "err", err)
		}
	}
}

// polls reports whether a step is a poll, or nothing.
func polls(step Step) bool {
	switch s := step.(type) {
	case Idle:
		return true
	case decideStep:
		x, _ := s.Action.(Execute)
		_, is := pollIndex(x.Call)
		return is && s.Advice.IsZero()
	}
	return false
}

// keepWatch polls an agent under a vigil. It reports false where there is more to do than that: a turn is to be taken.
func (l *loop) keepWatch(look Look) bool {
	if l.n.underVigil(look.Agent).IsZero() || l.n.barred(look.Agent) != nil {
		return false
	}
	idle, heads, err := l.n.runHeld(l.workCtx, l.ctx.Done(), look.Agent, nil, true, nil)
	if err != nil || idle.Is(phase.RestTurn) {
		return false
	}
	l.rested(look, &idle, heads)
	return true
}

// rested leaves an agent alone that is idle.
func (l *loop) rested(look Look, idle *Idle, heads []Hash) {
	until := restUntil(*idle)
	l.n.rest(look.Agent, digest(heads), until) // with the heads it was found idle at: others may have come since
	if until.Before(l.n.underVigil(look.Agent)) {
		l.mu.Lock()
		heap.Push(&l.vigils, vigil{look, until})
		l.mu.Unlock()
	}
}

// vigil is when an agent is to be polled whose store does not say so.
type vigil struct {
	Look
	at time.Time
}

// vigils are vigils, the next first.
type vigils []vigil

func (v vigils) Len() int           { return len(v) }
func (v vigils) Less(i, j int) bool { return v[i].at.Before(v[j].at) }
func (v vigils) Swap(i, j int)      { v[i], v[j] = v[j], v[i] }
func (v *vigils) Push(x any)        { *v = append(*v, x.(vigil)) }
func (v *vigils) Pop() any {
	last := (*v)[len(*v)-1]
	*v = (*v)[:len(*v)-1]
	return last
}

// nextVigil is an agent under a vigil whose time has come, or when the next has.
func (l *loop) nextVigil(now time.Time) (look Look, at time.Time, found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.vigils) == 0 {
		return Look{}, now.Add(horizon), false
	}
	if at := l.vigils[0].at; at.After(now) {
		return Look{}, at, false
	}
	v := heap.Pop(&l.vigils).(vigil)
	v.Due = TimeOf(v.at)
	return v.Look, v.at, true
}

// watchOver polls the agents under a vigil whose time has come. It returns when the next has, and reports false when
// Run is to stop.
func (l *loop) watchOver(now time.Time) (next time.Time, on bool) {
	for {
		look, at, found := l.nextVigil(now)
		if !found {
			return at, true
		}
		if !l.offer(look, now) {
			return now, false
		}
	}
}
