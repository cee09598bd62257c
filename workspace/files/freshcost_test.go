package files

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// reads counts how often a feed is read from somewhere on, and how many entries that takes.
type reads struct {
	*perdure.MemStore
	begun, entries int
}

func (s *reads) Feed(ctx context.Context, after perdure.Cursor) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		s.begun++
		for item, err := range s.MemStore.Feed(ctx, after) {
			s.entries++
			if !yield(item, err) {
				return
			}
		}
	}
}

// What a first sync reads of memory is one reading of what there is, however many documents that is: each reading from
// somewhere on costs a store a page. A second sync reads nothing.
func TestAFirstSyncReadsTextsTogether(t *testing.T) {
	t.Parallel()
	of := func(n int) (begun, entries int) {
		s := &reads{MemStore: new(perdure.MemStore)}
		p := newWorldOn(t, s, "ann").person(0)
		for i := range n {
			p.write(fmt.Sprintf("agents/coder/notes/n%d.md", i), fmt.Sprintf("note %d\n", i))
			if i%10 == 0 { // something else in between
				p.write(fmt.Sprintf("notes/n%d.md", i), "shared\n")
			}
		}
		if _, err := p.Reader.List(t.Context(), workspace.Listed{}); err != nil { // brings the index up to date
			t.Fatal(err)
		}
		s.begun, s.entries = 0, 0
		p.sync()
		begun, entries = s.begun, s.entries
		p.shows(fmt.Sprintf("notes/n%d.md", n-1), fmt.Sprintf("note %d\n", n-1))
		p.still()
		if s.begun > begun {
			t.Errorf("with nothing new, %d documents took %d readings", n, s.begun-begun)
		}
		return begun, entries
	}
	few, _ := of(20)
	many, entries := of(200)
	if many > few {
		t.Errorf("20 documents took %d readings, 200 took %d", few, many)
	}
	if entries > 3*220 {
		t.Errorf("220 documents took %d entries", entries)
	}
}
