package perdure_test

import (
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// What a parent hears of a child's end is what the child's own memory says: who else says so gives the parent back what
// the child may still spend.
func TestAnEndThatTheChildDoesNotBearOutIsNotTold(t *testing.T) {
	s := new(perdure.MemStore)
	n, parent, child := family(t, s)
	other := create(t, n, perdure.Genesis{})
	ended := func(of perdure.AgentID, head perdure.Hash) perdure.Event {
		return perdure.Event{Name: "child-ended", By: of.String(), ID: "ended",
			Notice: perdure.ChildEnded{Child: of, Head: head, Signal: perdure.OK}}
	}
	for what, ev := range map[string]perdure.Event{
		"a child that goes on":        ended(child, perdure.Hash{}),
		"one at an entry it has":      ended(child, load(t, s, child).Heads[0].Name),
		"an agent that is no child":   ended(other, load(t, s, other).Heads[0].Name),
		"an agent that is nowhere":    ended(perdure.AgentID{1}, perdure.Hash{2}),
		"the agent that is told this": ended(parent, load(t, s, parent).Heads[0].Name),
	} {
		if _, err := n.Tell(t.Context(), parent, ev); !errors.Is(err, perdure.ErrDenied) {
			t.Errorf("the end of %s: %v, want it denied", what, err)
		}
	}
	if f := load(t, s, parent); f.Children[0].Ended || len(f.Inbox) > 0 {
		t.Errorf("the parent believes it: %+v, %+v", f.Children, f.Inbox)
	}
	run(t, n, child)
	if f := load(t, s, parent); !f.Children[0].Ended {
		t.Error("the parent did not hear of the end that happened")
	}
}

// A copy of the parent that arrives with the end of a child that goes on here, where its seat is, goes no further until
// a person has looked.
func TestAParentThatArrivesWithAFalseEndWaitsForAPerson(t *testing.T) {
	here, there := new(perdure.MemStore), new(perdure.MemStore)
	n, parent, child := family(t, here)
	n.Place = perdure.Place{ID: perdure.HashOf([]byte("here"))}
	copyTo(t, here, there, parent)
	a := loaded(t, there, parent)
	entries, _, err := n.Key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "child-ended",
		By: child.String(), ID: "ended",
		Notice: perdure.ChildEnded{Child: child, Head: perdure.Hash{9}, Signal: perdure.OK}}})
	if err == nil {
		err = here.Put(t.Context(), parent, entries...)
	}
	if err != nil {
		t.Fatal(err)
	}
	fresh := func() *perdure.Node { // as every command has
		return &perdure.Node{Store: here, Key: n.Key, Trust: n.Trust, Policy: n.Policy, Advisors: n.Advisors,
			Place: n.Place}
	}
	if err := fresh().TakeSeat(t.Context(), child, "test"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // saying it again adds nothing
		if err := fresh().Arrived(t.Context(), parent); err != nil {
			t.Fatal(err)
		}
	}
	if f := load(t, here, parent); len(f.Paused) != 1 {
		t.Errorf("the parent has %d pauses, want one: its child goes on", len(f.Paused))
	}
	if idle := run(t, fresh(), parent); !idle.Person {
		t.Errorf("it rests with %+v, want it to wait for a person", idle)
	}
}

// Its owner pauses an agent that a stranger says has ended, and ends it.
func TestAnOwnerIsHeardAfterTheEndOfAStranger(t *testing.T) {
	s := new(perdure.MemStore)
	n := &perdure.Node{Store: s, Key: signer(t, "owner")}
	n.Trust = perdure.NewTrust(perdure.Trustee{Key: n.Key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	a := loaded(t, s, create(t, n, perdure.Genesis{}))
	entries, _, err := signer(t, "mallory").Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "end",
		Notice: perdure.Cancel{}}})
	if err == nil {
		err = s.Put(t.Context(), a.ID(), entries...)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Pause(t.Context(), a.ID(), "look at it"); err != nil {
		t.Errorf("pause: %v", err)
	}
	if _, err := n.Cancel(t.Context(), a.ID(), "over"); err != nil {
		t.Errorf("end: %v", err)
	}
}
