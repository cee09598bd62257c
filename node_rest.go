package perdure

import (
	"context"
	"slices"
	"time"
)

// restUntil is when an idle agent is worth another look if nothing happens to it.
func restUntil(idle Idle) time.Time {
	if idle.Until == 0 || idle.Until <= TimeOf(time.Now()) {
		return time.Now().Add(restFor)
	}
	return idle.Until.Go()
}

// rest remembers that this node has nothing to do for an agent with these heads. It saves work; forgetting it costs a
// look.
func (n *Node) rest(id AgentID, head Hash, until time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for other := range n.rests {
		if len(n.rests) < maxRests {
			break
		}
		delete(n.rests, other) // any one: never all, or all would be looked at again
	}
	n.rests[id] = leftAlone{head: head, until: until}
}

// watched says whether the store tells of what arrives. What arrived before that is to be found out.
func (n *Node) watched(is bool) {
	n.mu.Lock()
	n.told = is
	n.watchForWaiters()
	n.mu.Unlock()
	n.stir(AgentID{})
	n.arrived(AgentID{})
}

func (n *Node) isWatched() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.told
}

// stir says that something has arrived for an agent; for any of them if it is not known for which.
func (n *Node) stir(id AgentID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !id.IsZero() {
		if r, ok := n.rests[id]; ok {
			r.known = time.Time{}
			n.rests[id] = r
		}
		return
	}
	for id, r := range n.rests {
		r.known = time.Time{}
		n.rests[id] = r
	}
}

// wakeAll forgets what this node had nothing to do for, and looks at what is due.
func (n *Node) wakeAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.rests)
	for l := range n.loops {
		l.nudge()
	}
}

// runs notes that a loop runs, or does not any more.
func (n *Node) runs(l *loop, is bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !is {
		delete(n.loops, l)
		return
	}
	if n.loops == nil {
		n.loops = map[*loop]bool{}
	}
	n.loops[l] = true
}

// atRest reports whether there is still nothing to do here for an agent, and until when. It asks the store for the
// heads only if they may have changed.
func (n *Node) atRest(ctx context.Context, id AgentID, now time.Time) (time.Time, bool) {
	n.mu.Lock()
	r, ok := n.rests[id]
	if ok && now.Before(r.until) && (r.head.IsZero() || n.told && now.Sub(r.known) < doubtRest) {
		n.mu.Unlock()
		return r.until, true
	}
	if ok {
		r.known = now // before the heads are read: what arrives after that is told of again
		n.rests[id] = r
	}
	n.mu.Unlock()
	if !ok {
		return time.Time{}, false
	}
	if now.Before(r.until) {
		if heads, err := n.Store.Heads(ctx, id); err == nil && digest(heads) == r.head {
			return r.until, true
		}
	}
	n.mu.Lock()
	delete(n.rests, id)
	n.mu.Unlock()
	return time.Time{}, false
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
