package perdure

import (
	"context"
	"iter"
	"time"
)

// RosterKept is how long a store remembers a node that has not been heard of since.
const RosterKept = time.Hour

// Roster is a store that knows which nodes use it: one that nodes on many machines share.
type Roster interface {
	// Enroll records what a node says of itself, in the place of what it said before, and that it is there now, by the
	// clock of the server. Nodes that have not enrolled for RosterKept are forgotten.
	Enroll(ctx context.Context, p Presence) error
	// Leave forgets a node. One that is not known is not an error.
	Leave(ctx context.Context, node Key) error
	// Present yields the nodes that are known, in no order.
	Present(ctx context.Context) iter.Seq2[Presence, error]
}

// Presence is a node that uses a store. How long ago it enrolled is counted by the server alone: the clocks of nodes
// may differ.
type Presence struct {
	Node  Key    // of one process: signing keys may be shared
	About []byte // what it says of itself; the store does not read it
	Seen  Time   // when it last enrolled, by the clock of who asks; Enroll does not look at it
}
