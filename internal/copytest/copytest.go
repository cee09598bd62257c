// Package copytest makes and joins copies of agents, for tests of what comes of it.
package copytest

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// Merge brings to a store what another has of an agent.
func Merge(t testing.TB, from, to perdure.Store, id perdure.AgentID) {
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

// Write writes an entry to an agent in a store with a key.
func Write(t testing.TB, s perdure.Store, id perdure.AgentID, key *perdure.Signer, body perdure.Body) perdure.Hash {
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

// Thief is somebody who has a key that was stolen, and a copy of an agent that they write to with it.
type Thief struct {
	t     testing.TB
	Store *perdure.MemStore
	ID    perdure.AgentID
	Key   *perdure.Signer
}

// Steal makes a copy of an agent for a thief.
func Steal(t testing.TB, from perdure.Store, id perdure.AgentID) *Thief {
	t.Helper()
	key, err := perdure.GenerateSigner("eve")
	if err != nil {
		t.Fatal(err)
	}
	s := new(perdure.MemStore)
	Merge(t, from, s, id)
	return &Thief{t, s, id, key}
}

// Write writes an entry to the copy.
func (x *Thief) Write(body perdure.Body) perdure.Hash {
	x.t.Helper()
	return Write(x.t, x.Store, x.ID, x.Key, body)
}

// Forge writes advice, that its first action was permitted, and what came of that.
func (x *Thief) Forge(advice perdure.Advice, result any) {
	x.t.Helper()
	forged, err := perdure.DataOf(result)
	if err != nil {
		x.t.Fatal(err)
	}
	decision := x.Write(perdure.Decision{Advice: x.Write(advice), Effect: perdure.Read,
		Verdict: perdure.Verdict{Answer: perdure.Allow}})
	x.Write(perdure.Outcome{Decision: decision, Signal: perdure.OK, Result: forged})
}

// Noise writes so many events.
func (x *Thief) Noise(n int, ev perdure.Event) {
	x.t.Helper()
	for range n {
		x.Write(ev)
	}
}

// Caught has the owner's node revoke the key, not having seen what the thief wrote, and then joins the copy to its
// store.
func (x *Thief) Caught(owner *perdure.Node) {
	x.t.Helper()
	if _, err := owner.Tell(x.t.Context(), x.ID, perdure.Event{Name: "revoke",
		Notice: perdure.KeyChange{Revoke: x.Key.Key()}}); err != nil {
		x.t.Fatal(err)
	}
	Merge(x.t, x.Store, owner.Store, x.ID)
}

// Counter is a store that counts the entries that are read from it, agent by agent.
type Counter struct {
	*perdure.MemStore
	Read int
}

// Entries implements perdure.Store.
func (s *Counter) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item,
	error] {
	return s.counted(s.MemStore.Entries(ctx, id, after))
}

// Snapshots implements perdure.Store.
func (s *Counter) Snapshots(ctx context.Context, id perdure.AgentID) iter.Seq2[perdure.Item, error] {
	return s.counted(s.MemStore.Snapshots(ctx, id))
}

func (s *Counter) counted(items iter.Seq2[perdure.Item, error]) iter.Seq2[perdure.Item, error] {
	return func(yield func(perdure.Item, error) bool) {
		for item, err := range items {
			s.Read++
			if !yield(item, err) {
				return
			}
		}
	}
}
