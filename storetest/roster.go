package storetest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/roster"
)

var rostering = map[string]func(*testing.T, *suite){
	"TheRosterHasWhoIsThere": testRoster,
}

// present is the roster of a store, in order, without how long ago each was heard of.
func present(t *testing.T, s perdure.Store) []roster.Presence {
	t.Helper()
	all := []roster.Presence{}
	for p, err := range s.(roster.Roster).Present(t.Context()) {
		if err != nil {
			t.Fatalf("present: %v", err)
		}
		if p.Silent < 0 || p.Silent >= roster.Kept {
			t.Errorf("node %s was heard of %v ago, want just now", p.Node.Short(), p.Silent)
		}
		p.Silent = 0
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b roster.Presence) int { return slices.Compare(a.Node[:], b.Node[:]) })
	return all
}

func testRoster(t *testing.T, s *suite) {
	r := optional[roster.Roster](t, s.Store)
	one := roster.Presence{Node: perdure.Key{1}, About: []byte("one\x00")}
	two := roster.Presence{Node: perdure.Key{2}, About: []byte{}}
	check := func(why string, want ...roster.Presence) {
		t.Helper()
		for _, store := range []perdure.Store{s.Store, s.open()} {
			if diff := cmp.Diff(append([]roster.Presence{}, want...), present(t, store)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", why, diff)
			}
		}
	}
	enroll := func(p roster.Presence) {
		t.Helper()
		if err := r.Enroll(t.Context(), p.Node, p.About); err != nil {
			t.Fatalf("enroll: %v", err)
		}
	}
	check("nobody")
	enroll(one)
	enroll(two)
	check("two nodes", one, two)
	one.About = []byte("another")
	enroll(one)
	check("what one said last", one, two)
	if err := r.Leave(t.Context(), two.Node); err != nil {
		t.Fatal(err)
	}
	if err := r.Leave(t.Context(), perdure.Key{9}); err != nil {
		t.Errorf("leave of a node that is not known: %v", err)
	}
	check("one has left", one)
	enroll(two)
	check("it has come back", one, two)
}
