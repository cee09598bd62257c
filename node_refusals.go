package perdure

import (
	"context"
	"slices"
	"sync"
	"time"
)

// refusals are the agents that do not count here because of who vouches for their past. To find that out takes reading
// all of a memory, so of an agent that is refused again it is believed for a while, as long as heads and trust are the
// same.
type refusals struct {
	mu   sync.Mutex
	list map[AgentID]refusal
}

type refusal struct {
	heads []Hash // when it was judged; nil: nobody looked
	trust *Trust
	until time.Time // bodies may come without a new head
	why   *Rejection
}

const (
	// maxRefusals bounds the refusals a node remembers.
	maxRefusals = 1024
	// refusalHolds is how long one is believed.
	refusalHolds = 10 * time.Minute
)

// find is the refusal of an agent, if it still holds; else one without a reason, with what it would have to be judged
// by: the trust of now, and of an agent that was refused before its heads.
func (r *refusals) find(ctx context.Context, n *Node, id AgentID) refusal {
	now := refusal{trust: n.trust(), until: time.Now().Add(refusalHolds)}
	r.mu.Lock()
	was, ok := r.list[id]
	r.mu.Unlock()
	if !ok {
		return now
	}
	heads, err := n.Store.Heads(ctx, id)
	if err != nil {
		return now
	}
	if was.heads != nil && slices.Equal(heads, was.heads) && was.trust == now.trust && time.Now().Before(was.until) {
		return was
	}
	now.heads = heads
	return now
}

// note remembers a refusal.
func (r *refusals) note(id AgentID, was refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil || len(r.list) >= maxRefusals {
		r.list = map[AgentID]refusal{}
	}
	r.list[id] = was
}

// forget drops what is known of an agent to which something has come; zero: of all.
func (r *refusals) forget(id AgentID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.list, id); id.IsZero() {
		clear(r.list)
	}
}
