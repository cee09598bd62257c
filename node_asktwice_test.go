package perdure_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// Two questions about one proposal are open: a copy asked, too, or somebody wrote it down once more. What both approve
// is done once, and what one refuses is not done.
func TestWhatIsAskedTwiceIsDoneOnceOrNotAtAll(t *testing.T) {
	for _, refused := range []bool{false, true} {
		pay, seen := counter("pay", perdure.Once)
		n := newNode(t, new(perdure.MemStore), scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
			if turn == 0 {
				return []perdure.Action{perdure.Execute{Tool: "pay"}}
			}
			return []perdure.Action{perdure.Sleep{Trigger: perdure.After{Millis: time.Hour.Milliseconds()}}}
		}), pay)
		n.Policy = perdure.PolicyFunc(askWrites)
		id := create(t, n, perdure.Genesis{})
		run(t, n, id)
		q := load(t, n.Store, id).Asks[0]
		entries, _, err := n.Key.Commit(loaded(t, n.Store, id), time.Now(), perdure.Draft{Body: perdure.Decision{
			Advice: q.Advice, Index: q.Index, Verdict: q.Verdict, Effect: perdure.Once}})
		if err == nil {
			err = n.Store.Put(t.Context(), id, entries...)
		}
		if err != nil {
			t.Fatal(err)
		}
		asks := load(t, n.Store, id).Asks
		if len(asks) != 2 {
			t.Fatalf("%d questions are open, want 2", len(asks))
		}
		approve(t, n, id, &asks[0])
		want := int64(1)
		if !refused {
			approve(t, n, id, &asks[1])
		} else if _, err := n.Deny(t.Context(), id, asks[1].Digest, "no"); err != nil {
			t.Fatal(err)
		} else {
			want = 0
		}
		run(t, n, id)
		if _, total := calls(seen); int64(total) != want {
			t.Errorf("refused %t: paid %d times, want %d", refused, total, want)
		}
		if left := load(t, n.Store, id).Asks; len(left) > 0 {
			t.Errorf("refused %t: %d questions are left", refused, len(left))
		}
	}
}

// A copy asked about a proposal, too, and its question arrives after what was proposed has been approved and done: it
// is closed, and whoever approves it all the same does not have it done again.
func TestWhatACopyAsksAfterItWasDoneIsNotDoneAgain(t *testing.T) {
	pay, seen := counter("pay", perdure.Once)
	n := newNode(t, new(perdure.MemStore), scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		if turn == 0 {
			return []perdure.Action{perdure.Execute{Tool: "pay"}}
		}
		return []perdure.Action{perdure.Sleep{Trigger: perdure.After{Millis: time.Hour.Milliseconds()}}}
	}), pay)
	n.Policy = perdure.PolicyFunc(askWrites)
	id := create(t, n, perdure.Genesis{})
	run(t, n, id)
	q := load(t, n.Store, id).Asks[0]
	late, _, err := n.Key.Commit(loaded(t, n.Store, id), time.Now(), perdure.Draft{Body: perdure.Decision{
		Advice: q.Advice, Index: q.Index, Verdict: q.Verdict, Effect: perdure.Once}})
	if err != nil {
		t.Fatal(err)
	}
	approve(t, n, id, &q)
	run(t, n, id)
	if err := n.Store.Put(t.Context(), id, late...); err != nil {
		t.Fatal(err)
	}
	asks := load(t, n.Store, id).Asks
	if len(asks) != 1 {
		t.Fatalf("%d questions are open, want the one of the copy", len(asks))
	}
	approve(t, n, id, &asks[0])
	run(t, n, id)
	if _, total := calls(seen); total != 1 {
		t.Errorf("paid %d times, want 1", total)
	}
	if left := load(t, n.Store, id).Asks; len(left) > 0 {
		t.Errorf("%d questions are left", len(left))
	}
}

// That what a copy asks was done already is known from the entries at hand: no snapshot forgets it before the question
// has lapsed.
func TestSnapshotDoesNotForgetWhatWasDone(t *testing.T) {
	t.Parallel()
	pay, seen := counter("pay", perdure.Once)
	n := newNode(t, new(perdure.MemStore), scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		if turn == 0 {
			return []perdure.Action{perdure.Execute{Tool: "pay"}}
		}
		return []perdure.Action{perdure.Sleep{Trigger: perdure.After{Millis: time.Hour.Milliseconds()}}}
	}), pay)
	n.Policy = perdure.PolicyFunc(askWrites)
	id := create(t, n, perdure.Genesis{})
	run(t, n, id)
	q := load(t, n.Store, id).Asks[0]
	late, _, err := n.Key.Commit(loaded(t, n.Store, id), time.Now(), perdure.Draft{Body: perdure.Decision{
		Advice: q.Advice, Index: q.Index, Verdict: q.Verdict, Effect: perdure.Once}})
	if err != nil {
		t.Fatal(err)
	}
	approve(t, n, id, &q)
	run(t, n, id)
	if err := n.Store.Put(t.Context(), id, late...); err != nil {
		t.Fatal(err)
	}
	teller := newNode(t, n.Store, n.Advisors[""], pay)
	teller.Key, teller.Policy, teller.SnapshotEvery = n.Key, n.Policy, 8
	for range 8 {
		if _, err := teller.Tell(t.Context(), id, perdure.Event{Name: "hi"}); err != nil {
			t.Fatal(err)
		}
	}
	asks := load(t, n.Store, id).Asks
	if len(asks) != 1 {
		t.Fatalf("there are %d questions, want the one that the copy asked", len(asks))
	}
	after := newNode(t, n.Store, n.Advisors[""], pay)
	after.Key, after.Policy = n.Key, n.Policy
	approve(t, after, id, &asks[0])
	run(t, after, id)
	if _, total := calls(seen); total != 1 {
		t.Errorf("paid %d times, want once", total)
	}
}
