package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// fill makes the disk full for the connection with which a store writes, until it opens the file again.
func fill(t *testing.T, s *Store, key *perdure.Signer, a *perdure.Agent) {
	t.Helper()
	err := s.submit(t.Context(), &request{apply: func(w *writer) error {
		pages, _, err := w.number("PRAGMA page_count")
		if err == nil {
			_, _, err = w.number(fmt.Sprintf("PRAGMA max_page_count=%d", pages))
		}
		return err
	}})
	for i := 0; err == nil && i < 100; i++ {
		var es []*perdure.Entry
		es, a = commit(t, key, a, draft(3000))
		err = s.Append(t.Context(), a.ID(), es[0].Parents, es...)
	}
	if err == nil {
		t.Fatal("the disk does not become full")
	}
}

// A node that could not give an agent up, since the disk was full, keeps nobody from it for longer than its lease: not
// the node itself once there is room, and no other.
func TestAClaimThatAFullDiskKeptEndsWithItsLease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s, other := openBench(t, path), openBench(t, path)
	key, rival := newSigner(t), newSigner(t)
	a, b := twoAgents(t, s, key)
	c, err := s.Claim(t.Context(), a.ID(), key.Key(), perdure.MaxLease)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, key, b)
	if err := s.Release(t.Context(), c, a.Heads(), 0); err == nil {
		t.Fatal("a claim was given up on a full disk")
	}
	_, err = other.Claim(t.Context(), a.ID(), rival.Key(), time.Second)
	if !errors.Is(err, perdure.ErrConflict) {
		t.Fatalf("claim of another node while the lease lasts: %v, want a conflict", err)
	}
	const lease = time.Second
	until(t, "the node itself gets its agent back", func() bool { // long before its lease ends
		c, err = s.Claim(t.Context(), a.ID(), key.Key(), lease)
		return err == nil
	})
	fill(t, s, key, load(t, other, b.ID()))
	if err := s.Release(t.Context(), c, a.Heads(), 0); err == nil {
		t.Fatal("a claim was given up on a full disk")
	}
	until(t, "another node gets the agent", func() bool {
		var due bool
		for look, err := range other.Due(t.Context(), time.Now()) {
			if err != nil {
				t.Fatal(err)
			}
			due = due || look.Agent == a.ID()
		}
		_, err := other.Claim(t.Context(), a.ID(), rival.Key(), lease)
		return err == nil && due
	})
}

// A node that could not give an agent up, and has ended since, keeps nobody from it.
func TestAClaimThatAFullDiskKeptEndsWithItsProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	s, other := openBench(t, path), openBench(t, path)
	key, rival := newSigner(t), newSigner(t)
	a, b := twoAgents(t, s, key)
	c, err := s.Claim(t.Context(), a.ID(), key.Key(), perdure.MaxLease)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, s, key, b)
	if err := s.Release(t.Context(), c, a.Heads(), 0); err == nil {
		t.Fatal("a claim was given up on a full disk")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Claim(t.Context(), a.ID(), rival.Key(), time.Second); err != nil {
		t.Fatalf("claim of an agent that a process held which has ended: %v", err)
	}
}

// twoAgents makes two agents.
func twoAgents(t *testing.T, s *Store, key *perdure.Signer) (a, b *perdure.Agent) {
	t.Helper()
	g, a := begin(t, key, "x")
	filler, b := begin(t, key, "y")
	if err := errors.Join(s.Append(t.Context(), a.ID(), nil, g),
		s.Append(t.Context(), b.ID(), nil, filler)); err != nil {
		t.Fatal(err)
	}
	return a, b
}

// until tries until something is so, and for minutes if it is not.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for begun := time.Now(); !so(); {
		if time.Since(begun) > 5*time.Minute {
			t.Fatal("never: " + what)
		}
		<-time.After(20 * time.Millisecond)
	}
}

// load is an agent as a store has it.
func load(t *testing.T, s *Store, id perdure.AgentID) *perdure.Agent {
	t.Helper()
	a, err := perdure.Load(t.Context(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
