package sqlite

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/perdure/perdure"
)

// TestPruneFindsEntriesThatMove prunes while others write the memory anew: the heads stay, and the rows move, in part
// to where those of another agent were.
func TestPruneFindsEntriesThatMove(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "s.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	key, err := perdure.GenerateSigner("me")
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{Store: s, Key: key}
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "a", Goal: "g"},
		Charter: perdure.Charter{Scope: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	id := a.ID()
	var told []perdure.Hash
	for _, name := range []string{"one", "two", "three"} {
		e, err := n.Tell(t.Context(), id, perdure.Event{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, e.Name)
	}
	bodies := func() (has []bool, all []*perdure.Entry) {
		for item, err := range s.Entries(t.Context(), id, 0) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, item.Entry)
			if slices.Contains(told, item.Entry.Name) {
				has = append(has, item.Entry.Content() != nil)
			}
		}
		return has, all
	}
	heads, err := s.Heads(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	_, all := bodies()
	moves := 0
	s.between = func() {
		if moves++; moves > 3 {
			return
		}
		err := s.Replace(t.Context(), id, heads, perdure.Full, func(yield func(*perdure.Entry, error) bool) {
			for _, e := range all {
				if !yield(e, nil) {
					return
				}
			}
		})
		if err != nil {
			t.Error(err)
		}
	}
	gone, err := s.Prune(t.Context(), id, heads, []perdure.Hash{told[1]})
	if err != nil || gone == 0 {
		t.Fatalf("dropped %d bytes: %v", gone, err)
	}
	if has, _ := bodies(); !slices.Equal(has, []bool{true, false, true}) {
		t.Errorf("the bodies that are there: %v, want all but the second", has)
	}
}
