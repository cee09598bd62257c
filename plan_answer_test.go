package perdure_test

import (
	"context"
	"testing"

	"github.com/perdure/perdure"
)

// A person answers the first question in a copy, another does so here, and the agent asks the second: what arrives from
// the copy answers the first question and not this one.
func TestAnAnswerIsForTheQuestionItNames(t *testing.T) {
	t.Parallel()
	asks := func(call string) []perdure.Action {
		return []perdure.Action{perdure.Sleep{Trigger: perdure.On{Event: perdure.AnswerEvent}, Note: call + "?",
			Call: call}}
	}
	advise := perdure.AdvisorFunc(func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
		switch a.Fold().Turns {
		case 0:
			return perdure.Advice{Actions: asks("first")}, nil
		case 1:
			return perdure.Advice{Actions: asks("second")}, nil
		}
		return perdure.Advice{Actions: []perdure.Action{perdure.End{Signal: perdure.OK}}}, nil
	})
	here := newNode(t, new(perdure.MemStore), advise)
	there := newNode(t, new(perdure.MemStore), advise)
	there.Key = here.Key
	id := create(t, here, perdure.Genesis{})
	run(t, here, id)
	copyTo(t, here.Store, there.Store, id)
	for _, n := range []*perdure.Node{here, there} {
		if _, err := n.Answer(t.Context(), id, "go on"); err != nil {
			t.Fatal(err)
		}
	}
	run(t, here, id)
	copyTo(t, there.Store, here.Store, id)
	run(t, here, id)
	if f := load(t, here.Store, id); f.Ended != nil || f.Sleep == nil || f.Sleep.Sleep.Call != "second" {
		t.Fatalf("the agent went on by the answer to another question: %+v", f.Sleep)
	}
	if _, err := here.Answer(t.Context(), id, "yes"); err != nil {
		t.Fatal(err)
	}
	if run(t, here, id); load(t, here.Store, id).Ended == nil {
		t.Fatal("the answer to its question does not wake the agent")
	}
}
