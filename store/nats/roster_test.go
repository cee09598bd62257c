package nats

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// TestNodesThatAreNotHeardOfAreForgotten forgets the nodes that enrolled before a time between two.
func TestNodesThatAreNotHeardOfAreForgotten(t *testing.T) {
	s := open(t, urlAt(serverEnv, t.Name()), Options{})
	enroll := func(node perdure.Key) (at time.Time) {
		t.Helper()
		if err := s.Enroll(t.Context(), perdure.Presence{Node: node}); err != nil {
			t.Fatal(err)
		}
		all, err := s.index.present(t.Context())
		for _, p := range all {
			if p.Node == node {
				at = p.at
			}
		}
		if err != nil || at.IsZero() {
			t.Fatalf("node %s is not on the roster, %v", node.Short(), err)
		}
		return at
	}
	first, second := enroll(perdure.Key{1}), enroll(perdure.Key{2})
	if !first.Before(second) {
		t.Fatalf("enrolled at %v and then at %v", first, second)
	}
	if err := s.forgetNodes(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	n := 0
	for p, err := range s.Present(t.Context()) {
		if n++; err != nil || p.Node != (perdure.Key{2}) {
			t.Errorf("node %s is remembered, %v", p.Node.Short(), err)
		}
	}
	if n != 1 {
		t.Errorf("%d nodes are remembered, want the later one", n)
	}
}
