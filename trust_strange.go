package perdure

import (
	"context"
	"slices"
)

// Strange refuses (key.trusted), without folding its memory, an agent that cannot count here: its owner is nobody
// trusted to own it, and nobody who is vouched for it. Nil: it may count, and Counts tells. What strangers wrote costs
// whoever lists it a look at each entry, and no more, however its entries hang together.
//
// Paused is the pause that was written last, if nobody has said since that the agent is to go on. To a nil Trust nobody
// is a stranger.
func (t *Trust) Strange(ctx context.Context, s Store, id AgentID) (held error, paused *Pause) {
	if t == nil {
		return nil, nil
	}
	var first *authored
	for item, err := range s.Entries(ctx, id, 0) {
		if err != nil {
			return nil, nil // whoever loads it is told
		}
		if first == nil {
			g, ok := item.content.(Genesis)
			if !ok || t.granted(g.Charter.Owner, MayOwn, g.Charter.Scope) {
				return nil, nil
			}
			first = &authored{key: g.Charter.Owner, right: MayOwn, scope: g.Charter.Scope, entry: item.Name}
			continue
		}
		ev, _ := item.content.(Event)
		vouches := item.Kind == KindSnapshot
		switch n := ev.Notice.(type) {
		case Admitted:
			vouches = true
		case Pause:
			paused = &n
		case Resume:
			paused = nil
		}
		if vouches && t.owns(item.Origin) {
			return nil, nil
		}
	}
	if first == nil {
		return nil, nil
	}
	return untrusted(first, MayOwn), paused
}

// owns reports whether a key is trusted to own anything.
func (t *Trust) owns(k Key) bool {
	return slices.ContainsFunc(t.lines, func(l Trustee) bool {
		return l.Key == k && !l.Revoked && l.Rights.has(MayOwn)
	})
}
