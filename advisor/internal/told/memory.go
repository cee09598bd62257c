// Package told is what memory tells advisors that are no language models: all entries in order, and what people said.
package told

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/perdure/perdure"
)

// Past is the memory of an agent, or the part of it that is at hand.
type Past struct {
	Entries []*perdure.Entry // those that count, parents before children
	All     []*perdure.Entry // also the void ones, which link what comes after them to what came before
}

// Recent is what an agent holds.
func Recent(a *perdure.Agent) Past {
	return Past{Entries: slices.SortedFunc(a.Counting(), bySeq), All: slices.Collect(a.Recent())}
}

// Memory is the whole memory of an agent, in the one order that all nodes agree on.
func Memory(ctx context.Context, s perdure.Store, a *perdure.Agent) (Past, error) {
	held := Recent(a)
	if slices.ContainsFunc(held.All, func(e *perdure.Entry) bool { return e.Kind == perdure.KindGenesis }) {
		return held, nil
	}
	if s == nil {
		return Past{}, fmt.Errorf(
			"the advisor needs what is further back than what the agent holds: set its Store: %w",
			perdure.ErrIncapable)
	}
	p := Past{All: held.All}
	have := make(map[perdure.Hash]bool, len(held.All))
	for _, e := range held.All { // these may not be in the store yet
		have[e.Name] = true
	}
	for e, err := range perdure.Memory(ctx, s, a.ID()) {
		if err != nil {
			return Past{}, fmt.Errorf("read memory of %s: %w", a.ID().Short(), err)
		}
		if !have[e.Name] {
			p.All = append(p.All, e)
		}
	}
	for e, err := range a.Fold().Counting(Each(p.All)) {
		if err != nil {
			return Past{}, fmt.Errorf("read memory of %s: %w", a.ID().Short(), err)
		}
		p.Entries = append(p.Entries, e)
	}
	// An entry is numbered after its parents, so this keeps them first.
	slices.SortFunc(p.Entries, bySeq)
	return p, nil
}

// Each yields entries as a memory does.
func Each(entries []*perdure.Entry) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// bySeq orders entries so that parents come before their children.
func bySeq(x, y *perdure.Entry) int { return cmp.Or(cmp.Compare(x.Seq, y.Seq), x.Name.Compare(y.Name)) }
