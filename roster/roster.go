// Package roster says which nodes use a store that nodes on many machines share. The stores of such nodes keep one; a
// home enrolls its node, and shows people who else is there.
package roster

import (
	"context"
	"iter"
	"time"

	"github.com/perdure/perdure"
)

// Kept is how long a store remembers a node that has not been heard of since.
const Kept = time.Hour

// Roster is a store that knows which nodes use it.
type Roster interface {
	// Enroll records what a node says of itself, in the place of what it said before, and that it is there now. Nodes
	// that have not enrolled for Kept are forgotten.
	Enroll(ctx context.Context, node perdure.Key, about []byte) error
	// Leave forgets a node. One that is not known is not an error.
	Leave(ctx context.Context, node perdure.Key) error
	// Present yields the nodes that are known, in no order.
	Present(ctx context.Context) iter.Seq2[Presence, error]
}

// Presence is a node that uses a store.
type Presence struct {
	Node  perdure.Key // of one process: signing keys may be shared
	About []byte      // what it says of itself; the store does not read it
	// Silent is how long ago it enrolled, by the clock of the store: those of nodes may differ.
	Silent time.Duration
}
