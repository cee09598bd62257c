package storetest

import (
	"errors"
	"sync"
	"testing"

	"github.com/perdure/perdure"
)

var loading = map[string]func(*testing.T, *suite){
	"RaceHasOneWinner":      testRace,
	"ManyAgentsGrowAtOnce":  testManyAgents,
	"OneAgentGrowsFromMany": testManyWriters,
}

func testRace(t *testing.T, s *suite) {
	w := newAuthor(t)
	a := s.create(w, "a")
	for round := range 20 {
		const rivals = 8
		var wins sync.Map
		var group sync.WaitGroup
		for i := range rivals {
			es, next := w.commit(a, began, event("rival", i))
			group.Go(func() {
				switch err := s.Append(t.Context(), a.ID(), a.Heads(), es...); {
				case err == nil:
					wins.Store(i, next)
				case !errors.Is(err, perdure.ErrConflict):
					t.Errorf("append: %v", err)
				}
			})
		}
		group.Wait()
		n := 0
		wins.Range(func(_, next any) bool {
			n++
			a = next.(*perdure.Agent)
			return true
		})
		if n != 1 {
			t.Fatalf("round %d: %d of %d rivals won, want 1", round, n, rivals)
		}
		hasHeads(t, s, a.ID(), last(t, s, a.ID()))
	}
	if got := len(items(t, s, a.ID(), 0)); got != 21 {
		t.Fatalf("entries: %d, want 21", got)
	}
}

func last(t *testing.T, s perdure.Store, id perdure.AgentID) *perdure.Entry {
	all := items(t, s, id, 0)
	return all[len(all)-1].Entry
}

func testManyAgents(t *testing.T, s *suite) {
	const writers, agents, commits = 16, 5, 12
	var group sync.WaitGroup
	for range writers {
		w := newAuthor(t)
		group.Go(func() {
			for range agents {
				e, a := w.genesis(perdure.Intent{}, "acme")
				err := s.Append(t.Context(), a.ID(), nil, e)
				want := []*perdure.Entry{e}
				for i := 0; i < commits && err == nil; i++ {
					es, next := w.commit(a, began, event("x", 100*i), event("y", 10))
					err = s.Append(t.Context(), a.ID(), a.Heads(), es...)
					a, want = next, append(want, es...)
				}
				if err != nil {
					t.Errorf("append: %v", err)
					return
				}
				holds(t, s, a.ID(), want...)
			}
		})
	}
	group.Wait()
}

func testManyWriters(t *testing.T, s *suite) {
	const writers, commits = 8, 15
	a := s.create(newAuthor(t), "a")
	var group sync.WaitGroup
	for i := range writers {
		w := newAuthor(t)
		group.Go(func() {
			for range commits {
				if err := appendOnTop(t, s, w, a.ID(), i%2 == 0); err != nil {
					t.Errorf("append: %v", err)
					return
				}
			}
		})
	}
	group.Wait()
	got, err := perdure.FoldEntries(perdure.Memory(t.Context(), s, a.ID()))
	if err != nil {
		t.Fatal(err)
	}
	if got.Fold().Count != writers*commits+1 {
		t.Fatalf("entries: %d, want %d", got.Fold().Count, writers*commits+1)
	}
}

// appendOnTop commits an event on top of what the store holds of an agent: again and again until no other was first, or
// by Put at once.
func appendOnTop(t testing.TB, s perdure.Store, w author, id perdure.AgentID, put bool) error {
	for {
		a, err := perdure.Load(t.Context(), s, id)
		if err != nil {
			return err
		}
		es, _ := w.commit(a, began, event("x", 10))
		if put {
			return s.Put(t.Context(), id, es...)
		}
		if err := s.Append(t.Context(), id, a.Heads(), es...); !errors.Is(err, perdure.ErrConflict) {
			return err
		}
	}
}
