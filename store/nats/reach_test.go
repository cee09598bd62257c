package nats

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/natstest"
)

// Whoever opens a store while its server restarts waits, is told so, and gets it.
func TestOpeningWaitsForAServerThatRestarts(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t)
	first, err := Open(t.Context(), server.URL("agents"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	told := ""
	s, err := Open(t.Context(), server.URL("agents"), Options{Existing: true, Note: func(text string) {
		told += text
		if err := server.Begin(); err != nil {
			t.Error(err)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(told, "no server answers at") || strings.Count(told, "waiting for it") != 1 {
		t.Errorf("told %q", told)
	}
}
