package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A process that was stopped in the middle of a write keeps its lock.
func TestAWriteGivesUpOnALockThatIsNotReleased(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	key := newSigner(t)
	g, _ := begin(t, key, "one")
	told := make(chan string, 8)
	o := Options{Patience: 200 * time.Millisecond, Waits: func(text string) { told <- text }}
	s, err := Open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	patient, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	stopped, err := dial(path, "rw", "busy_timeout=0")
	if err == nil {
		err = stopped.exec("BEGIN IMMEDIATE")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), g.ID(), g); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a write while another process holds the lock: %v", err)
	}
	if len(told) != 1 {
		t.Errorf("it was said %d times that a write waits, want once", len(told))
	}
	if _, err := Open(t.Context(), path, o); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("open while another process holds the lock: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := patient.Put(ctx, g.ID(), g); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a write that nobody waits for any more: %v", err)
	}
	if err := patient.Close(); err != nil { // it does not wait for the lock
		t.Error(err)
	}
	if err := errors.Join(stopped.exec("ROLLBACK"), stopped.close()); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), g.ID(), g); err != nil {
		t.Errorf("once the lock is released: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
