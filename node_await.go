package perdure

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Ended waits until an agent has ended, here or in another process, and returns it as it ended. An agent that ends here
// is not read back from the store. It does not run the agent: that is for Run, here or elsewhere. A store that is no
// Watcher is looked at now and then.
func (n *Node) Ended(ctx context.Context, id AgentID) (*Agent, error) {
	if err := n.init(); err != nil {
		return nil, err
	}
	w := n.await(id)
	defer n.forgo(w)
	for {
		begun := time.Now()
		a, err := n.Load(ctx, id)
		if err != nil || a.fold.Ended != nil {
			return a, err
		}
		look := time.Now().Add(lookShare * time.Since(begun)) // a long memory is not read over and over
		for still := true; still; still = n.same(ctx, w) {
			select {
			case a := <-w.ended:
				return a, nil
			case <-w.stirred:
			case <-ctx.Done():
				return nil, fmt.Errorf("wait for agent %s to end: %w", id.Short(), ctx.Err())
			}
		}
		if err := w.rest(ctx, time.Until(look)); err != nil {
			return nil, fmt.Errorf("wait for agent %s to end: %w", id.Short(), err)
		}
	}
}

// same reports whether there is nothing new to see of an agent: this node is at work on it, or nothing came since it
// was.
func (n *Node) same(ctx context.Context, w *waiter) bool {
	n.mu.Lock()
	known, working := w.known, n.working[w.id] > 0
	n.mu.Unlock()
	if working {
		return true
	}
	heads, err := n.Store.Heads(ctx, w.id)
	return err == nil && slices.Equal(heads, known)
}

// lookShare is how much longer than a look at an agent it rests before the next one.
const lookShare = 10

// waiter waits for the end of an agent.
type waiter struct {
	id      AgentID
	ended   chan *Agent   // the agent as it ended here
	stirred chan struct{} // something may have arrived for it
	known   []Hash        // the heads with which this node last left it, and it had not ended
}

// rest waits, unless the agent ends here meanwhile: then Ended finds it as it was kept, or in the store.
func (w *waiter) rest(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case a := <-w.ended:
		select {
		case w.ended <- a:
		default: // it was told again
		}
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// await adds a waiter.
func (n *Node) await(id AgentID) *waiter {
	w := &waiter{id: id, ended: make(chan *Agent, 1), stirred: make(chan struct{}, 1)}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiters == nil {
		n.waiters = map[AgentID][]*waiter{}
	}
	n.waiters[id] = append(n.waiters[id], w)
	n.watchForWaiters()
	return w
}

// watchForWaiters has the store watched while somebody waits and Run does not watch it anyway. Mu is held.
func (n *Node) watchForWaiters() {
	switch wanted := len(n.waiters) > 0 && !n.told; {
	case wanted && n.unwatch == nil:
		ctx, stop := context.WithCancel(context.Background())
		n.unwatch = stop
		go n.watchEnds(ctx)
	case !wanted && n.unwatch != nil:
		n.unwatch()
		n.unwatch = nil
	}
}

func (n *Node) forgo(w *waiter) {
	n.mu.Lock()
	defer n.mu.Unlock()
	rest := slices.DeleteFunc(n.waiters[w.id], func(other *waiter) bool { return other == w })
	if n.waiters[w.id] = rest; len(rest) == 0 {
		delete(n.waiters, w.id)
	}
	n.watchForWaiters()
}

// watchEnds tells those who wait of what arrives from elsewhere.
func (n *Node) watchEnds(ctx context.Context) {
	if s, ok := n.Store.(Watcher); ok {
		// what came while the watch began may not be told
		settled := time.AfterFunc(watchSettles, func() { n.arrived(AgentID{}) })
		defer settled.Stop()
		for id, err := range s.Watch(ctx) {
			if err != nil {
				break
			}
			n.arrived(id)
		}
	}
	tick := time.NewTicker(storePoll) // the store cannot be watched, or no longer
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			n.arrived(AgentID{})
		}
	}
}

// arrived says that something has arrived for an agent; the zero one stands for any. While this node is at work on it
// that is its own work, or it finds out by itself.
func (n *Node) arrived(id AgentID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !id.IsZero() {
		n.stirWaiters(id)
		return
	}
	for id := range n.waiters {
		n.stirWaiters(id)
	}
}

// stirWaiters has those look who wait for an agent, unless this node is at work on it. Mu is held.
func (n *Node) stirWaiters(id AgentID) {
	if n.working[id] > 0 {
		return
	}
	for _, w := range n.waiters[id] {
		select {
		case w.stirred <- struct{}{}:
		default:
		}
	}
}

// enter and leave say that this node is at work on an agent.
func (n *Node) enter(id AgentID) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.working == nil {
		n.working = map[AgentID]int{}
	}
	n.working[id]++
}

// leave tells those who wait for the end of an agent, if it has ended.
func (n *Node) leave(id AgentID, w *work) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.working[id]--; n.working[id] == 0 {
		delete(n.working, id)
	}
	if w.a == nil || w.a.fold.Ended == nil || len(w.pending) > 0 {
		for _, one := range n.waiters[id] {
			one.known = w.heads
		}
		n.stirWaiters(id) // others may have written meanwhile
		return
	}
	for _, one := range n.waiters[id] {
		select {
		case one.ended <- w.a:
		default:
		}
	}
}
