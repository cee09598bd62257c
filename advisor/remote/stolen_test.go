package remote_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/copytest"
)

// What a stolen key wrote is not shown to a remote advisor, however much it is: far more than a fold remembers
// conflicts. So it is where the agent holds all of its memory, and where it is read from the store.
func TestWhatAStolenKeyWroteIsNotSent(t *testing.T) {
	for _, more := range []int{0, 65, 200} {
		for _, every := range []int{0, 1} {
			t.Run(fmt.Sprint(more, every), func(t *testing.T) {
				step := `{"actions":[{"execute":{"tool":"echo","args":{"n":1}}},{"sleep":{"on":"go"}}]}`
				h, sent := serve(t, step, `{"actions":[{"end":{}}]}`)
				here := new(perdure.MemStore)
				h.Store = here
				n := newNode(t, here, h, new(echo))
				n.SnapshotEvery = every
				id := create(t, n, nil)
				if _, err := n.RunAgent(t.Context(), id); err != nil {
					t.Fatal(err)
				}
				eve, data := copytest.Steal(t, here, id), map[string]any{"n": "forged"}
				eve.Forge(perdure.Advice{Seen: []perdure.Hash{}, Text: "forged",
					Actions: []perdure.Action{perdure.Execute{Tool: "echo"}}}, data)
				forged, err := perdure.DataOf(data)
				if err != nil {
					t.Fatal(err)
				}
				eve.Noise(more, perdure.Event{Name: "forged", Data: forged})
				eve.Caught(n)
				if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "go"}); err != nil {
					t.Fatal(err)
				}
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
