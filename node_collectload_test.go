package perdure_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure"
)

// Two homes of one owner have an agent each, and both collect. Whatever passes between them, or is refused, each can
// still load its own afterwards.
func TestWhateverPassesBetweenThoseWhoCollectBothGoOn(t *testing.T) {
	total := int64(0)
	rapid.Check(t, func(rt *rapid.T) {
		ops := rapid.SliceOfN(rapid.SampledFrom([]string{"tell", "wait", "collect", "snapshot", "pass"}), 5, 40).
			Draw(rt, "ops")
		homes := rapid.SliceOfN(rapid.IntRange(0, 1), len(ops), len(ops)).Draw(rt, "homes")
		var failed error
		synctest.Test(t, func(t *testing.T) {
			stores := []*perdure.MemStore{new(perdure.MemStore), new(perdure.MemStore)}
			nodes := []*perdure.Node{newNode(t, stores[0], nil), newNode(t, stores[1], nil)}
			nodes[1].Key = nodes[0].Key
			trust := perdure.NewTrust(perdure.Trustee{Key: nodes[0].Key.Key(), Rights: perdure.MayOwn,
				Scope: perdure.AnyScope})
			id := create(t, nodes[0], perdure.Genesis{Intent: perdure.Intent{Goal: "g", TTL: time.Hour.Milliseconds()},
				Charter: perdure.Charter{Scope: "acme"}})
			merge(t, stores[0], stores[1], id)
			for i, op := range ops {
				at := homes[i]
				switch op {
				case "tell":
					_, failed = nodes[at].Tell(t.Context(), id, perdure.Event{Name: "said"})
				case "wait":
					time.Sleep(2 * time.Hour)
				case "collect":
					var c perdure.Collected
					c, failed = nodes[at].Collect(t.Context(), id)
					total += c.Entries
				case "snapshot":
					_, failed = nodes[at].Snapshot(t.Context(), id)
				case "pass": // it may be refused
					_, _, _ = trust.Join(t.Context(), stores[at], id, perdure.Memory(t.Context(), stores[1-at], id))
				}
				for k, s := range stores {
					if _, err := perdure.Load(t.Context(), s, id); err != nil && failed == nil {
						failed = fmt.Errorf("home %d after %s in %d: %w", k, op, at, err)
					}
				}
				if failed != nil {
					return
				}
			}
		})
		if failed != nil {
			rt.Fatal(failed)
		}
	})
	if total == 0 {
		t.Error("nothing was dropped: the test tried nothing")
	}
}
