package home_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/store/dir"
)

// grow gives an agent many events, with a snapshot after every so many, as nodes write them.
func grow(t *testing.T, l home.Local, id perdure.AgentID, events, every int) {
	t.Helper()
	for done := 0; done < events; done += every {
		a, err := perdure.Load(t.Context(), l.Desk.Store, id)
		if err != nil {
			t.Fatal(err)
		}
		drafts := make([]perdure.Draft, 0, every)
		for i := range every {
			drafts = append(drafts, perdure.Draft{Body: perdure.Event{Name: fmt.Sprint("e", done+i)}})
		}
		entries, told, err := l.Desk.Node.Key.Commit(a, time.Now(), drafts...)
		if err == nil { // its advisor has seen the last of them, so that there is room in its inbox
			var seen []perdure.Hash
			for _, m := range told.Fold().Inbox {
				seen = append(seen, m.Event)
			}
			var advice []*perdure.Entry
			saw := perdure.Advice{Advisor: "m", Seen: seen}
			advice, _, err = l.Desk.Node.Key.Commit(told, time.Now(), perdure.Draft{Body: saw})
			entries = append(entries, advice...)
		}
		if err == nil {
			err = l.Desk.Store.Put(t.Context(), id, entries...)
		}
		if err == nil {
			_, err = l.Desk.Node.Snapshot(t.Context(), id)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// inFolder is a desk over a folder of agents.
func inFolder(t *testing.T, l home.Local) home.Local {
	t.Helper()
	trust, err := l.Desk.Home.Trust()
	if err != nil {
		t.Fatal(err)
	}
	s, err := dir.Open(filepath.Join(t.TempDir(), "agents"), dir.Options{Trust: trust, Secret: []byte("known here")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	d := l.Desk
	n := &perdure.Node{Store: s, Key: d.Node.Key, Trust: trust, Policy: d.Node.Policy}
	return home.Local{Desk: &home.Desk{Home: d.Home, Store: s, Node: n}, Visitor: l.Visitor}
}

// What it costs to pass a few entries on does not depend on how many there are before them, whatever the store. The
// memory that is used counts the work: everything a store reads or writes of an agent goes through it.
func TestPassingOneOfManyCostsOne(t *testing.T) {
	for _, kind := range []string{"sqlite", "dir"} {
		t.Run(kind, func(t *testing.T) {
			cost := map[int]uint64{}
			for _, size := range []int{2_000, 16_000} {
				a, an := openDesk(t)
				b, _ := openDesk(t)
				trusts(t, b, an)
				if kind == "dir" {
					b = inFolder(t, b)
				}
				id := newAgent(t, a, 1)
				grow(t, a, id, size, 250)
				pass := func() uint64 {
					hears(t, a, id, 1)
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					s, err := exchange.Sync(t.Context(), a, b, id, exchange.Push)
					runtime.ReadMemStats(&after)
					if err != nil || s.Pushed == nil || s.Pushed.Entries == 0 {
						t.Fatalf("%+v %v", s, err)
					}
					return after.TotalAlloc - before.TotalAlloc
				}
				pass() // all of it
				for range 3 {
					cost[size] = max(cost[size], pass())
				}
				t.Logf("%d entries: %d KiB", size, cost[size]>>10)
			}
			if small, large := cost[2_000], cost[16_000]; large > 2*small {
				t.Errorf("to pass one entry took %d KiB of 2,000 entries, %d KiB of 16,000", small>>10, large>>10)
			}
		})
	}
}

// What an agent was told where it arrived, that it waits and that somebody admitted it, comes back at the cost of
// that, however long the memory: also where it is refused, which a peer may have tried again and again.
func TestAnAdmissionComesBackAtItsOwnCost(t *testing.T) {
	rights := map[string]perdure.Right{"taken": perdure.MayAuthor | perdure.MayApprove, "refused": perdure.MayAuthor}
	for name, right := range rights {
		t.Run(name, func(t *testing.T) {
			cost := map[int]uint64{}
			for _, size := range []int{2_000, 16_000} {
				a, an := openDesk(t)
				b, bn := openDesk(t)
				for l, x := range map[home.Local]perdure.Trustee{
					b: {Key: an.Key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope},
					a: {Key: bn.Key.Key(), Rights: right, Scope: perdure.AnyScope},
				} {
					if err := l.Desk.Home.TrustKey(x); err != nil {
						t.Fatal(err)
					}
				}
				id := newAgent(t, a, 1)
				grow(t, a, id, size, size/8)
				s, err := exchange.Sync(t.Context(), a, b, id, exchange.Push)
				if err != nil || s.Pushed == nil || s.Pushed.Held == "" {
					t.Fatalf("%+v %v, want it to arrive and wait", s, err)
				}
				if _, err := b.Desk.Resume(t.Context(), b.Visitor, id.String(), ""); err != nil {
					t.Fatal(err)
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				s, err = exchange.Sync(t.Context(), a, b, id, exchange.Pull)
				runtime.ReadMemStats(&after)
				if name == "taken" && (err != nil || s.Pulled == nil || s.Pulled.Held != "") {
					t.Fatalf("%+v %v", s, err)
				}
				var r *perdure.Rejection
				if name == "refused" && (!errors.As(err, &r) || r.Predicate != "key.trusted") {
					t.Fatalf("%+v %v, want it refused", s, err)
				}
				cost[size] = after.TotalAlloc - before.TotalAlloc
				t.Logf("%d entries: %d KiB", size, cost[size]>>10)
			}
			if small, large := cost[2_000], cost[16_000]; large > 2*small {
				t.Errorf("it took %d KiB with 2,000 entries, %d KiB with 16,000", small>>10, large>>10)
			}
		})
	}
}
