package advisor

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// A model is shown nothing that a stolen key wrote, however much it is: far more than a fold remembers conflicts. So it
// is where the agent holds all of its memory, and where it is read from the store.
func TestAModelIsNotShownWhatAStolenKeyWrote(t *testing.T) {
	t.Parallel()
	for _, more := range []int{0, 65, 200} {
		for _, every := range []int{0, 1} {
			t.Run(fmt.Sprint(more, every), func(t *testing.T) {
				t.Parallel()
				model := calls("real thought")
				s := newStage(t, &LLM{Model: model}, "the real result")
				s.node.SnapshotEvery = every
				s.cycles(2)
				there := new(perdure.MemStore)
				put(t, s.store, there, s.id)
				eve, err := perdure.GenerateSigner("eve")
				if err != nil {
					t.Fatal(err)
				}
				forged, err := perdure.DataOf("forged")
				if err != nil {
					t.Fatal(err)
				}
				advice := signed(t, there, s.id, eve, perdure.Advice{Text: "forged thought",
					Actions: []perdure.Action{perdure.Execute{Tool: "echo"}}})
				decision := signed(t, there, s.id, eve, perdure.Decision{Advice: advice, Effect: perdure.Read,
					Verdict: perdure.Verdict{Answer: perdure.Allow}})
				signed(t, there, s.id, eve, perdure.Outcome{Decision: decision, Signal: perdure.OK, Result: forged})
				for range more {
					signed(t, there, s.id, eve, perdure.Event{Name: "forged", Data: forged})
				}
				if _, err := s.node.Tell(context.Background(), s.id, perdure.Event{Name: "revoke",
					Notice: perdure.KeyChange{Revoke: eve.Key()}}); err != nil {
					t.Fatal(err)
				}
				put(t, there, s.store, s.id)
				model.last = nil
				for range 20 {
					if s.cycles(1); model.last != nil {
						break
					}
				}
				if model.last == nil {
					t.Fatal("the model was not asked")
				}
				got := shape(model.last)
				if strings.Contains(got, "forged") || !strings.Contains(got, "the real result") {
					t.Errorf("it is shown\n%s", got)
				}
			})
		}
	}
}

// put brings to a store what another has of an agent.
func put(t *testing.T, from, to perdure.Store, id perdure.AgentID) {
	t.Helper()
	for e, err := range perdure.Memory(t.Context(), from, id) {
		if err == nil {
			err = to.Put(t.Context(), id, e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// signed writes an entry to an agent in a store with a key.
func signed(t *testing.T, s perdure.Store, id perdure.AgentID, key *perdure.Signer, body perdure.Body) perdure.Hash {
	t.Helper()
	a, err := perdure.Load(t.Context(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	entries, _, err := key.Commit(a, time.Now(), perdure.Draft{Body: body})
	if err == nil {
		err = s.Put(t.Context(), id, entries...)
	}
	if err != nil {
		t.Fatal(err)
	}
	return entries[0].Name
}
