package perdure_test

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// merge puts the memory of an agent in one store into another.
func merge(t *testing.T, from, to perdure.Store, id perdure.AgentID) {
	t.Helper()
	if err := perdure.PutAll(t.Context(), to, id, perdure.Memory(t.Context(), from, id)); err != nil {
		t.Fatal(err)
	}
}

// approve answers a question with yes.
func approve(t *testing.T, n *perdure.Node, id perdure.AgentID, q *perdure.Asking) {
	t.Helper()
	if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "approval",
		Notice: perdure.Approval{Decision: q.Decision, Digest: q.Digest, Approve: true}}); err != nil {
		t.Fatal(err)
	}
}

func TestAnApprovalServesThoughLaterAdviceCameFromAnotherCopy(t *testing.T) {
	here, there := new(perdure.MemStore), new(perdure.MemStore)
	pay, seen := counter("pay", perdure.Once)
	n := newNode(t, here, scripted(steps("pay", 1)), pay)
	n.Policy = perdure.PolicyFunc(askWrites)
	other := newNode(t, there, scripted(steps("pay", 1)), pay)
	other.Policy = n.Policy
	n.Place = perdure.Place{ID: perdure.HashOf(nil)}
	other.Place = n.Place // both believe that they have the seat
	id := create(t, n, perdure.Genesis{})
	merge(t, here, there, id)
	run(t, n, id)
	q := load(t, here, id).Asks[0]
	approve(t, n, id, &q)
	for range 3 { // so that its advice is folded after the question here
		if _, err := other.Tell(t.Context(), id, perdure.Event{Name: "hello"}); err != nil {
			t.Fatal(err)
		}
	}
	run(t, other, id)
	merge(t, there, here, id)
	before := load(t, here, id)
	if len(before.Asks) != 2 {
		t.Fatalf("%d questions after the merge, want one from each copy", len(before.Asks))
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := n.RunAgent(ctx, id); err != nil {
		t.Error(err)
	}
	after := load(t, here, id)
	if after.Count > before.Count+10 {
		t.Errorf("%d entries were written for one approval", after.Count-before.Count)
	}
	if _, total := calls(seen); total != 1 {
		t.Errorf("%d payments for one approval, want 1", total)
	}
}

func TestANodeStopsWhenItsDecisionsComeToNothing(t *testing.T) {
	store := new(perdure.MemStore)
	pay, seen := counter("pay", perdure.Once)
	n := newNode(t, store, scripted(steps("pay", 1)), pay)
	n.Policy = perdure.PolicyFunc(askWrites)
	id := create(t, n, perdure.Genesis{})
	run(t, n, id)
	q := load(t, store, id).Asks[0]
	a := loaded(t, store, id)
	for range 3 { // what a node with a fault writes
		es, next, err := n.Key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Decision{
			Advice: q.Advice, Index: q.Index, Approvals: []perdure.Hash{q.Decision},
			Verdict: perdure.Verdict{Answer: perdure.Allow}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Append(t.Context(), id, a.Heads(), es...); err != nil {
			t.Fatal(err)
		}
		a = next
	}
	idle := run(t, n, id)
	if !idle.Person || !idle.Is(phase.RestSpinning) {
		t.Fatalf("idle with %+v, want to hear that it stopped", idle)
	}
	if got := load(t, store, id).Count; got != a.Fold().Count {
		t.Errorf("%d entries were written by a node that had stopped", got-a.Fold().Count)
	}
	approve(t, n, id, &q)
	if run(t, n, id); load(t, store, id).Ended == nil {
		t.Error("it did not go on after somebody told it something")
	}
	if _, total := calls(seen); total != 1 {
		t.Errorf("%d payments, want 1", total)
	}
}
