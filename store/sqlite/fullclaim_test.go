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
	g, a := begin(t, key, "x")
	filler, b := begin(t, key, "y")
	if err := errors.Join(s.Append(t.Context(), a.ID(), nil, g),
		s.Append(t.Context(), b.ID(), nil, filler)); err != nil {
		t.Fatal(err)
	}
	const lease = 3 * time.Second
	c, err := s.Claim(t.Context(), a.ID(), key.Key(), lease)
	if err != nil {
		t.Fatal(err)
	}
	ends := time.Now().Add(lease)
	fill(t, s, key, b)
	if err := s.Release(t.Context(), c, a.Heads(), 0); err == nil {
		t.Fatal("a claim was given up on a full disk")
	}
	if _, err := other.Claim(t.Context(), a.ID(), rival.Key(), lease); !errors.Is(err, perdure.ErrConflict) &&
		time.Now().Before(ends) {
		t.Fatalf("claim of another node while the lease lasts: %v, want a conflict", err)
	}
	for { // the node itself, before its lease ends
		if c, err = s.Claim(t.Context(), a.ID(), key.Key(), lease); err == nil {
			break
		}
		if time.Now().After(ends) {
			t.Fatalf("the node does not get its own agent back: %v", err)
		}
		<-time.After(20 * time.Millisecond)
	}
	taken := time.Now()
	fill(t, s, key, load(t, other, b.ID()))
	if err := s.Release(t.Context(), c, a.Heads(), 0); err == nil {
		t.Fatal("a claim was given up on a full disk")
	}
	for {
		var due bool
		for look, err := range other.Due(t.Context(), time.Now()) {
			if err != nil {
				t.Fatal(err)
			}
			due = due || look.Agent == a.ID()
		}
		_, err := other.Claim(t.Context(), a.ID(), rival.Key(), lease)
		if err == nil && due {
			break
		}
		if since := time.Since(taken); since > lease+10*time.Second {
			t.Fatalf("after %v of a lease of %v another node does not get the agent: %v, due %v", since, lease, err,
				due)
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
