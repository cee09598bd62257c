package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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

func testRoster(t *testing.T, s *suite) {
	r := optional[perdure.Roster](t, s.Store)
	now := perdure.TimeOf(time.Now())
	one := perdure.Presence{Node: perdure.Key{1}, About: []byte("one\x00"), Seen: now}
	two := perdure.Presence{Node: perdure.Key{2}, About: []byte{}, Seen: now}
	check := func(why string, want ...perdure.Presence) {
		t.Helper()
		for _, store := range []perdure.Store{s.Store, s.open()} {
			if diff := cmp.Diff(append([]perdure.Presence{}, want...), present(t, store)); diff != "" {
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
	one.About, one.Seen = []byte("another"), now+5
	enroll(one)
	check("what one said last", one, two)
	if err := r.Leave(t.Context(), two.Node); err != nil {
		t.Fatal(err)
	}
	if err := r.Leave(t.Context(), perdure.Key{9}); err != nil {
		t.Errorf("leave of a node that is not known: %v", err)
	}
	check("one has left", one)
	two.Seen = one.Seen.Add(perdure.RosterKept + time.Second)
	enroll(two)
	check("one has not been heard of for too long", two)
}
