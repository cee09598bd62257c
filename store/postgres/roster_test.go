package postgres

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/roster"
)

// TestTheServersClockSaysWhoIsSilent moves what the server dated, which no clock of a node has a part in.
func TestTheServersClockSaysWhoIsSilent(t *testing.T) {
	needServer(t)
	s := open(t, urlAt(t.TempDir()), Options{})
	one, two := perdure.Key{1}, perdure.Key{2}
	enroll := func(node perdure.Key) {
		t.Helper()
		if err := s.Enroll(t.Context(), node, nil); err != nil {
			t.Fatal(err)
		}
	}
	back := func(node perdure.Key, by time.Duration) {
		t.Helper()
		const text = "UPDATE ~roster SET seen=seen-$2 WHERE node=$1"
		if _, err := s.pool.Exec(t.Context(), s.sql(text), node[:], by.Milliseconds()); err != nil {
			t.Fatal(err)
		}
	}
	silent := func() map[perdure.Key]time.Duration {
		t.Helper()
		all := map[perdure.Key]time.Duration{}
		for p, err := range s.Present(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			all[p.Node] = p.Silent
		}
		return all
	}
	enroll(one)
	enroll(two)
	back(one, roster.Kept/2)
	back(two, -roster.Kept/2) // the clock of the server was ahead
	if got := silent(); got[one] < roster.Kept/2 || got[one] >= roster.Kept || got[two] != 0 {
		t.Errorf("silent for %v; want the first for half an hour and the second not at all", got)
	}
	back(one, roster.Kept)
	enroll(two)
	if got := silent(); len(got) != 1 {
		t.Errorf("known are %v, want only the node that enrolled within %v", got, roster.Kept)
	}
}
