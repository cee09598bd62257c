package perdure_test

import (
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// asksToPay is an agent that asks a person whether it may pay.
func asksToPay(t *testing.T) (n *perdure.Node, pay *tool, seen *sync.Map, id perdure.AgentID) {
	t.Helper()
	pay, seen = counter("pay", perdure.Once)
	n = newNode(t, new(perdure.MemStore), scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		if turn == 0 {
			return []perdure.Action{perdure.Execute{Tool: "pay"}}
		}
		return []perdure.Action{perdure.Sleep{Trigger: perdure.After{Millis: time.Hour.Milliseconds()}}}
	}), pay)
	n.Policy = perdure.PolicyFunc(askWrites)
	id = create(t, n, perdure.Genesis{})
	run(t, n, id)
	return n, pay, seen, id
}

// askedAgain is the question of an agent once more, as a copy asks it; with an action about that one.
func askedAgain(t *testing.T, n *perdure.Node, id perdure.AgentID, act perdure.Action) []*perdure.Entry {
	t.Helper()
	q := load(t, n.Store, id).Asks[0]
	entries, _, err := n.Key.Commit(loaded(t, n.Store, id), time.Now(), perdure.Draft{Body: perdure.Decision{
		Advice: q.Advice, Index: q.Index, Action: act, Verdict: q.Verdict, Effect: perdure.Once}})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// askedThenDone is an agent that was permitted to pay and has, and then got the question of a copy.
func askedThenDone(t *testing.T) (n *perdure.Node, pay *tool, seen *sync.Map, id perdure.AgentID) {
	t.Helper()
	n, pay, seen, id = asksToPay(t)
	late := askedAgain(t, n, id, nil)
	approve(t, n, id, &load(t, n.Store, id).Asks[0])
	run(t, n, id)
	if err := n.Store.Put(t.Context(), id, late...); err != nil {
		t.Fatal(err)
	}
	return n, pay, seen, id
}

// A question about another action is no second question about the first, although it names the same proposal: each is
// done as it was answered.
func TestQuestionsAboutTwoActionsAreAnsweredEachByItself(t *testing.T) {
	n, _, seen, id := asksToPay(t)
	args, err := perdure.DataOf(map[string]any{"amount": 7})
	if err != nil {
		t.Fatal(err)
	}
	other := askedAgain(t, n, id, perdure.Execute{Tool: "pay", Args: args})
	if err := n.Store.Put(t.Context(), id, other...); err != nil {
		t.Fatal(err)
	}
	asks := load(t, n.Store, id).Asks
	if len(asks) != 2 {
		t.Fatalf("%d questions are open, want 2", len(asks))
	}
	for i := range asks {
		approve(t, n, id, &asks[i])
	}
	run(t, n, id)
	if _, total := calls(seen); total != 2 {
		t.Errorf("paid %d times, want both: each was approved", total)
	}
}

// Two questions about one proposal are open: a copy asked, too, or somebody wrote it down once more. What both approve
// is done once, and what one refuses is not done.
func TestWhatIsAskedTwiceIsDoneOnceOrNotAtAll(t *testing.T) {
	for _, refused := range []bool{false, true} {
		n, _, seen, id := asksToPay(t)
		if err := n.Store.Put(t.Context(), id, askedAgain(t, n, id, nil)...); err != nil {
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
	n, _, seen, id := askedThenDone(t)
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
	n, pay, seen, id := askedThenDone(t)
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
