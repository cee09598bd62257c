package nats

import (
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/roster"
)

// TestTheServersClockSaysWhoIsSilent has nodes write times of their own, far off, which say nothing.
func TestTheServersClockSaysWhoIsSilent(t *testing.T) {
	s := open(t, urlAt(serverEnv, t.TempDir()), Options{})
	if err := s.writable(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, wrong := range []string{"1", "99999999999999"} {
		node := perdure.Key{byte(i + 1)}
		text := `{"node":"` + node.String() + `","about":"","seen":` + wrong + `}`
		if _, err := s.store(t.Context(), s.streams.roster(node), []byte(text), anything); err != nil {
			t.Fatal(err)
		}
	}
	known := func() (n int) {
		t.Helper()
		for p, err := range s.Present(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; p.Silent < 0 || p.Silent >= roster.Kept {
				t.Errorf("node %s was heard of %v ago, want just now", p.Node.Short(), p.Silent)
			}
		}
		return n
	}
	if err := s.forgetNodes(t.Context(), roster.Kept); err != nil {
		t.Fatal(err)
	}
	if got := known(); got != 2 {
		t.Errorf("%d nodes are known, want both", got)
	}
	if err := s.forgetNodes(t.Context(), -roster.Kept); err != nil { // as if an hour had passed
		t.Fatal(err)
	}
	if got := known(); got != 0 {
		t.Errorf("%d nodes are known after an hour without a word, want none", got)
	}
}
