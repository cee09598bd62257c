package perdure_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

func TestAnAnswerThatChangesNothingIsNotWritten(t *testing.T) {
	pay, _ := counter("pay", perdure.Once)
	n := newNode(t, new(perdure.MemStore), scripted(steps("pay", 2)), pay)
	n.Policy = perdure.PolicyFunc(askWrites)
	id := create(t, n, perdure.Genesis{Intent: perdure.Intent{Name: "shop"}})
	run(t, n, id)
	q := load(t, n.Store, id).Asks[0]
	if _, err := n.Approve(t.Context(), id, q.Digest, 0, "looked"); err != nil {
		t.Fatal(err)
	}
	count := load(t, n.Store, id).Count
	_, err := n.Approve(t.Context(), id, q.Digest, 0, "looked")
	if !errors.Is(err, perdure.ErrConflict) || !strings.Contains(err.Error(), "already approved, with this key") {
		t.Errorf("an approval that was given before: got %v", err)
	}
	run(t, n, id)
	_, err = n.Deny(t.Context(), id, q.Digest, "too late")
	if !errors.Is(err, perdure.ErrConflict) || !strings.Contains(err.Error(), "already approved") {
		t.Errorf("a refusal of what was used: got %v", err)
	}
	if _, err := n.Approve(t.Context(), id, perdure.HashOf(nil), 0, ""); !errors.Is(err, perdure.ErrNotFound) &&
		!errors.Is(err, perdure.ErrTerminated) {
		t.Errorf("an approval of nothing: got %v", err)
	}
	if now := load(t, n.Store, id).Count; now <= count {
		t.Errorf("%d entries after %d: the approval was not used", now, count)
	}
}

func TestAPauseOfWhatIsPausedSoIsNotWritten(t *testing.T) {
	n := newNode(t, new(perdure.MemStore), scripted(steps("look", 1)))
	id := create(t, n, perdure.Genesis{Intent: perdure.Intent{Name: "shop"}})
	pause := func(by, note string) perdure.Hash {
		t.Helper()
		e, err := n.Pause(perdure.WithSpeaker(t.Context(), by), id, note)
		if err != nil {
			t.Fatal(err)
		}
		return e.Name
	}
	first := pause("ann", "holiday")
	if again := pause("ann", "holiday"); again != first {
		t.Errorf("the same pause again: got entry %s, want %s", again.Short(), first.Short())
	}
	if pause("ann", "sick") == first || pause("bob", "holiday") == first {
		t.Error("a pause for another reason, or by somebody else, was not written")
	}
	if _, err := n.Resume(t.Context(), id, ""); err != nil {
		t.Fatal(err)
	}
	if pause("ann", "holiday") == first {
		t.Error("a pause after a resume was not written")
	}
	if got := load(t, n.Store, id).Count; got != 6 {
		t.Errorf("got %d entries, want a genesis, four pauses and a resume", got)
	}
}

func TestVerbsRefuseWhatWouldCountForNothing(t *testing.T) {
	n := newNode(t, new(perdure.MemStore), scripted(steps("look", 1)))
	id := create(t, n, perdure.Genesis{Intent: perdure.Intent{Name: "shop"}})
	before := load(t, n.Store, id).Count
	stranger := newNode(t, n.Store, scripted(steps("look", 1)))
	wider := int64(5)
	for name, c := range map[string]struct {
		do   func() error
		want error
	}{
		"an answer nobody asked for": {func() error {
			_, err := n.Answer(t.Context(), id, "blue")
			return err
		}, perdure.ErrNotFound},
		"an empty answer": {func() error {
			_, err := n.Answer(t.Context(), id, " ")
			return err
		}, perdure.ErrInvalid},
		"an outcome of nothing": {func() error {
			_, err := n.Settle(t.Context(), id, perdure.Settle{})
			return err
		}, perdure.ErrNotFound},
		"a grant of nothing": {func() error {
			_, err := n.Grant(t.Context(), id, perdure.Spend{}, "")
			return err
		}, perdure.ErrInvalid},
		"a grant by a stranger": {func() error {
			_, err := stranger.Grant(t.Context(), id, perdure.Spend{Calls: 1}, "")
			return err
		}, perdure.ErrDenied},
		"more generations than it had": {func() error {
			_, err := n.Edit(t.Context(), id, perdure.Mutate{Depth: &wider}, nil)
			return err
		}, nil},
	} {
		err := c.do()
		if err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	if now := load(t, n.Store, id).Count; now != before {
		t.Errorf("%d entries were written", now-before)
	}
	if _, err := n.Cancel(t.Context(), id, "enough"); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Pause(t.Context(), id, ""); !errors.Is(err, perdure.ErrTerminated) {
		t.Errorf("a pause of an agent that has ended: got %v", err)
	}
}

// TestAProposalNobodyCanServeIsDropped holds against an agent that waited for ever for a tool nobody has, whatever
// people changed.
func TestAProposalNobodyCanServeIsDropped(t *testing.T) {
	advise := func(a *perdure.Agent, turn int64) []perdure.Action {
		if turn > 0 {
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}
		return []perdure.Action{perdure.Execute{Tool: "frob"}}
	}
	n := newNode(t, new(perdure.MemStore), scripted(advise))
	id := create(t, n, perdure.Genesis{})
	run(t, n, id)
	if f := load(t, n.Store, id); f.Ended != nil {
		t.Fatal("it did not wait for a node with the tool")
	}
	goal := "without it"
	if _, err := n.Edit(t.Context(), id, perdure.Mutate{Goal: &goal, Note: "there is no frob"}, nil); err != nil {
		t.Fatal(err)
	}
	run(t, n, id)
	if f := load(t, n.Store, id); f.Ended == nil {
		t.Error("it still waits for the tool after a person changed it")
	}
	narrow := create(t, n, perdure.Genesis{Intent: perdure.Intent{Tools: []string{"look"}}})
	run(t, n, narrow)
	if f := load(t, n.Store, narrow); f.Ended == nil {
		t.Error("it waits for a tool that its intent does not leave it")
	}
}

// Nobody can tell that an effect failed while a node is at work on it.
func TestWhatANodeIsAtWorkOnIsNotSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, finish := make(chan struct{}), make(chan struct{})
		pay := &tool{spec: perdure.Spec{Name: "pay", Effect: perdure.Once, Deadline: time.Minute},
			call: func(context.Context, perdure.Call) (perdure.Result, error) {
				close(begun)
				<-finish
				return perdure.Result{}, perdure.ErrInDoubt
			}}
		n := newNode(t, new(perdure.MemStore), scripted(steps("pay", 1)), pay)
		id := create(t, n, perdure.Genesis{Intent: perdure.Intent{Name: "shop"}})
		done := make(chan struct{})
		go func() { defer close(done); run(t, n, id) }()
		<-begun
		person := newNode(t, n.Store, nil)
		failed := perdure.Settle{Decision: load(t, n.Store, id).Open[0].Decision, Signal: perdure.Failed}
		_, err := person.Settle(t.Context(), id, failed)
		if !errors.Is(err, perdure.ErrConflict) || !strings.Contains(err.Error(), "at work on pay") {
			t.Errorf("settled while it is under way: %v", err)
		}
		close(finish)
		<-done
		if _, err := person.Settle(t.Context(), id, failed); err != nil {
			t.Errorf("settled when it is in doubt: %v", err)
		}
	})
}
