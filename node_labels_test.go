package perdure_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// TestNobodyMakesAnAgentSomebodyElses tries every way an agent could get the labels that say whose it is.
func TestNobodyMakesAnAgentSomebodyElses(t *testing.T) {
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	theirs := map[string]string{"a2a-client": "mallory", "a2a-context": "one"}
	n := &perdure.Node{
		Store: new(perdure.MemStore), Key: key,
		Policy: perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
			return perdure.Verdict{Answer: perdure.Allow}
		}),
		Advisors: map[string]perdure.Advisor{"": perdure.AdvisorFunc(
			func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
				acts := []perdure.Action{perdure.Mutate{Labels: theirs},
					perdure.Delegate{Intent: perdure.Intent{Name: "leak", Goal: "leak", Labels: theirs}},
					perdure.Delegate{Intent: perdure.Intent{Name: "child", Goal: "help"}},
					perdure.End{Signal: perdure.OK}}
				return perdure.Advice{Actions: acts[min(a.Fold().Turns, 3):][:1]}, nil
			})},
	}
	g := perdure.Genesis{Intent: perdure.Intent{Name: "a", Goal: "be tested"},
		Charter: perdure.Charter{Scope: "acme", Depth: 2}}
	a, err := n.Create(t.Context(), g)
	if err != nil {
		t.Fatal(err)
	}
	g.Intent.Labels = theirs
	task, err := n.CreateOnce(t.Context(), g, nil) // as a door does
	if err != nil {
		t.Fatal(err)
	}
	refused := func(way string, err error) {
		t.Helper()
		if !errors.Is(err, perdure.ErrInvalid) || !strings.Contains(err.Error(), "a2a-") {
			t.Errorf("%s: got %v, want a refusal that names the labels", way, err)
		}
	}
	_, err = n.Create(t.Context(), g)
	refused("create", err)
	_, err = n.Start(t.Context(), g)
	refused("start", err)
	_, err = n.Edit(t.Context(), a.ID(), perdure.Mutate{Labels: theirs}, nil)
	refused("edit", err)
	_, err = n.Edit(t.Context(), task.ID(), perdure.Mutate{Labels: map[string]string{}}, nil)
	refused("edit of a task", err)
	fork := task.Fold().ForkGenesis(task.Heads()[0], true)
	fork.Intent.Name = "fork"
	forked, err := n.Fork(t.Context(), task, fork)
	if err != nil {
		t.Fatal(err)
	}
	if got := forked.Fold().Intent.Labels; len(got) > 0 {
		t.Errorf("a fork of a task has the labels %v", got)
	}
	fork.Intent.Labels = theirs
	_, err = n.Fork(t.Context(), task, fork)
	refused("fork", err)
	for _, id := range []perdure.AgentID{a.ID(), task.ID()} {
		if _, err := n.RunAgent(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	var whose []string
	for l, err := range n.Store.(perdure.Lister).List(t.Context(), perdure.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		if l.Labels["a2a-client"] != "" {
			whose = append(whose, l.Agent.String())
		}
		if l.Name == "leak" {
			t.Error("an agent delegated to one of somebody else's")
		}
	}
	if !slices.Equal(whose, []string{task.ID().String()}) {
		t.Errorf("%v are listed as theirs, want the task %s alone", whose, task.ID())
	}
}
