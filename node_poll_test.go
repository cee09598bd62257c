package perdure_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// TestAPollThatLearnsNothingIsNotRecorded: a tool is asked every second for a quarter of an hour. Memory has its first answer, says once that
// polling goes on, and has the one that is different.
func TestAPollThatLearnsNothingIsNotRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		asked := 0
		status := &tool{spec: perdure.Spec{Name: "status", Effect: perdure.Read}}
		status.call = func(context.Context, perdure.Call) (perdure.Result, error) {
			asked++
			data, err := perdure.DataOf(map[string]any{"ready": asked > 900})
			return perdure.Result{Data: data}, err
		}
		n := newNode(t, store, scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
			if turn == 0 {
				return []perdure.Action{perdure.Sleep{Trigger: perdure.Every{Millis: 1000, Poll: perdure.Execute{Tool: "status"}, Until: "result.ready"}}}
			}
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		}), status)
		id := create(t, n, perdure.Genesis{})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- n.Run(ctx) }()
		time.Sleep(20 * time.Minute)
		stop()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		var outcomes []perdure.Outcome
		entries := 0
		for e, err := range perdure.Memory(t.Context(), store, id) {
			if err != nil {
				t.Fatal(err)
			}
			if entries++; e.Kind == perdure.KindOutcome {
				o, _ := e.Content().(perdure.Outcome)
				outcomes = append(outcomes, o)
			}
		}
		if f := load(t, store, id); f.Ended == nil || asked != 901 {
			t.Errorf("got ended %v after %d polls, want the end after 901", f.Ended != nil, asked)
		}
		if len(outcomes) != 3 || entries > 20 {
			t.Fatalf("%d outcomes in %d entries, want 3: the first, one that says that polling goes on, and the one that is different", len(outcomes), entries)
		}
		if !strings.Contains(outcomes[1].Note, "599 times") || !strings.Contains(outcomes[2].Note, "300 times") && !strings.Contains(outcomes[2].Note, "299 times") {
			t.Errorf("got notes %q and %q, want how often it was asked", outcomes[1].Note, outcomes[2].Note)
		}
		if _, err := perdure.Verify(perdure.Memory(t.Context(), store, id), perdure.VerifyOptions{}); err != nil {
			t.Error(err)
		}
	})
}
