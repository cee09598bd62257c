package capsule

import (
	"context"
	"io"
	"iter"
	"testing"

	"github.com/perdure/perdure"
)

// seeking is a store that counts how often it is read from a cursor on, and how many entries come of it.
type seeking struct {
	perdure.Store
	seeks, items int
}

func (s *seeking) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item,
	error] {
	s.seeks++
	return func(yield func(perdure.Item, error) bool) {
		for item, err := range s.Store.Entries(ctx, id, after) {
			if s.items++; !yield(item, err) {
				return
			}
		}
	}
}

// TestAWideMemoryIsExportedInAFewPasses: heads side by side arrive in any order and are written in that of their
// hashes. A seek for each would cost a page of the store for every entry.
func TestAWideMemoryIsExportedInAFewPasses(t *testing.T) {
	const heads = 2000
	w := newAuthor()
	g, a := w.genesis("wide")
	s := &seeking{Store: new(perdure.MemStore)}
	all := []*perdure.Entry{g}
	for range heads {
		es, _ := w.commit(a, perdure.Event{Name: "tick"})
		all = append(all, es...)
	}
	if err := s.Put(t.Context(), g.ID(), all...); err != nil {
		t.Fatal(err)
	}
	x, err := Export(t.Context(), io.Discard, s, g.ID(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if x.Entries != heads+1 || s.seeks > 4 || s.items > 3*heads {
		t.Errorf("%d entries took %d seeks and %d entries read, want at most 4 and %d", x.Entries, s.seeks, s.items,
			3*heads)
	}
}
