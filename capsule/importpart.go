package capsule

import (
	"errors"
	"fmt"
	"iter"

	"github.com/perdure/perdure"
)

// place puts a capsule that holds less than the whole memory into a store that has nothing of the agent.
func (im *importing) place(a *Arrival, more []*perdure.Entry) error {
	p, err := im.parter()
	if err != nil {
		return err
	}
	return p.Replace(im.ctx, a.Head.Agent, nil, a.Head.Holds(), im.arriving(a, more))
}

func (im *importing) parter() (perdure.Parter, error) {
	if p, ok := im.s.(perdure.Parter); ok {
		return p, nil
	}
	return nil, reject(PredDepth, 0, "$.depth", "a part of a memory", "the whole of it: this store holds nothing else")
}

// deepens reports whether a capsule reaches further back than what the store holds.
func (im *importing) deepens(h *Head) (bool, error) {
	rank := map[Depth]int{perdure.Full: 2, perdure.Headers: 1} // the last entries: 0, however many
	has, got := rank[im.here], rank[h.Holds()]
	if im.names == nil || im.here == perdure.Full || got != has || got > 0 {
		return im.names != nil && got > has, nil
	}
	for item, err := range im.s.Entries(im.ctx, h.Agent, 0) {
		return err == nil && h.Anchor.Seq+1 < item.Seq, err
	}
	return false, nil
}

// deepen puts the past that a capsule brings before what the store holds, every entry and body of which stays.
func (im *importing) deepen(a *Arrival) error {
	p, err := im.parter()
	if err != nil {
		return err
	}
	bare, err := im.bare()
	if err != nil {
		return err
	}
	own, bodied, err := im.own(a.Head.Agent, bare)
	if err != nil {
		return err
	}
	whole := keeping(bodied, im.arriving(a, own))
	if err := im.together(a, whole); err != nil {
		return err
	}
	if err := im.replaces(a.Head.Agent, whole); err != nil {
		return err
	}
	more, err := im.stay(a, a.Head.Holds(), whole)
	if err != nil {
		return err
	}
	return p.Replace(im.ctx, a.Head.Agent, im.held, a.Head.Holds(), inTurn(whole, each(more)))
}

// replaces refuses what would stand in the place of an agent that is here and does not fold by this trust, where a
// snapshot by somebody else stands for nothing; or would not count any more.
func (im *importing) replaces(id perdure.AgentID, whole iter.Seq2[*perdure.Entry, error]) error {
	if im.o.Trust == nil {
		return nil
	}
	here, err := im.o.Trust.Load(im.ctx, im.s, id)
	if err != nil && !errors.Is(err, perdure.ErrRejected) {
		return err
	}
	counted := err == nil && im.o.Trust.Counts(here) == nil
	next, err := im.o.Trust.Fold(whole)
	if err == nil && counted {
		err = im.o.Trust.Counts(next)
	}
	return err
}

// bare is the entries of the capsule without their bodies.
func (im *importing) bare() (map[perdure.Hash]bool, error) {
	bare := map[perdure.Hash]bool{}
	for e, err := range im.entries() {
		if err != nil {
			return nil, err
		}
		if e.BodyBytes() == nil {
			bare[e.Name] = true
		}
	}
	return bare, nil
}

// own is the entries that only the store has, and those whose body only the store has. It refuses a capsule that does
// not reach what the store begins with.
func (im *importing) own(id perdure.AgentID, bare map[perdure.Hash]bool) (own []*perdure.Entry,
	bodied map[perdure.Hash]*perdure.Entry, err error) {
	first := true
	bodied = map[perdure.Hash]*perdure.Entry{}
	for item, err := range im.s.Entries(im.ctx, id, 0) {
		if err != nil {
			return nil, nil, err
		}
		if im.has(item.Name) {
			if first = false; bare[item.Name] && item.BodyBytes() != nil {
				bodied[item.Name] = item.Entry
			}
			continue
		}
		if first {
			for _, parent := range item.Parents {
				if !im.has(parent) {
					return nil, nil, of(reject(PredDepth, 0, "$.heads",
						"a copy that ends before seq "+fmt.Sprint(item.Seq-1),
						"one that reaches what is here"), item.Entry)
				}
			}
		}
		own, first = append(own, item.Entry), false
	}
	return own, bodied, nil
}

// keeping is entries, with those that the store has the bodies of in their places.
func keeping(bodied map[perdure.Hash]*perdure.Entry,
	entries iter.Seq2[*perdure.Entry, error]) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		for e, err := range entries {
			if err == nil && bodied[e.Name] != nil {
				e = bodied[e.Name]
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// together checks what the store will hold as one memory.
func (im *importing) together(a *Arrival, whole iter.Seq2[*perdure.Entry, error]) error {
	if a.Head.Anchor != nil {
		_, err := a.Head.Depth.Fold(whole)
		return err
	}
	_, err := perdure.Verify(whole, perdure.VerifyOptions{})
	return err
}

// checkBare refuses entries without their bodies for a store that has the whole memory otherwise: it would no longer be
// whole.
func (im *importing) checkBare(h *Head) error {
	if h.Holds() != perdure.Headers || im.here != perdure.Full {
		return nil
	}
	held := map[short]struct{}{}
	for item, err := range im.s.Entries(im.ctx, h.Agent, 0) {
		if err != nil {
			return err
		}
		held[short(item.Name[:16])] = struct{}{}
	}
	for e, err := range im.entries() {
		if err != nil {
			return err
		}
		if _, ok := held[short(e.Name[:16])]; !ok && e.BodyBytes() == nil {
			return of(reject(PredDepth, 0, "$.depth", "entries without their bodies, for a memory that is whole here",
				"a capsule of depth full, or of enough of the last entries to reach what is here"), e)
		}
	}
	return nil
}
