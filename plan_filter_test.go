package perdure_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// TestManyEventsDoNotHideTheOneThatFits: events under the name an agent waits for do not keep the one that fits its
// filter from waking it, however much it costs to see that they do not; also in a process that has seen none of them.
func TestManyEventsDoNotHideTheOneThatFits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const filter = `event.data.id.contains("x1") || event.data.tags.exists(t, t == "x1")`
		advise := scripted(func(_ *perdure.Agent, turn int64) []perdure.Action {
			if turn == 0 {
				return []perdure.Action{perdure.Sleep{Trigger: perdure.On{Event: "paid", Filter: filter}}}
			}
			return []perdure.Action{perdure.End{Signal: perdure.OK}}
		})
		n := newNode(t, new(perdure.MemStore), advise)
		id := create(t, n, perdure.Genesis{})
		run(t, n, id)
		tags := make([]string, 100)
		tell := func(name string) {
			t.Helper()
			d, err := perdure.DataOf(map[string]any{"id": name, "tags": tags})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "paid", Data: d}); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 900 {
			tell(fmt.Sprint("y", i))
		}
		tell("x1")
		fresh := newNode(t, n.Store, advise)
		fresh.Key = n.Key
		for range 20 { // it is looked at again after a while
			if run(t, fresh, id); load(t, n.Store, id).Ended != nil {
				return
			}
			time.Sleep(2 * time.Second)
		}
		t.Error("the agent sleeps on")
	})
}
