// Package told is what memory tells advisors that are no language models: all entries in order, and what people said.
package told

import (
	"context"
	"slices"

	"github.com/perdure/perdure"
)

// Past is the memory of an agent, or the part of it that is at hand, in the one order that all nodes agree on: parents
// before children.
type Past struct {
	Entries []*perdure.Entry // those that count
	All     []*perdure.Entry // also the void ones, which link what comes after them to what came before
}

// Recent is what an agent holds.
func Recent(a *perdure.Agent) Past {
	p := Past{Entries: slices.Collect(a.Counting()), All: slices.Collect(a.Recent())}
	slices.Reverse(p.Entries)
	slices.Reverse(p.All)
	return p
}

// Memory is the whole memory of an agent.
func Memory(ctx context.Context, s perdure.Store, a *perdure.Agent) (Past, error) {
	r := a.Reader(s)
	entries, err := r.Since(ctx, 0)
	if err != nil {
		return Past{}, err
	}
	return Past{Entries: entries, All: r.Read()}, nil
}
