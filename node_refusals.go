package perdure

import (
	"context"
	"slices"
	"time"
)

// refusal is that an agent does not count here because of who vouches for its past. To find that out takes reading
// all of a memory, so of an agent that is refused again it is believed for a while, as long as heads and trust are the
// same.
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

// refusal is the refusal of an agent, if it still holds; else one without a reason, with what it would have to be
// judged by: the trust of now, and of an agent that was refused before its heads.
func (n *Node) refusal(ctx context.Context, id AgentID) refusal {
	now := refusal{trust: n.trust(), until: time.Now().Add(refusalHolds)}
	was, ok := n.refusals.get(id)
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
