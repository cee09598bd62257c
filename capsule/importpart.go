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

// deepen puts the past that a capsule brings before what the store holds, which stays.
func (im *importing) deepen(a *Arrival) error {
	p, err := im.parter()
	if err != nil {
		return err
	}
	own, err := im.own(a.Head.Agent)
	if err != nil {
		return err
	}
	whole := im.arriving(a, own)
	folded, err := im.together(a, whole)
	if err != nil {
		return err
	}
	if im.o.Trust != nil {
		here, err := im.o.Trust.Load(im.ctx, im.s, a.Head.Agent)
		if err == nil && im.o.Trust.Counts(here) == nil {
			if folded, err = im.o.Trust.Fold(whole); err == nil {
				err = im.o.Trust.Counts(folded)
			}
		}
		if err != nil && !(folded == nil && errors.Is(err, perdure.ErrRejected)) {
			return err
		}
	}
	return p.Replace(im.ctx, a.Head.Agent, im.held, a.Head.Holds(), whole)
}

// own is the entries that only the store has. It refuses a capsule that does not reach what the store begins with.
func (im *importing) own(id perdure.AgentID) (own []*perdure.Entry, err error) {
	first := true
	for item, err := range im.s.Entries(im.ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		if im.has(item.Name) {
			first = false
			continue
		}
		if first {
			for _, parent := range item.Parents {
				if !im.has(parent) {
					return nil, of(reject(PredDepth, 0, "$.heads",
						"a copy that ends before seq "+fmt.Sprint(item.Seq-1),
						"one that reaches what is here"), item.Entry)
				}
			}
		}
		own, first = append(own, item.Entry), false
	}
	return own, nil
}

// together folds what the store will hold, checking all of it.
func (im *importing) together(a *Arrival, whole iter.Seq2[*perdure.Entry, error]) (*perdure.Agent, error) {
	if a.Head.Anchor != nil {
		return a.Head.Depth.Fold(whole)
	}
	v, err := perdure.Verify(whole, perdure.VerifyOptions{})
	if err != nil {
		return nil, err
	}
	return v.Derived(), nil
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
