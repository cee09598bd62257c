package sqlite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// without loses every page of a name of a store that nobody uses.
func without(t *testing.T, path, page string) {
	t.Helper()
	b, n := read(t, path), 0
	for at, name := range pageNames(t, path) {
		if name == page {
			clear(b[(at-1)*pageSize:][:pageSize])
			n++
		}
	}
	if n == 0 {
		t.Fatalf("there is no page of %s", page)
	}
	write(t, path, b)
}

// listed are the names in a list, and the error at its end.
func listed(t *testing.T, s *Store, f perdure.Filter) (names []string, err error) {
	t.Helper()
	for l, err := range s.List(t.Context(), f) {
		if err != nil {
			return names, err
		}
		names = append(names, l.Name)
	}
	return names, nil
}

// An index that is answered without the damaged page must not leave out an agent whose listing could not be written;
// neither in this process nor in the next. Which of the others wait, only a node could tell.
func TestAListingThatCannotBeWrittenIsNotForgotten(t *testing.T) {
	t.Parallel()
	h := housing(t)
	without(t, h.path, "listings leaf")
	s := openBench(t, h.path)
	l := h.agents[2].Listing(began)
	l.Waiting = true
	if err := s.Index(t.Context(), h.agents[2].Heads(), l); err != nil {
		t.Fatal(err)
	}
	for _, process := range []string{"this", "the next"} {
		names, err := listed(t, s, perdure.Filter{Waiting: true})
		if got := strings.Join(names, " "); err != nil || got != "agent-0 agent-1 agent-2 agent-3 agent-4" {
			t.Errorf("in %s process these may wait: %s, %v", process, got, err)
		}
		for one, err := range s.List(t.Context(), perdure.Filter{}) {
			if err != nil || process == "this" && one.Waiting != (one.Agent == l.Agent) {
				t.Errorf("in %s process %s waits: %t, %v", process, one.Name, one.Waiting, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openBench(t, h.path)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if lacking := cured(t, &h.written, h.path, h.entries); len(lacking) > 0 {
		t.Errorf("%d agents are not whole", len(lacking))
	}
	s = openBench(t, h.path)
	for range s.List(t.Context(), perdure.Filter{}) {
		continue
	}
	if n := s.relisted.folds.Load(); n != 0 {
		t.Errorf("after a repair %d agents were folded to list them", n)
	}
}

func TestAReindexHasListingsBelievedAgain(t *testing.T) {
	t.Parallel()
	h := housing(t)
	vandal(t, h.path, behindTable)
	s := openBench(t, h.path)
	s.relisted.behind.Store(true)
	if err := s.Reindex(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if names, err := listed(t, s, perdure.Filter{}); err != nil || len(names) != 5 {
		t.Errorf("%v, %v", names, err)
	}
	if n := s.relisted.folds.Load(); n != 0 {
		t.Errorf("%d agents were folded to list them", n)
	}
}

// A list that is derived folds no agent twice, whatever its pages, and names every agent that it cannot.
func TestADerivedListNamesAllThatItLacks(t *testing.T) {
	t.Parallel()
	h := housing(t)
	vandal(t, h.path, behindTable,
		fmt.Sprintf("UPDATE log SET data=x'00' WHERE agent IN (%d,%d)", h.keys[1], h.keys[3]))
	s := openBench(t, h.path)
	for _, limit := range []int{0, 3} {
		names, err := listed(t, s, perdure.Filter{Limit: limit})
		if got := strings.Join(names, " "); got != "agent-0 agent-2 agent-4" {
			t.Errorf("limit %d: listed are %s", limit, got)
		}
		for _, i := range []int{1, 3} {
			if short := h.agents[i].ID().Short(); err == nil || !strings.Contains(err.Error(), short) {
				t.Errorf("limit %d: %v does not name %s", limit, err, short)
			}
		}
	}
	var f perdure.Filter
	for f.Limit = 1; ; {
		n := 0
		for l, err := range s.List(t.Context(), f) {
			if err == nil {
				f.After, n = l.Place(), n+1
			}
		}
		if n == 0 {
			break
		}
	}
	if n := s.relisted.folds.Load(); n != 3 {
		t.Errorf("%d agents were folded, want 3", n)
	}
	id := h.agents[0].ID().String()
	if names, err := listed(t, s, perdure.Filter{Prefix: id}); err != nil || len(names) != 1 {
		t.Errorf("one that is whole is not listed alone: %v, %v", names, err)
	}
}
