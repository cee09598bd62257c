// Package told is what memory tells advisors that are no language models: all entries in order, and what people said.
package told

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/perdure/perdure"
)

// Memory is every entry of an agent in the one order that all nodes agree on.
func Memory(ctx context.Context, s perdure.Store, a *perdure.Agent) ([]*perdure.Entry, error) {
	entries := slices.Collect(a.Recent())
	whole := slices.ContainsFunc(entries, func(e *perdure.Entry) bool { return e.Kind == perdure.KindGenesis })
	if !whole {
		if s == nil {
			return nil, fmt.Errorf(
				"the advisor needs what is further back than what the agent holds: set its Store: %w",
				perdure.ErrIncapable)
		}
		have := make(map[perdure.Hash]bool, len(entries))
		for _, e := range entries { // these may not be in the store yet
			have[e.Name] = true
		}
		for e, err := range perdure.Memory(ctx, s, a.ID()) {
			if err != nil {
				return nil, fmt.Errorf("read memory of %s: %w", a.ID().Short(), err)
			}
			if !have[e.Name] {
				entries = append(entries, e)
			}
		}
	}
	// An entry is numbered after its parents, so this keeps them first.
	slices.SortFunc(entries, BySeq)
	return entries, nil
}

// BySeq orders entries so that parents come before their children.
func BySeq(x, y *perdure.Entry) int { return cmp.Or(cmp.Compare(x.Seq, y.Seq), x.Name.Compare(y.Name)) }
