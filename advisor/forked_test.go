package advisor

import (
	"context"
	"strings"
	"testing"

	"github.com/perdure/perdure"
)

// TestAForkIsToldThatAnOpenCallMayHaveHappened and not that it was never decided.
func TestAForkIsToldThatAnOpenCallMayHaveHappened(t *testing.T) {
	t.Parallel()
	model := calls("first thought")
	s := newStage(t, &LLM{Model: model}, "the first result")
	s.cycles(2)
	var open perdure.Hash
	for e := range s.load().Recent() {
		if d, ok := e.Content().(perdure.Decision); ok && d.Verdict.Answer == perdure.Allow {
			open = e.Name
		}
	}
	at, err := perdure.AgentAt(perdure.Memory(t.Context(), s.node.Store, s.id), open)
	if err != nil {
		t.Fatal(err)
	}
	fork, err := s.node.Fork(t.Context(), at, at.Fold().ForkGenesis(open, true))
	if err != nil {
		t.Fatal(err)
	}
	s.id = fork.ID()
	s.cycles(2)
	got := shape(model.last)
	if !strings.Contains(got, "may have happened") || strings.Contains(got, "the first result") {
		t.Errorf("the fork is shown\n%s", got)
	}
}

// TestAForkGoesOnWithTheConversation up to the point it was forked at, and no further; so does a fork of it.
func TestAForkGoesOnWithTheConversation(t *testing.T) {
	t.Parallel()
	model := calls("first thought")
	s := newStage(t, &LLM{Model: model}, "the first result")
	s.cycles(2)
	at := s.load()
	model.say = calls("later thought").say
	s.cycles(4)
	fork := func(from *perdure.Agent) *perdure.Agent {
		t.Helper()
		a, err := s.node.Fork(context.Background(), from, from.Fold().ForkGenesis(from.Heads()[0], true))
		if err != nil {
			t.Fatal(err)
		}
		s.id = a.ID()
		s.cycles(2)
		return s.load()
	}
	model.say = calls("forked thought").say
	again := fork(at)
	got := shape(model.last)
	if !strings.Contains(got, "first thought") || !strings.Contains(got, "the first result") ||
		!strings.Contains(got, "forked") || strings.Contains(got, "later thought") {
		t.Errorf("the fork is shown\n%s", got)
	}
	model.say = calls("third thought").say
	fork(again)
	if got = shape(model.last); strings.Count(got, "first thought") != 1 || strings.Count(got, "forked thought") != 1 ||
		strings.Contains(got, "later thought") {
		t.Errorf("the fork of the fork is shown\n%s", got)
	}
}
