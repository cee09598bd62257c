package perdure_test

import (
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// kept is a memory as somebody passes it on who leaves out bodies.
func kept(t *testing.T, s perdure.Store, id perdure.AgentID, bare func(*perdure.Entry) bool) iter.Seq2[*perdure.Entry,
	error] {
	return func(yield func(*perdure.Entry, error) bool) {
		for e, err := range perdure.Memory(t.Context(), s, id) {
			if err == nil && bare(e) {
				e = e.Drop()
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// accounts counts the bodies of a memory that are gone, and those that records tell of.
func accounts(t *testing.T, s perdure.Store, id perdure.AgentID) (gone, recorded int64) {
	t.Helper()
	for e, err := range perdure.Memory(t.Context(), s, id) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Content() == nil {
			gone++
		}
		ev, _ := e.Content().(perdure.Event)
		p, _ := ev.Notice.(perdure.Pruned)
		recorded += p.Entries
	}
	return gone, recorded
}

// A copy takes what another one collected since, however often, as collected: records account for all that is gone,
// also those that were dropped themselves. What somebody else left out it refuses.
func TestWhatWasCollectedElsewhereArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := new(perdure.MemStore), new(perdure.MemStore)
		n := newNode(t, here, nil)
		trust := perdure.NewTrust(perdure.Trustee{Key: n.Key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
		id := create(t, n, perdure.Genesis{Intent: perdure.Intent{Goal: "g", TTL: time.Hour.Milliseconds()},
			Charter: perdure.Charter{Scope: "acme"}})
		all := func(*perdure.Entry) bool { return false }
		if err := perdure.PutAll(t.Context(), there, id, kept(t, here, id, all)); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "x"}); err != nil {
				t.Fatal(err)
			}
			snap, err := n.Snapshot(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			before := func(e *perdure.Entry) bool { return e.Kind != perdure.KindGenesis && e.Seq < snap.Seq }
			if _, _, err := trust.Join(t.Context(), there, id, kept(t, here, id, before)); err == nil {
				t.Fatal("took a memory that somebody has left bodies out of")
			}
			time.Sleep(2 * time.Hour)
			if c, err := n.Collect(t.Context(), id); err != nil || c.Entries == 0 {
				t.Fatalf("collected %d bodies: %v", c.Entries, err)
			}
		}
		if gone, recorded := accounts(t, here, id); gone != recorded {
			t.Errorf("%d bodies are gone, and the records tell of %d", gone, recorded)
		}
		got, _, err := trust.Join(t.Context(), there, id, kept(t, here, id, all))
		if err != nil {
			t.Fatal(err)
		}
		want, err := load(t, here, id).Hash()
		if err != nil {
			t.Fatal(err)
		}
		if hash, err := got.Fold().Hash(); err != nil || hash != want {
			t.Errorf("it comes to %s there, %v; want %s", hash.Short(), err, want.Short())
		}
	})
}
