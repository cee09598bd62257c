package files

import (
	"context"
	"fmt"
	"testing"

	"github.com/perdure/perdure"
)

// appends counts how often something is made durable.
type appends struct {
	*perdure.MemStore
	n int
}

func (s *appends) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash, es ...*perdure.Entry) error {
	s.n++
	return s.MemStore.Append(ctx, id, heads, es...)
}

// Files that are new are taken in together: 20 are durable at once, and so are 200. What is wrong with one of them is
// said of it, and keeps no other out.
func TestNewFilesAreTakenInTogether(t *testing.T) {
	t.Parallel()
	of := func(n int) int {
		s := &appends{MemStore: new(perdure.MemStore)}
		p := newWorldOn(t, s, "ann").person(0)
		p.sync()
		for i := range n {
			p.save(fmt.Sprintf("notes/n%d.md", i), fmt.Sprintf("note %d\n", i))
		}
		p.save("notes/latin.md", "caf\xe9\n")
		s.n = 0
		taken, refused := 0, 0
		for _, c := range p.sync().Changes {
			switch c.Status {
			case Taken:
				taken++
			case Refused:
				refused++
			}
		}
		if taken != n || refused != 1 {
			t.Errorf("%d were taken in, %d refused, want %d and 1", taken, refused, n)
		}
		made := s.n
		p.shows(fmt.Sprintf("notes/n%d.md", n-1), fmt.Sprintf("note %d\n", n-1))
		return made
	}
	few, many := of(20), of(200)
	if many > few {
		t.Errorf("20 files took %d commits, 200 took %d", few, many)
	}
}
