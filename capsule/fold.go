package capsule

import (
	"iter"

	"github.com/perdure/perdure"
)

// Fold is the agent that the entries of a capsule come to, at any depth. It holds the recent ones only, and may range
// over entries a second time. The entries have been read without an error before.
func Fold(h Head, entries iter.Seq2[*perdure.Entry, error]) (*perdure.Agent, error) {
	a, err := h.Holds().Fold(entries)
	if err != nil {
		return nil, misfit(err)
	}
	return a, nil
}

// misfit is the error of a part of a memory that cannot be folded by itself. A Reader refuses such parts: these came
// another way.
func misfit(err error) error {
	if err == perdure.ErrBehind {
		return reject(PredDepth, 0, "$", "an entry that reaches behind the snapshot", "only entries that follow it")
	}
	return err
}
