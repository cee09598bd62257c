package capsule

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure"
)

// Fold is the agent that the entries of a capsule come to, at any depth. The entries have been read without an error.
func Fold(h Head, entries []*perdure.Entry) (*perdure.Agent, error) {
	from := 0
	switch {
	case len(entries) == 0:
		return nil, fmt.Errorf("fold capsule: %w", reject(PredComplete, 0, "$", "no entries", "at least one"))
	case h.Anchor == nil && h.Depth.Kind != headers:
		a, err := perdure.FoldEntries(func(yield func(*perdure.Entry, error) bool) {
			for _, e := range entries {
				if !yield(e, nil) {
					return
				}
			}
		})
		if err != nil {
			return nil, fmt.Errorf("fold capsule: %w", err)
		}
		return a, nil
	case h.Depth.Kind == headers:
		from = 1 + slices.IndexFunc(entries[1:], func(e *perdure.Entry) bool { return e.BodyBytes() != nil }) // genesis has its body, too
	}
	a, err := perdure.FromSnapshot(entries[from])
	if err == nil {
		a, err = a.Apply(entries[from+1:]...)
	}
	if err != nil {
		return nil, fmt.Errorf("fold capsule: %w", err)
	}
	if missing := a.Missing(); len(missing) > 0 {
		return nil, fmt.Errorf("fold capsule: %w", reject(PredDepth, 0, "$", "parent "+missing[0].Short()+" is not in it", "every parent after the snapshot"))
	}
	return a, nil
}
