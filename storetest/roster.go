package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/perdure/perdure"
)

var rostering = map[string]func(*testing.T, *suite){
	"TheRosterHasWhoIsThere": testRoster,
}

// present is the roster of a store, in order.
func present(t *testing.T, s perdure.Store) []perdure.Presence {
	t.Helper()
	all := []perdure.Presence{}
	for p, err := range s.(perdure.Roster).Present(t.Context()) {
		if err != nil {
			t.Fatalf("present: %v", err)
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b perdure.Presence) int { return slices.Compare(a.Node[:], b.Node[:]) })
	return all
}

// testRoster enrolls nodes whose clocks are wrong: when they did is by the clock of the server.
func testRoster(t *testing.T, s *suite) {
	r := optional[perdure.Roster](t, s.Store)
	one := perdure.Presence{Node: perdure.Key{1}, About: []byte("one\x00"), Seen: perdure.TimeOf(began)}
	ahead := perdure.TimeOf(time.Now().Add(9000 * time.Hour))
	two := perdure.Presence{Node: perdure.Key{2}, About: []byte{}, Seen: ahead}
	check := func(why string, want ...perdure.Presence) {
		t.Helper()
		for _, store := range []perdure.Store{s.Store, s.open()} {
			got := present(t, store)
			for i := range got {
				if off := time.Since(got[i].Seen.Go()); off.Abs() > perdure.RosterKept/2 {
					t.Errorf("%s: node %s was there %v ago", why, got[i].Node.Short(), off)
				}
			}
			timeless := cmpopts.IgnoreFields(perdure.Presence{}, "Seen")
			if diff := cmp.Diff(append([]perdure.Presence{}, want...), got, timeless); diff != "" {
				t.Errorf("%s (-want +got):\n%s", why, diff)
			}
		}
	}
	enroll := func(p perdure.Presence) {
		t.Helper()
		if err := r.Enroll(t.Context(), p); err != nil {
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
}
