package remote_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// What a stolen key wrote is not shown to a remote advisor, however much it is: far more than a fold remembers
// conflicts. So it is where the agent holds all of its memory, and where it is read from the store.
func TestWhatAStolenKeyWroteIsNotSent(t *testing.T) {
	for _, more := range []int{0, 65, 200} {
		for _, every := range []int{0, 1} {
			t.Run(fmt.Sprint(more, every), func(t *testing.T) {
				step := `{"actions":[{"execute":{"tool":"echo","args":{"n":1}}},{"sleep":{"on":"go"}}]}`
				h, sent := serve(t, step, `{"actions":[{"end":{}}]}`)
				here, there := new(perdure.MemStore), new(perdure.MemStore)
				h.Store = here
				n := newNode(t, here, h, new(echo))
				n.SnapshotEvery = every
				id := create(t, n, nil)
				if _, err := n.RunAgent(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				put(t, here, there, id)
				eve, err := perdure.GenerateSigner("eve")
				if err != nil {
					t.Fatal(err)
				}
				forged, err := perdure.DataOf(map[string]any{"n": "forged"})
				if err != nil {
					t.Fatal(err)
				}
				advice := signed(t, there, id, eve, perdure.Advice{Seen: []perdure.Hash{}, Text: "forged",
					Actions: []perdure.Action{perdure.Execute{Tool: "echo"}}})
				decision := signed(t, there, id, eve, perdure.Decision{Advice: advice, Effect: perdure.Read,
					Verdict: perdure.Verdict{Answer: perdure.Allow}})
				signed(t, there, id, eve, perdure.Outcome{Decision: decision, Signal: perdure.OK, Result: forged})
				for range more {
					signed(t, there, id, eve, perdure.Event{Name: "forged", Data: forged})
				}
				for _, ev := range []perdure.Event{{Name: "revoke", Notice: perdure.KeyChange{Revoke: eve.Key()}},
					{Name: "go"}} {
					if _, err := n.Tell(t.Context(), id, ev); err != nil {
						t.Fatal(err)
					}
				}
				put(t, there, here, id)
				n = newNode(t, here, h, new(echo))
				n.SnapshotEvery = every
				if _, err := n.RunAgent(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				ended(t, load(t, n, id), perdure.OK, "null")
				if len(*sent) != 2 {
					t.Fatalf("asked %d times, want twice", len(*sent))
				}
				if b := (*sent)[1]; bytes.Contains(b, []byte("forged")) || !bytes.Contains(b, []byte(`"n":1`)) {
					t.Errorf("sent %s", b)
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
