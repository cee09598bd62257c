package perdure_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// counting is a store that counts the entries it gives out.
type counting struct {
	*perdure.MemStore
	given int
}

func (s *counting) Entries(ctx context.Context, id perdure.AgentID,
	after perdure.Cursor) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		for item, err := range s.MemStore.Entries(ctx, id, after) {
			s.given++
			if !yield(item, err) {
				return
			}
		}
	}
}

// A memory of many heads is read, and its signatures are verified, once, but for a beginning.
func TestMemoryOfManyHeadsIsReadOnce(t *testing.T) {
	t.Parallel()
	const heads = 3000
	key, err := perdure.GenerateSigner("wide")
	if err != nil {
		t.Fatal(err)
	}
	g, err := key.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "be wide"},
		Charter: perdure.Charter{Owner: key.Key(), Scope: "test"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	all := []*perdure.Entry{g}
	for i := range heads {
		es, _, err := key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: fmt.Sprint("x", i)}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, es...)
	}
	s := &counting{MemStore: new(perdure.MemStore)}
	if err := s.Put(t.Context(), g.ID(), all...); err != nil {
		t.Fatal(err)
	}
	whole, err := perdure.Load(t.Context(), s, g.ID())
	if err != nil {
		t.Fatal(err)
	}
	if got := len(whole.Heads()); got != heads {
		t.Errorf("got %d heads, want %d", got, heads)
	}
	if most := len(all) + len(all)/4; s.given > most {
		t.Errorf("%d entries were read to load %d, want %d at most", s.given, len(all), most)
	}
}
