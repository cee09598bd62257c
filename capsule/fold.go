package capsule

import (
	"iter"

	"github.com/perdure/perdure"
)

// Fold is the agent that the entries of a capsule come to, at any depth. It holds the recent ones only, and may range over entries a second
// time. The entries have been read without an error before.
func Fold(h Head, entries iter.Seq2[*perdure.Entry, error]) (*perdure.Agent, error) {
	if h.Anchor == nil && h.Depth.Kind != headers {
		return perdure.FoldEntries(entries)
	}
	var a *perdure.Agent
	var batch []*perdure.Entry
	size := 0
	for e, err := range entries {
		switch {
		case err != nil:
		case a != nil:
			batch, size = append(batch, e), size+len(e.BodyBytes())
			if e.Signature != nil && (len(batch) >= batchEntries || size >= batchBytes) {
				a, err = a.Apply(batch...)
				batch, size = nil, 0
			}
		case h.Anchor != nil, e.Kind != perdure.KindGenesis && e.BodyBytes() != nil: // the snapshot; headers alone come before it
			a, err = perdure.FromSnapshot(e)
		}
		if err != nil {
			return nil, misfit(err)
		}
	}
	if a == nil {
		return nil, reject(PredDepth, 0, "$", "no snapshot", "one to begin with")
	}
	a, err := a.Apply(batch...)
	if err != nil {
		return nil, misfit(err)
	}
	if missing := a.Missing(); len(missing) > 0 {
		return nil, reject(PredDepth, 0, "$", "parent "+missing[0].Short()+" is not in it", "every parent after the snapshot")
	}
	return a, nil
}

// misfit is the error of a part of a memory that cannot be folded by itself. A Reader refuses such parts: these came another way.
func misfit(err error) error {
	if err == perdure.ErrBehind {
		return reject(PredDepth, 0, "$", "an entry that reaches behind the snapshot", "only entries that follow it")
	}
	return err
}
