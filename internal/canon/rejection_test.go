package canon

import (
	"errors"
	"testing"
)

// wantPredicate fails unless err is a rejection by one of the predicates.
func wantPredicate(t *testing.T, err error, want ...string) {
	t.Helper()
	var r *Rejection
	if !errors.As(err, &r) {
		t.Fatalf("got %v, want a rejection by %v", err, want)
	}
	for _, w := range want {
		if r.Predicate == w {
			return
		}
	}
	t.Fatalf("got %v, want a rejection by %v", r, want)
}
