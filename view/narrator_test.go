package view

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// That a node cannot go on is found by its signal, as an advice or an outcome that says so is.
func TestANoticeThatANodeCannotIsIncapable(t *testing.T) {
	key, err := perdure.GenerateSigner("k")
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{Store: new(perdure.MemStore), Key: key}
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "g"},
		Charter: perdure.Charter{Scope: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Event{Name: "incapable",
		Notice: perdure.Lacks{What: "mail", Note: "this node has no tool mail"}}})
	if err != nil {
		t.Fatal(err)
	}
	one, chosen := newNarrator().line(entries[0]), Choice{Signals: []perdure.Signal{perdure.Incapable}}
	if !chosen.Fits(one) {
		t.Errorf("%q has the signal %s", one.What, one.Signal)
	}
}

// Whoever follows an agent for months has a narrator that has told all of it. Of a sleep, a wake, a refusal nothing
// comes: what they were about is not to be remembered for ever.
func TestANarratorForgetsDecisionsOfWhichNothingComes(t *testing.T) {
	key, err := perdure.GenerateSigner("k")
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{Store: new(perdure.MemStore), Key: key}
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "chat", Goal: "be tested"},
		Charter: perdure.Charter{Scope: "acme"}})
	if err != nil {
		t.Fatal(err)
	}
	told := newNarrator()
	const turns = 300
	for range turns {
		entries, next, err := key.Commit(a, time.Now(), perdure.Draft{Body: perdure.Decision{
			Action:  perdure.Sleep{Trigger: perdure.On{Event: "answer"}, Note: "a long answer to somebody"},
			Verdict: perdure.Verdict{Answer: perdure.Allow}}})
		if err != nil {
			t.Fatal(err)
		}
		a = next
		for _, e := range entries {
			told.line(e)
		}
	}
	if len(told.decided) > 0 {
		t.Errorf("after %d sleeps it remembers %d decisions", turns, len(told.decided))
	}
}
