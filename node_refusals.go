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

// find is why an agent was refused, if that still holds; and else, of one that was refused before, its heads now.
func (r *refusals) find(ctx context.Context, n *Node, id AgentID) (why *Rejection, heads []Hash) {
	r.mu.Lock()
	was, ok := r.list[id]
	r.mu.Unlock()
	if !ok {
		return nil, nil
	}
	heads, err := n.Store.Heads(ctx, id)
	if err != nil {
		return nil, nil
	}
	if was.heads != nil && slices.Equal(heads, was.heads) && was.trust == n.trust() && time.Now().Before(was.until) {
		return was.why, heads
	}
	return nil, heads
}

// note remembers why an agent was refused, with the heads it had before that was found out.
func (r *refusals) note(n *Node, id AgentID, heads []Hash, why *Rejection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil || len(r.list) >= maxRefusals {
		r.list = map[AgentID]refusal{}
	}
	r.list[id] = refusal{heads, n.trust(), time.Now().Add(refusalHolds), why}
}

// forget drops what is known of an agent to which something has come; zero: of all.
func (r *refusals) forget(id AgentID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.list, id); id.IsZero() {
		clear(r.list)
	}
}
