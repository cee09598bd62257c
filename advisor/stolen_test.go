package advisor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/copytest"
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
				eve := copytest.Steal(t, s.store, s.id)
				eve.Forge(perdure.Advice{Text: "forged thought",
					Actions: []perdure.Action{perdure.Execute{Tool: "echo"}}}, "forged")
				forged, err := perdure.DataOf("forged")
				if err != nil {
					t.Fatal(err)
				}
				eve.Noise(more, perdure.Event{Name: "forged", Data: forged})
				eve.Caught(s.node)
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
