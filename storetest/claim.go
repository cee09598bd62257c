package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
)

var claiming = map[string]func(*testing.T, *suite){
	"OneNodeHoldsAnAgent":         testClaim,
	"ALeaseEnds":                  testLease,
	"ReleaseSaysWhenToLookNext":   testRelease,
	"AClaimDoesNotStopAnAppend":   testClaimAppend,
	"AgentNotHeldCannotBeClaimed": testClaimUnknown,
}

func claim(t *testing.T, c perdure.Claimer, id perdure.AgentID, node perdure.Key, lease time.Duration) perdure.Claim {
	t.Helper()
	got, err := c.Claim(t.Context(), id, node, lease)
	if err != nil {
		t.Fatalf("claim: %v", err)
	}
	if got.Agent != id || got.Node != node {
		t.Fatalf("claim is of %s by %s, want of %s by %s", got.Agent.Short(), got.Node.Short(), id.Short(),
			node.Short())
	}
	return got
}

func testClaim(t *testing.T, s *suite) {
	c := optional[perdure.Claimer](t, s.Store)
	w := newAuthor(t)
	one, two := newAuthor(t).Key(), newAuthor(t).Key()
	a, other := s.create(w, "a"), s.create(w, "b")
	first := claim(t, c, a.ID(), one, time.Hour)
	if _, err := c.Claim(t.Context(), a.ID(), two, time.Hour); !errors.Is(err, perdure.ErrConflict) {
		t.Fatalf("claim of an agent another node holds: got %v, want ErrConflict", err)
	}
	got := due(t, s, time.Now())
	if len(got) != 1 || got[0].Agent != other.ID() {
		t.Fatalf("due while one of two agents is claimed: %v, want the other", got)
	}
	again := claim(t, c, a.ID(), one, time.Hour)
	if again.Fence <= first.Fence {
		t.Fatalf("fence of the second claim is %d, of the first %d: want higher", again.Fence, first.Fence)
	}
	if err := c.Renew(t.Context(), first, time.Hour); !errors.Is(err, perdure.ErrConflict) {
		t.Fatalf("renew a claim that a newer one replaced: got %v, want ErrConflict", err)
	}
	if err := c.Release(t.Context(), first, a.Heads(), perdure.TimeOf(began)); err != nil {
		t.Fatalf("release of a lost claim: %v", err)
	}
	if _, err := c.Claim(t.Context(), a.ID(), two, time.Hour); !errors.Is(err, perdure.ErrConflict) {
		t.Fatalf("claim after the release of a lost claim: got %v, want ErrConflict", err)
	}
	if err := c.Renew(t.Context(), again, time.Hour); err != nil {
		t.Fatalf("renew: %v", err)
	}
	if got := due(t, s, time.Now().Add(50*time.Minute)); len(got) != 1 {
		t.Fatalf("due before the renewed lease ends: %v, want the other agent only", got)
	}
}

func testLease(t *testing.T, s *suite) {
	c := optional[perdure.Claimer](t, s.Store)
	one, two := newAuthor(t).Key(), newAuthor(t).Key()
	a := s.create(newAuthor(t), "a")
	before := time.Now()
	first := claim(t, c, a.ID(), one, time.Hour)
	got := due(t, s, time.Now().Add(time.Hour))
	if len(got) != 1 || got[0].Due < perdure.TimeOf(before.Add(time.Hour)) {
		t.Fatalf("due when the lease has ended: %v, want the agent at the end of its lease", got)
	}
	if err := c.Renew(t.Context(), first, 0); err != nil {
		t.Fatalf("renew: %v", err)
	}
	second := claim(t, c, a.ID(), two, time.Hour)
	if second.Fence <= first.Fence {
		t.Fatalf("fence after a lease ended is %d, before %d: want higher", second.Fence, first.Fence)
	}
	if err := c.Renew(t.Context(), first, time.Hour); !errors.Is(err, perdure.ErrConflict) {
		t.Fatalf("renew a claim another node took over: got %v, want ErrConflict", err)
	}
}

func testRelease(t *testing.T, s *suite) {
	c := optional[perdure.Claimer](t, s.Store)
	w := newAuthor(t)
	node := newAuthor(t).Key()
	a := s.create(w, "a")
	far := began.Add(10_000 * time.Hour)
	check := func(why string, want ...perdure.Time) {
		t.Helper()
		got := []perdure.Time{}
		for _, l := range due(t, s, far) {
			got = append(got, l.Due)
		}
		if diff := cmp.Diff(append([]perdure.Time{}, want...), got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", why, diff)
		}
	}
	release := func(cl perdure.Claim, heads []perdure.Hash, due perdure.Time) {
		t.Helper()
		if err := c.Release(t.Context(), cl, heads, due); err != nil {
			t.Fatalf("release: %v", err)
		}
	}
	next := perdure.TimeOf(began.Add(5 * time.Hour))
	release(claim(t, c, a.ID(), node, time.Minute), a.Heads(), next)
	check("released until a time", next)
	cl := claim(t, c, a.ID(), node, time.Minute)
	release(cl, a.Heads(), 0)
	check("released until an event")
	release(cl, a.Heads(), next)
	check("released twice: the second says nothing")

	cl = claim(t, c, a.ID(), node, time.Minute)
	seen := a.Heads()
	a = s.grow(w, a, began.Add(time.Hour), event("unseen", 10))
	release(cl, seen, 0)
	check("released without having seen the newest entry", perdure.TimeOf(began.Add(time.Hour)))
	cl = claim(t, c, a.ID(), node, time.Minute)
	a = s.grow(w, a, began.Add(2*time.Hour), sleep(began.Add(50*time.Hour)))
	release(cl, a.Heads(), perdure.TimeOf(began.Add(50*time.Hour)))
	check("released asleep", perdure.TimeOf(began.Add(50*time.Hour)))
	s.grow(w, a, began.Add(3*time.Hour), event("after", 10))
	if got := due(t, s, far); len(got) != 1 {
		t.Fatalf("due after an event: %v, want the agent", got)
	}
}

func testClaimAppend(t *testing.T, s *suite) {
	c := optional[perdure.Claimer](t, s.Store)
	w := newAuthor(t)
	a := s.create(w, "a")
	claim(t, c, a.ID(), newAuthor(t).Key(), time.Hour)
	a = s.grow(w, a, began, event("by the holder or not", 10))
	if got := due(t, s, time.Now()); len(got) != 0 {
		t.Fatalf("due after an append while claimed: %v, want none until the lease ends", got)
	}
	if got := due(t, s, time.Now().Add(2*time.Hour)); len(got) != 1 {
		t.Fatalf("due after the lease: %v, want the agent", got)
	}
	hasHeads(t, s, a.ID(), items(t, s, a.ID(), 0)[1].Entry)
}

func testClaimUnknown(t *testing.T, s *suite) {
	c := optional[perdure.Claimer](t, s.Store)
	_, a := newAuthor(t).genesis(perdure.Intent{}, "acme")
	if _, err := c.Claim(t.Context(), a.ID(), newAuthor(t).Key(), time.Hour); !errors.Is(err, perdure.ErrNotFound) {
		t.Fatalf("claim of an agent the store does not hold: got %v, want ErrNotFound", err)
	}
}
