package view_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

type tools struct{}

func (tools) Spec() perdure.Spec { return perdure.Spec{Name: "look", Effect: perdure.Read} }

func (tools) Call(context.Context, perdure.Call) (perdure.Result, error) {
	return perdure.Result{Note: "seen"}, nil
}

// A memory reads as a conversation: what people and the agent said, what it called and what came of it; nothing of
// the runtime's own.
func TestAMemoryReadsAsAConversation(t *testing.T) {
	t.Parallel()
	key, err := perdure.GenerateSigner("ada")
	if err != nil {
		t.Fatal(err)
	}
	says := func(text string) perdure.Advice {
		return perdure.Advice{Actions: []perdure.Action{perdure.Sleep{Trigger: perdure.On{Event: perdure.AnswerEvent},
			Note: text}}}
	}
	turns := []perdure.Advice{
		{Text: "let me see", Actions: []perdure.Action{perdure.Execute{Tool: "look", Call: "c1"}}}, says("it is blue"),
		{Signal: perdure.Throttled, RetryAfter: 1, Text: "slow down"},
		{Actions: []perdure.Action{perdure.Mutate{Note: "no"}}}, says("never mind"),
	}
	n := &perdure.Node{Store: new(perdure.MemStore), Key: key, Tools: []perdure.Tool{tools{}},
		Policy: perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
			if _, ok := r.Action.(perdure.Mutate); ok {
				return perdure.Verdict{Answer: perdure.Deny, Reason: "it stays as it is"}
			}
			return perdure.Verdict{Answer: perdure.Allow}
		}),
		Advisors: map[string]perdure.Advisor{"": perdure.AdvisorFunc(
			func(context.Context, *perdure.Agent) (perdure.Advice, error) {
				next := turns[0]
				turns = turns[1:]
				return next, nil
			})}}
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Goal: "talk", Kind: perdure.ChatKind},
		Charter: perdure.Charter{Scope: "test"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"what colour is it?", "and now?"} {
		if _, err := n.Say(t.Context(), a.ID(), text); err != nil {
			t.Fatal(err)
		}
		for idle := (perdure.Idle{Until: 1}); idle.Until != 0; { // it is tried again after a millisecond
			if idle, err = n.RunAgent(t.Context(), a.ID()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for turns, want := range map[int][]string{
		2: {"person what colour is it?", "text let me see", "call look", "result look seen", "answer it is blue",
			"person and now?", "error slow down", "denied mutate (no): it stays as it is", "answer never mind"},
		1: {"person and now?", "error slow down", "denied mutate (no): it stays as it is", "answer never mind"},
		0: nil,
	} {
		_, all, err := view.FollowTalk(t.Context(), n.Store, a.ID(), nil)
		all = view.LastTurns(all, turns)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range all {
			text := s.Type
			for _, part := range []string{s.Tool, s.Text} {
				if part != "" {
					text += " " + part
				}
			}
			got = append(got, text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the last %d turns: got\n%q, want\n%q", turns, got, want)
		}
	}
}

// An answer that was there and of no use is told apart from what the model said.
func TestAnAnswerThatCameToNothingIsNoWordOfTheAgent(t *testing.T) {
	for text, want := range map[string][]string{"": {view.SpokenError}, "I was": {view.SpokenText, view.SpokenError}} {
		l := view.Line{Body: perdure.Advice{Signal: perdure.Partial, Text: text}}
		var got []string
		for _, s := range l.Spoken() {
			if got = append(got, s.Type); s.Text == "" {
				t.Errorf("%q: a %s says nothing", text, s.Type)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
