package postgres

import (
	"testing"

	"github.com/perdure/perdure"
)

// TestNodesThatAreNotHeardOfAreForgotten sets back when a node enrolled, by more than a store remembers.
func TestNodesThatAreNotHeardOfAreForgotten(t *testing.T) {
	needServer(t)
	s := open(t, urlAt(t.Name()), Options{})
	for _, node := range []perdure.Key{{1}, {2}} {
		if err := s.Enroll(t.Context(), perdure.Presence{Node: node}); err != nil {
			t.Fatal(err)
		}
	}
	const text = "UPDATE ~roster SET seen=seen-$1::bigint WHERE node=$2"
	node := perdure.Key{1}
	if _, err := s.mark(t.Context(), text, 2*perdure.RosterKept.Milliseconds(), node[:]); err != nil {
		t.Fatal(err)
	}
	if err := s.Enroll(t.Context(), perdure.Presence{Node: perdure.Key{2}}); err != nil {
		t.Fatal(err)
	}
	for p, err := range s.Present(t.Context()) {
		if err != nil || p.Node == node {
			t.Errorf("node %s is remembered, %v", p.Node.Short(), err)
		}
	}
}
