package capsule

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/perdure/perdure"
)

// Lease is who works on an agent, and when it is to be looked at. A store of capsule files keeps one for each; the zero
// Lease is nobody's.
type Lease struct {
	Node  perdure.Key  `json:"node"` // who has claimed it
	Fence int64        `json:"fence,omitempty"`
	Until perdure.Time `json:"until,omitempty"`

	Released []perdure.Hash `json:"released,omitempty"` // the heads at which it was released,
	Look     perdure.Time   `json:"look,omitempty"`     // to be looked at then
}

// Claim gives the agent to a node, unless another has it.
func (l *Lease) Claim(id perdure.AgentID, node perdure.Key, lease time.Duration) (perdure.Claim, error) {
	now := time.Now()
	if !l.Node.IsZero() && l.Node != node && l.ends(now) > perdure.TimeOf(now) {
		return perdure.Claim{}, fmt.Errorf("%w: node %s holds it until %s", perdure.ErrConflict, l.Node.Short(),
			l.Until)
	}
	// The fence is higher than that of whoever had it before, even if what is known of that was thrown away: no two
	// claims fit into a tick.
	*l = Lease{Node: node, Fence: max(l.Fence+1, now.UnixNano()),
		Until: perdure.TimeOf(now.Add(min(lease, perdure.MaxLease)))}
	return perdure.Claim{Agent: id, Node: node, Fence: l.Fence}, nil
}

// Good reports whether a claim is still good.
func (l *Lease) Good(c perdure.Claim) bool { return l.Node == c.Node && l.Fence == c.Fence }

// Renew makes a claim last longer.
func (l *Lease) Renew(c perdure.Claim, lease time.Duration) error {
	if !l.Good(c) {
		return fmt.Errorf("%w: the claim was lost", perdure.ErrConflict)
	}
	l.Until = perdure.TimeOf(time.Now().Add(min(lease, perdure.MaxLease)))
	return nil
}

// Release gives the agent back, to be looked at when due as long as the heads are these. A claim that was lost releases
// nothing.
func (l *Lease) Release(c perdure.Claim, heads []perdure.Hash, due perdure.Time) {
	if l.Good(c) {
		*l = Lease{Fence: l.Fence, Released: slices.SortedFunc(slices.Values(heads), perdure.Hash.Compare), Look: due}
	}
}

// ends is when the lease ends. One that is longer than any node takes was taken while the clock was ahead: it has
// ended.
func (l *Lease) ends(now time.Time) perdure.Time {
	if l.Until > perdure.TimeOf(now.Add(perdure.MaxLease)) {
		return perdure.AtOnce
	}
	return l.Until
}

// Due is when to look at an agent with these heads, the earliest of which is due then: at the end of a lease, when it
// was released for, or when its entries say. Of several heads none says it: a node is to look at once.
func (l *Lease) Due(heads []perdure.Hash, earliest perdure.Time) perdure.Time {
	switch {
	case !l.Node.IsZero():
		return l.ends(time.Now())
	case len(l.Released) > 0 && slices.Equal(l.Released, heads):
		return l.Look
	case len(heads) > 1:
		return perdure.AtOnce
	}
	return earliest
}

// Pages yields items page by page, each read after the cursor of the last, n of them at most. The first page is short:
// who takes a few and stops does not pay for many.
func Pages(after perdure.Cursor, read func(at perdure.Cursor, n int) ([]perdure.Item, error)) iter.Seq2[perdure.Item,
	error] {
	return func(yield func(perdure.Item, error) bool) {
		for at, n := after, firstEntries; ; n = pageEntries {
			page, err := read(at, n)
			if err != nil {
				yield(perdure.Item{}, err)
				return
			}
			for _, item := range page {
				if at = item.Cursor; !yield(item, nil) {
					return
				}
			}
			if len(page) == 0 {
				return
			}
		}
	}
}

// pageEntries is how many entries a page has at most, and firstEntries the first one.
const pageEntries, firstEntries = 256, 16

// NameSnapshots names the snapshots of the log, newest first, and says where they stand, until yield returns false.
func (l *Log) NameSnapshots(yield func(perdure.Hash, perdure.Cursor) bool) error {
	for _, at := range l.Snapshots() {
		names, err := l.Names(at-1, 1)
		if err != nil || len(names) == 0 || !yield(names[0], at) {
			return err
		}
	}
	return nil
}

// Snapshots yields the snapshots of a Log, newest first, using it anew for each: it may be in other hands between them.
func Snapshots(use func(func(*Log) error) error) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		var at []perdure.Cursor
		err := use(func(l *Log) error {
			at = l.Snapshots()
			return nil
		})
		for i := 0; i < len(at) && err == nil; i++ {
			var page []perdure.Item
			err = use(func(l *Log) (err error) {
				page, err = l.Read(at[i]-1, 1)
				return err
			})
			// it may have been pruned meanwhile
			if err == nil && len(page) == 1 && page[0].Content() != nil && !yield(page[0], nil) {
				return
			}
		}
		if err != nil {
			yield(perdure.Item{}, err)
		}
	}
}
