package sqlite

import (
	"errors"
	"slices"
	"testing"

	"github.com/perdure/perdure"
)

// lineOf is what a list says of an agent.
func lineOf(t *testing.T, s *Store, id perdure.AgentID) perdure.Listing {
	t.Helper()
	for l, err := range s.List(t.Context(), perdure.Filter{Prefix: id.String()}) {
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	t.Fatal("the agent is not listed")
	return perdure.Listing{}
}

// TestEntriesAndTheirListingAreWrittenTogether: both are there, or neither is.
func TestEntriesAndTheirListingAreWrittenTogether(t *testing.T) {
	t.Parallel()
	h := housing(t)
	s := openBench(t, h.path)
	a := h.agents[0]
	es, next := commit(t, h.key, a, draft(60))
	line := next.Listing(began)
	if err := s.AppendListed(t.Context(), a.ID(), a.Heads(), line, es...); err != nil {
		t.Fatal(err)
	}
	if got := lineOf(t, s, a.ID()); got.Entries != line.Entries || got.Updated != line.Updated {
		t.Errorf("listed is %+v, want %+v", got, line)
	}
	if heads, err := s.Heads(t.Context(), a.ID()); err != nil || !slices.Equal(heads, next.Heads()) {
		t.Errorf("the heads are %v, %v", heads, err)
	}
	// On heads that are not those any more: the line stays as it is.
	es, late := commit(t, h.key, a, draft(70), draft(80))
	err := s.AppendListed(t.Context(), a.ID(), a.Heads(), late.Listing(began), es...)
	if !errors.Is(err, perdure.ErrConflict) {
		t.Errorf("an append on old heads: %v, want a conflict", err)
	}
	if got := lineOf(t, s, a.ID()); got.Entries != line.Entries {
		t.Errorf("after a conflict %d entries are listed, want %d", got.Entries, line.Entries)
	}
	// What else a line says changes with it, too.
	es, again := commit(t, h.key, next, draft(90))
	line = again.Listing(began)
	line.Name, line.Waiting, line.Kind, line.Labels = "renamed", true, "build", map[string]string{"a": "b"}
	if err := s.AppendListed(t.Context(), a.ID(), next.Heads(), line, es...); err != nil {
		t.Fatal(err)
	}
	got := lineOf(t, s, a.ID())
	if got.Name != "renamed" || !got.Waiting || got.Kind != "build" || got.Labels["a"] != "b" ||
		got.Entries != line.Entries {
		t.Errorf("listed is %+v, want %+v", got, line)
	}
	if names, err := listed(t, s, perdure.Filter{Waiting: true}); err != nil || !slices.Contains(names, "renamed") {
		t.Errorf("those that wait are %v, %v", names, err)
	}
}

// TestEntriesAreWrittenWhereTheirListingCannotBe: a listing is derived, and keeps nothing from being recorded.
func TestEntriesAreWrittenWhereTheirListingCannotBe(t *testing.T) {
	t.Parallel()
	h := housing(t)
	without(t, h.path, "listings leaf")
	s := openBench(t, h.path)
	a := h.agents[2]
	es, next := commit(t, h.key, a, draft(60))
	line := next.Listing(began)
	line.Waiting = true
	if err := s.AppendListed(t.Context(), a.ID(), a.Heads(), line, es...); err != nil {
		t.Fatal(err)
	}
	if heads, err := s.Heads(t.Context(), a.ID()); err != nil || !slices.Equal(heads, next.Heads()) {
		t.Errorf("the heads are %v, %v", heads, err)
	}
	if got := lineOf(t, s, a.ID()); got.Entries != line.Entries || !got.Waiting {
		t.Errorf("listed is %+v, want %+v", got, line)
	}
}
