package perdure_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// TestAPollThatLearnsNothingIsNotRecorded: a tool is asked every second for a quarter of an hour. Memory has its first
// answer, says once that polling goes on, and has the one that is different.
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
				return []perdure.Action{perdure.Sleep{Trigger: perdure.Every{Millis: 1000,
					Poll: perdure.Execute{Tool: "status"}, Until: "result.ready"}}}
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
			t.Fatalf("%d outcomes in %d entries, want 3: the first, one that says that polling goes on, and the one "+
				"that is different", len(outcomes), entries)
		}
		if !strings.Contains(outcomes[1].Note, "599 times") || !strings.Contains(outcomes[2].Note, "300 times") &&
			!strings.Contains(outcomes[2].Note, "299 times") {
			t.Errorf("got notes %q and %q, want how often it was asked", outcomes[1].Note, outcomes[2].Note)
		}
		if _, err := perdure.Verify(perdure.Memory(t.Context(), store, id), perdure.VerifyOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// What a tool says is recorded whatever it says: also in the words in which a node says that it heard nothing new.
func TestANoteOfAToolIsNotTakenForTheNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		status := &tool{spec: perdure.Spec{Name: "status", Effect: perdure.Read}}
		status.call = func(context.Context, perdure.Call) (perdure.Result, error) {
			return perdure.Result{Note: "the answer on record came again, it says"}, nil
		}
		n := newNode(t, store, scripted(func(*perdure.Agent, int64) []perdure.Action {
			return []perdure.Action{perdure.Sleep{Trigger: perdure.Every{Millis: 1000,
				Poll: perdure.Execute{Tool: "status"}, Until: "false"}}}
		}), status)
		id := create(t, n, perdure.Genesis{})
		ctx, stop := context.WithTimeout(t.Context(), 10500*time.Millisecond)
		defer stop()
		if err := n.Run(ctx); err != nil {
			t.Fatal(err)
		}
		said := 0
		for e, err := range perdure.Memory(t.Context(), store, id) {
			if err != nil {
				t.Fatal(err)
			}
			if o, ok := e.Content().(perdure.Outcome); ok && o.Note != "" {
				said++
			}
		}
		if said < 10 {
			t.Errorf("%d of 10 notes are recorded", said)
		}
	})
}

// claimsOf counts how often agents are claimed.
type claimsOf struct {
	*perdure.MemStore
	n atomic.Int64
}

func (s *claimsOf) Claim(ctx context.Context, id perdure.AgentID, node perdure.Key, lease time.Duration) (perdure.Claim,
	error) {
	s.n.Add(1)
	return s.MemStore.Claim(ctx, id, node, lease)
}

// A poll that waits for a person, or of which nobody knows whether it happened, is not asked for again and again.
func TestAPollThatWaitsCostsNothing(t *testing.T) {
	for name, answer := range map[string]perdure.Answer{"asked": perdure.Ask, "in doubt": perdure.Allow} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &claimsOf{MemStore: new(perdure.MemStore)}
				status := &tool{spec: perdure.Spec{Name: "status", Effect: perdure.Once}}
				status.call = func(context.Context, perdure.Call) (perdure.Result, error) {
					return perdure.Result{}, perdure.ErrInDoubt
				}
				n := newNode(t, store, scripted(func(*perdure.Agent, int64) []perdure.Action {
					return []perdure.Action{perdure.Sleep{Trigger: perdure.Every{Millis: 1000,
						Poll: perdure.Execute{Tool: "status"}, Until: "false"}}}
				}), status)
				n.Policy = perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, now time.Time) perdure.Verdict {
					if _, calls := r.Action.(perdure.Execute); calls {
						return perdure.Verdict{Answer: answer, Expires: perdure.TimeOf(now.Add(time.Hour))}
					}
					return perdure.Verdict{Answer: perdure.Allow}
				})
				create(t, n, perdure.Genesis{})
				ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
				defer stop()
				if err := n.Run(ctx); err != nil {
					t.Fatal(err)
				}
				if got := store.n.Load(); got > 20 {
					t.Errorf("it was claimed %d times in ten minutes", got)
				}
			})
		})
	}
}

// A proposal is dropped for an edit of the agent, and not for an event that is called so.
func TestAnEventCalledEditIsNoEdit(t *testing.T) {
	asked := int64(0)
	n := newNode(t, new(perdure.MemStore), scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
		if asked = turn; turn == 0 {
			return []perdure.Action{perdure.Execute{Tool: "elsewhere"}}
		}
		return []perdure.Action{perdure.End{Signal: perdure.OK}}
	}))
	id := create(t, n, perdure.Genesis{})
	run(t, n, id)
	if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "edit"}); err != nil {
		t.Fatal(err)
	}
	if idle := run(t, n, id); asked != 0 || idle.Needs != "elsewhere" {
		t.Errorf("after an event called edit: turn %d, idle %+v; want it to wait for a node with the tool", asked, idle)
	}
	goal := "another"
	if _, err := n.Edit(t.Context(), id, perdure.Mutate{Goal: &goal}, nil); err != nil {
		t.Fatal(err)
	}
	if run(t, n, id); asked == 0 {
		t.Error("after an edit its advisor was not asked again")
	}
}
