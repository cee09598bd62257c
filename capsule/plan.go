package capsule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/perdure/perdure"
)

// plan is which entries go into a capsule, in fold order.
type plan struct {
	store  perdure.Store
	id     perdure.AgentID
	order  []planned
	heads  []perdure.Hash
	bodies perdure.Position // bodies before it are left out, but for genesis
	anchor *Anchor
	// how many entries there are, each the only child of the one before: no order is needed. 0: it is not so
	chain int64
}

// total is how many entries there are.
func (p *plan) total() int64 { return max(p.chain, int64(len(p.order))) }

// planned is one entry and the cursor before it.
type planned struct {
	perdure.Position
	before perdure.Cursor
	size   int64 // of the body
}

// survey decides what a capsule of a depth holds.
func survey(ctx context.Context, s perdure.Store, id perdure.AgentID, d, held Depth) (*plan, error) {
	p := &plan{store: s, id: id}
	if d == perdure.Full {
		if err := p.straight(ctx); err != nil || p.chain > 0 {
			return p, err
		}
	}
	heads := map[perdure.Hash]bool{}
	var snaps []perdure.Item
	var before perdure.Cursor
	for item, err := range s.Entries(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		p.order = append(p.order, planned{item.Position(), before, int64(len(item.BodyBytes()))})
		before = item.Cursor
		for _, parent := range item.Parents {
			delete(heads, parent)
		}
		heads[item.Name] = true
		if item.Kind == perdure.KindSnapshot && item.Content() != nil && d != perdure.Full {
			snaps = append(snaps, perdure.Item{Entry: item.Drop(), Cursor: before})
		}
	}
	for h := range heads {
		p.heads = append(p.heads, h)
	}
	slices.SortFunc(p.heads, perdure.Hash.Compare)
	slices.SortFunc(p.order, func(a, b planned) int { return a.Position.Compare(b.Position) })
	if d == perdure.Full {
		return p, nil
	}
	return p, p.begin(ctx, snaps, d, held)
}

// straight finds out whether the memory never branched: then a store has it in the one order there is, and once over it
// is enough.
func (p *plan) straight(ctx context.Context) error {
	heads, err := p.store.Heads(ctx, p.id)
	if err != nil || len(heads) != 1 {
		return err
	}
	a, err := perdure.Load(ctx, p.store, p.id)
	if err != nil {
		return ctx.Err() // the memory cannot be folded: it can still be carried elsewhere
	}
	if a.Straight() {
		p.chain, p.heads = a.Fold().Count, a.Heads()
	}
	return nil
}

// begin finds the newest snapshot that at least n entries follow and nothing after it reaches behind.
func (p *plan) begin(ctx context.Context, snaps []perdure.Item, d, held Depth) error {
	slices.SortFunc(snaps, func(a, b perdure.Item) int { return b.Position().Compare(a.Position()) })
	for _, snap := range snaps {
		at, _ := slices.BinarySearchFunc(p.order, snap.Position(), func(o planned, t perdure.Position) int {
			return o.Position.Compare(t)
		})
		if int64(len(p.order)-at-1) < d.N || at+1 < len(p.order) && p.order[at+1].Seq <= snap.Seq || at > 0 &&
			p.order[at-1].Seq >= snap.Seq {
			continue
		}
		if ok, err := p.closed(ctx, snap.Entry, p.order[at+1:]); err != nil || !ok {
			if err != nil {
				return err
			}
			continue
		}
		if d == perdure.Headers {
			p.bodies = snap.Position()
			return nil
		}
		snapshot, err := p.gather(ctx, p.order[at:at+1])
		if err != nil {
			return err
		}
		if p.anchor, err = anchorOf(snapshot[0]); err != nil {
			return err
		}
		p.order = p.order[at:]
		return nil
	}
	if d.IsLast() && d.N > 0 && held == perdure.Full {
		return nil // the whole memory is what there is
	}
	return ErrNoSnapshot
}

// closed reports whether entries link to each other and the snapshot, and to nothing else: nobody could fold them
// without what came before.
func (p *plan) closed(ctx context.Context, snap *perdure.Entry, after []planned) (bool, error) {
	known := map[perdure.Hash]bool{snap.Name: true}
	for _, o := range after {
		known[o.Name] = true
	}
	for e, err := range (&plan{store: p.store, id: p.id, order: after}).entries(ctx) {
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(e.Parents, func(h perdure.Hash) bool { return !known[h] }) {
			return false, nil
		}
	}
	return true, nil
}

// anchorOf is what a snapshot says of everything before it.
func anchorOf(snapshot *perdure.Entry) (*Anchor, error) {
	s, ok := snapshot.Content().(perdure.Snapshot)
	if !ok {
		return nil, fmt.Errorf("entry %s is no snapshot with its body", snapshot.Name.Short())
	}
	state, err := s.Fold.Hash()
	return &Anchor{Seq: snapshot.Seq - 1, Heads: snapshot.Parents, State: state}, err
}

// entries yields what was planned, by sheaves.
func (p *plan) entries(ctx context.Context) iter.Seq2[*perdure.Entry, error] {
	if p.chain > 0 {
		return p.links(ctx)
	}
	return func(yield func(*perdure.Entry, error) bool) {
		for rest := p.order; len(rest) > 0; {
			n := sheaf(rest)
			entries, err := p.gather(ctx, rest[:n])
			if err != nil {
				yield(nil, err)
				return
			}
			for _, e := range entries {
				if e.Position().Compare(p.bodies) < 0 && e.Kind != perdure.KindGenesis {
					e = e.Drop()
				}
				if !yield(e, nil) {
					return
				}
			}
			rest = rest[n:]
		}
	}
}

const (
	// sheafBytes bounds the entries in hand at once.
	sheafBytes = 8 << 20
	// headerBytes is about what an entry takes besides its body.
	headerBytes = 1 << 10
	// maxSkip is how many entries are read past rather than sought: a store reads so many at a time anyway.
	maxSkip = 64
)

// sheaf is how many of the next entries are read at once.
func sheaf(order []planned) int {
	size := int64(0)
	for i, o := range order {
		if size += o.size + headerBytes; size > sheafBytes && i > 0 {
			return i
		}
	}
	return len(order)
}

// gather reads entries in the order the store has them and returns them in the order given. Where branches lie side by
// side the two orders have little in common, and to seek each entry by itself would read a page of the store for every
// one.
func (p *plan) gather(ctx context.Context, sheaf []planned) ([]*perdure.Entry, error) {
	arrival := make([]int, len(sheaf))
	for i := range arrival {
		arrival[i] = i
	}
	slices.SortFunc(arrival, func(a, b int) int { return cmp.Compare(sheaf[a].before, sheaf[b].before) })
	out := make([]*perdure.Entry, len(sheaf))
	for next := 0; next < len(arrival); {
		from, skipped := next, 0
		for item, err := range p.store.Entries(ctx, p.id, sheaf[arrival[next]].before) {
			if err != nil {
				return nil, err
			}
			if at := arrival[next]; item.Name == sheaf[at].Name {
				out[at], skipped = item.Entry, 0
				if next++; next == len(arrival) {
					break
				}
			} else if skipped++; skipped > maxSkip || next == from {
				break
			}
		}
		if next == from {
			return nil, fmt.Errorf("entry %s is no longer where it was: %w", sheaf[arrival[next]].Name.Short(),
				errChanged)
		}
	}
	return out, nil
}

// errChanged says that a store no longer has what was planned.
var errChanged = errors.New("the store changed meanwhile: export again")

// links yields a memory that never branched, up to the head it had.
func (p *plan) links(ctx context.Context) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		var before perdure.Hash
		n := int64(0)
		for item, err := range p.store.Entries(ctx, p.id, 0) {
			if err == nil && (item.Seq != n || n > 0 && (len(item.Parents) != 1 || item.Parents[0] != before)) {
				err = errChanged
			}
			if !yield(item.Entry, err) || err != nil {
				return
			}
			if n, before = n+1, item.Name; n == p.chain {
				break
			}
		}
		if before != p.heads[0] {
			yield(nil, errChanged)
		}
	}
}
