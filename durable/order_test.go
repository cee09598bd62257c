package durable

import (
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// TestAFunctionIsToldTheSameInWhateverOrderEntriesArrived: of a step that two copies did, every store replays the same
// outcome, from what the agent holds as well as out of the store.
func TestAFunctionIsToldTheSameInWhateverOrderEntriesArrived(t *testing.T) {
	t.Parallel()
	key, err := perdure.GenerateSigner("me")
	if err != nil {
		t.Fatal(err)
	}
	first := new(perdure.MemStore)
	n := &perdure.Node{Store: first, Key: key}
	a, err := n.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "a", Goal: "g"},
		Charter: perdure.Charter{Scope: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	var before []*perdure.Entry
	for e, err := range perdure.Memory(t.Context(), first, a.ID()) {
		if err != nil {
			t.Fatal(err)
		}
		before = append(before, e)
	}
	commit := func(a *perdure.Agent, b perdure.Body) ([]*perdure.Entry, *perdure.Agent) {
		entries, next, err := key.Commit(a, time.Now(), perdure.Draft{Body: b})
		if err != nil {
			t.Fatal(err)
		}
		return entries, next
	}
	advice, next := commit(a, perdure.Advice{Replays: true,
		Actions: []perdure.Action{perdure.Execute{Tool: "t", Call: "k"}}})
	decision, next := commit(next, perdure.Decision{Advice: advice[0].Name, Effect: perdure.Idempotent,
		Verdict: perdure.Verdict{Answer: perdure.Allow}, Key: perdure.HashOf([]byte("k")),
		Deadline: perdure.TimeOf(time.Now().Add(time.Hour))})
	var outcomes [2][]*perdure.Entry
	for i, says := range []string{"one", "two"} {
		result, err := perdure.DataOf(says)
		if err != nil {
			t.Fatal(err)
		}
		outcomes[i], _ = commit(next, perdure.Outcome{Decision: decision[0].Name, Signal: perdure.OK, Result: result})
	}
	told := map[any]bool{}
	for _, first := range []int{0, 1} {
		order := slices.Concat(outcomes[first], outcomes[1-first])
		s := new(perdure.MemStore)
		if err := s.Put(t.Context(), a.ID(), slices.Concat(before, advice, decision, order)...); err != nil {
			t.Fatal(err)
		}
		here, err := perdure.Load(t.Context(), s, a.ID())
		if err != nil {
			t.Fatal(err)
		}
		for _, held := range []*perdure.Agent{nil, here} {
			records, _, err := replay(t.Context(), s, here.Fold(), held)
			if err != nil {
				t.Fatal(err)
			}
			told[records.done["k"].data.Value()] = true
		}
	}
	if len(told) != 1 {
		t.Errorf("the function is told %v, want the same everywhere", told)
	}
}
