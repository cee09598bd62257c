package perdure_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// asking is a node with an agent that asks two people whether it may pay.
func asking(t *testing.T, people ...*perdure.Signer) (*perdure.Node, perdure.AgentID, perdure.Asking) {
	t.Helper()
	pay, _ := counter("pay", perdure.Once)
	n := newNode(t, new(perdure.MemStore), scripted(steps("pay", 1)), pay)
	n.Policy = perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
		return perdure.Verdict{Answer: perdure.Ask, Quorum: 2}
	})
	n.Trust = perdure.NewTrust()
	for _, p := range people {
		n.Trust = n.Trust.With(perdure.Trustee{Key: p.Key(), Name: p.Name, Rights: perdure.MayApprove,
			Scope: perdure.AnyScope})
	}
	id := create(t, n, perdure.Genesis{Intent: perdure.Intent{Name: "shop"}})
	run(t, n, id)
	return n, id, load(t, n.Store, id).Asks[0]
}

func signer(t *testing.T, name string) *perdure.Signer {
	t.Helper()
	s, err := perdure.GenerateSigner(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// bring is what a client does that has the key, with the bytes it was sent.
func bring(t *testing.T, n *perdure.Node, id perdure.AgentID, by *perdure.Signer, v perdure.Approval) (bool, error) {
	t.Helper()
	prepared, err := n.PrepareVote(t.Context(), id, by.Key(), by.Name, v)
	if err != nil {
		return false, err
	}
	var sent []*perdure.Entry
	for _, e := range prepared {
		b, err := e.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		one, err := perdure.DecodeEntry(b, perdure.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, one)
	}
	signed, err := by.SignVote(sent, id, v)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := n.TakeVote(t.Context(), id, sent); err == nil {
		t.Error("an answer without a signature was taken")
	}
	if _, _, err := n.TakeVote(t.Context(), id, signed); err != nil {
		return false, err
	}
	_, again, err := n.TakeVote(t.Context(), id, signed)
	return again, err
}

func TestVotesOfPeopleWhoseKeysAreElsewhere(t *testing.T) {
	ann, bob, eve := signer(t, "ann"), signer(t, "bob"), signer(t, "eve")
	n, id, q := asking(t, ann, bob)
	yes := perdure.Approval{Digest: q.Digest, Approve: true, Note: "looked"}
	before := load(t, n.Store, id).Count

	if _, err := bring(t, n, id, eve, yes); !errors.Is(err, perdure.ErrDenied) {
		t.Errorf("a stranger's answer: got %v, want denied", err)
	}
	if again, err := bring(t, n, id, ann, yes); err != nil || !again {
		t.Errorf("ann's answer: again %v, %v", again, err)
	}
	if _, err := bring(t, n, id, ann, yes); !errors.Is(err, perdure.ErrConflict) {
		t.Errorf("ann's answer a second time: got %v, want a conflict", err)
	}
	if got := load(t, n.Store, id).Count; got != before+1 {
		t.Fatalf("%d entries were added, want 1", got-before)
	}
	run(t, n, id)
	if load(t, n.Store, id).Ended != nil {
		t.Fatal("one of two was enough")
	}
	if _, err := bring(t, n, id, bob, yes); err != nil {
		t.Fatal(err)
	}
	run(t, n, id)
	if f := load(t, n.Store, id); len(f.Asks) > 0 && f.Asks[0].Digest == q.Digest {
		t.Error("two of two were not enough")
	}
}

func TestASignerSignsOnlyWhatItWasAskedTo(t *testing.T) {
	ann := signer(t, "ann")
	n, id, q := asking(t, ann)
	no := perdure.Approval{Digest: q.Digest}
	prepared, err := n.PrepareVote(t.Context(), id, ann.Key(), ann.Name,
		perdure.Approval{Digest: q.Digest, Approve: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ann.SignVote(prepared, id, no); err == nil {
		t.Error("an approval was signed as a refusal")
	}
	if _, err := ann.SignVote(prepared, perdure.AgentID{1}, no); err == nil {
		t.Error("an answer to another agent was signed")
	}
	if _, err := signer(t, "bob").SignVote(prepared, id, no); err == nil {
		t.Error("somebody else's answer was signed")
	}
}

// TestAJournalHasTheEntriesBeforeTheStore: what is kept and stored again after a crash is stored once.
func TestAJournalHasTheEntriesBeforeTheStore(t *testing.T) {
	n := newNode(t, new(perdure.MemStore), scripted(steps("look", 1)))
	id := create(t, n, perdure.Genesis{Intent: perdure.Intent{Name: "shop"}})
	before := load(t, n.Store, id).Count
	full := errors.New("the disk is full")
	ctx := perdure.WithJournal(t.Context(), func(perdure.AgentID, []*perdure.Entry) error { return full })
	if _, err := n.Pause(ctx, id, ""); !errors.Is(err, full) {
		t.Errorf("got %v, want that the journal failed", err)
	}
	if got := load(t, n.Store, id).Count; got != before {
		t.Errorf("%d entries were stored that are in no journal", got-before)
	}
	var kept []*perdure.Entry
	ctx = perdure.WithJournal(t.Context(), func(_ perdure.AgentID, entries []*perdure.Entry) error {
		kept = entries
		return nil
	})
	if _, err := n.Tell(ctx, id, perdure.Event{Name: "news"}); err != nil {
		t.Fatal(err)
	}
	after := load(t, n.Store, id).Count
	if err := n.Store.Put(t.Context(), id, kept...); err != nil {
		t.Fatal(err)
	}
	if got := load(t, n.Store, id).Count; got != after || after != before+1 {
		t.Errorf("%d, then %d entries, want one more than %d", after, got, before)
	}
}

// A question that was decided is no longer open, though no node has acted on the answer yet: whoever comes later is
// told who was first. Who approved may still deny.
func TestADecidedQuestionTakesNoMoreAnswers(t *testing.T) {
	tests := map[string]struct {
		first   []bool // of ann and bob
		said    string
		refused []bool // which answers of cyn are
	}{
		"approved": {first: []bool{true, true}, said: "already approved, by ann (", refused: []bool{true}},
		"denied":   {first: []bool{false}, said: "already denied, by ann (", refused: []bool{true, false}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			people := []*perdure.Signer{signer(t, "ann"), signer(t, "bob"), signer(t, "cyn")}
			n, id, q := asking(t, people...)
			for i, yes := range tt.first {
				if _, err := bring(t, n, id, people[i], perdure.Approval{Digest: q.Digest, Approve: yes}); err != nil {
					t.Fatal(err)
				}
			}
			count := load(t, n.Store, id).Count
			for _, approve := range tt.refused {
				_, err := bring(t, n, id, people[2], perdure.Approval{Digest: q.Digest, Approve: approve})
				if !errors.Is(err, perdure.ErrConflict) || !strings.Contains(err.Error(), tt.said) {
					t.Errorf("approve %v: got %v, want %q", approve, err, tt.said)
				}
			}
			if now := load(t, n.Store, id).Count; now != count {
				t.Errorf("%d entries were written", now-count)
			}
		})
	}
}

// A refusal stands even if others approve: as long as nothing has begun, whoever is asked can stop it, also somebody
// who has approved.
func TestARefusalStopsWhatEnoughHaveApproved(t *testing.T) {
	for _, who := range []int{0, 2} {
		people := []*perdure.Signer{signer(t, "ann"), signer(t, "bob"), signer(t, "cyn")}
		n, id, q := asking(t, people...)
		for _, p := range people[:2] {
			if _, err := bring(t, n, id, p, perdure.Approval{Digest: q.Digest, Approve: true}); err != nil {
				t.Fatal(err)
			}
		}
		_, err := bring(t, n, id, people[who], perdure.Approval{Digest: q.Digest, Note: "the account is wrong"})
		if err != nil {
			t.Errorf("%s cannot stop it: %v", people[who].Name, err)
		}
		run(t, n, id)
		if f := load(t, n.Store, id); f.Spent.Calls > 0 {
			t.Errorf("it was done all the same, %d times", f.Spent.Calls)
		}
	}
}

// An answer that was prepared before a node acted on others' is refused, and nothing is written beside what was done.
func TestAnAnswerThatComesTooLateIsNotWritten(t *testing.T) {
	ann, bob, cyn := signer(t, "ann"), signer(t, "bob"), signer(t, "cyn")
	n, id, q := asking(t, ann, bob, cyn)
	no := perdure.Approval{Digest: q.Digest}
	prepared, err := n.PrepareVote(t.Context(), id, cyn.Key(), cyn.Name, no)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := cyn.SignVote(prepared, id, no)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*perdure.Signer{ann, bob} {
		if _, err := bring(t, n, id, p, perdure.Approval{Digest: q.Digest, Approve: true}); err != nil {
			t.Fatal(err)
		}
	}
	run(t, n, id)
	count := load(t, n.Store, id).Count
	_, _, err = n.TakeVote(t.Context(), id, signed)
	if !errors.Is(err, perdure.ErrConflict) || !strings.Contains(err.Error(), "already approved, by ") {
		t.Errorf("got %v, want that it was approved, and by whom", err)
	}
	if now := load(t, n.Store, id).Count; now != count {
		t.Errorf("%d entries were written", now-count)
	}
}
