package view_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// shuffled is a store whose memory may be written anew, in another order.
type shuffled struct {
	*perdure.MemStore
	order []*perdure.Entry
}

func (s *shuffled) Entries(_ context.Context, _ perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		for i, e := range s.order {
			if at := perdure.Cursor(i + 1); at > after && !yield(perdure.Item{Entry: e, Cursor: at}, nil) {
				return
			}
		}
	}
}

// A memory with three branches, so that one head may move although the last stays, is written anew in every order that
// has parents first, and with new entries or without. Who stands anywhere in it has every entry once, or is told; who
// follows it has every entry once.
func TestAPlaceIsWholeOrSaysSo(t *testing.T) {
	t.Parallel()
	key, err := perdure.GenerateSigner("author")
	if err != nil {
		t.Fatal(err)
	}
	g, err := key.Genesis(perdure.Genesis{Charter: perdure.Charter{Scope: "acme"}}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	begun, err := perdure.Begin(g)
	if err != nil {
		t.Fatal(err)
	}
	branch := func(name string, n int) (all []*perdure.Entry) {
		a := begun
		for i := range n {
			es, next, err := key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: fmt.Sprint(name, i)}})
			if err != nil {
				t.Fatal(err)
			}
			a, all = next, append(all, es...)
		}
		return all
	}
	var orders [][]*perdure.Entry
	var weave func(sofar []*perdure.Entry, rest ...[]*perdure.Entry)
	weave = func(sofar []*perdure.Entry, rest ...[]*perdure.Entry) {
		orders = append(orders, slices.Clone(sofar)) // as far as that, too
		for i, one := range rest {
			if len(one) > 0 {
				left := slices.Clone(rest)
				left[i] = one[1:]
				weave(append(slices.Clone(sofar), one[0]), left...)
			}
		}
	}
	weave([]*perdure.Entry{g}, branch("left", 2), branch("right", 2), branch("other", 1))
	mem := new(perdure.MemStore) // it has no snapshots
	if err := mem.Put(t.Context(), g.ID(), g); err != nil {
		t.Fatal(err)
	}
	stood, told := 0, 0
	for _, was := range orders {
		for _, is := range orders {
			if !holds(is, was) { // a memory loses nothing
				continue
			}
			s := &shuffled{mem, was}
			w := view.Follow(s, g.ID())
			got := map[perdure.Hash]int{}
			next := func() {
				if err := w.Next(t.Context(), func(l view.Line) error { got[l.Entry]++; return nil }); err != nil {
					t.Fatal(err)
				}
			}
			next()
			at := w.Place()
			s.order = is
			var after []*perdure.Entry
			reordered := false
			for item, err := range at.After(t.Context(), s, g.ID()) {
				if reordered = err != nil; !reordered {
					after = append(after, item.Entry)
				}
			}
			if told++; !reordered {
				told, stood = told-1, stood+1
				if all := slices.Concat(was, after); len(all) != len(is) || !holds(all, is) {
					t.Fatalf("%d entries, then %d: got %d after the first, and no word", len(was), len(is), len(after))
				}
			}
			m, err := view.FollowMarked(t.Context(), s, g.ID(), at.Cursor, at.Mark())
			if err == nil && (m.Place().Mark() != at.Mark() || !holds(is[:at.Cursor], was)) {
				t.Fatalf("a mark is taken for another place")
			}
			if err != nil && !reordered { // what is the same up to there, in another order, has the same mark
				t.Fatalf("a place stands, and its mark says %v", err)
			}
			next()
			for _, e := range is {
				if got[e.Name] != 1 {
					t.Fatalf("who follows got an entry %d times", got[e.Name])
				}
			}
		}
	}
	if stood == 0 || told == 0 {
		t.Errorf("%d places stood, %d were told", stood, told)
	}
}

// holds reports whether all entries are among others.
func holds(all, some []*perdure.Entry) bool {
	return !slices.ContainsFunc(some, func(e *perdure.Entry) bool { return !slices.Contains(all, e) })
}
