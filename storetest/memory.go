package storetest

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
)

// began is when the agents of this suite were made.
var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// author writes the memories that tests put into stores.
type author struct {
	t testing.TB
	*perdure.Signer
}

func newAuthor(t testing.TB) author {
	s, err := perdure.GenerateSigner("author")
	if err != nil {
		t.Fatal(err)
	}
	return author{t, s}
}

// genesis begins an agent.
func (w author) genesis(i perdure.Intent, scope string) (*perdure.Entry, *perdure.Agent) {
	w.t.Helper()
	if i.Goal == "" {
		i.Goal = "be kept"
	}
	e, err := w.Genesis(perdure.Genesis{Intent: i, Charter: perdure.Charter{Scope: scope}}, began)
	if err != nil {
		w.t.Fatal(err)
	}
	a, err := perdure.Begin(e)
	if err != nil {
		w.t.Fatal(err)
	}
	return e, a
}

// commit writes bodies on top of an agent. The agent is idle, so the commit is due at the time given.
func (w author) commit(a *perdure.Agent, at time.Time, bodies ...perdure.Body) ([]*perdure.Entry, *perdure.Agent) {
	w.t.Helper()
	var drafts []perdure.Draft
	for _, b := range bodies {
		drafts = append(drafts, perdure.Draft{Body: b})
	}
	entries, next, err := w.Commit(a, at, drafts...)
	if err != nil {
		w.t.Fatal(err)
	}
	return entries, next
}

// event is a body that tells an agent something and holds about so many bytes.
func event(name string, size int) perdure.Event {
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(i*7 + len(name))
	}
	d, err := perdure.DataOf(b)
	if err != nil {
		panic(err)
	}
	return perdure.Event{Name: name, Data: d}
}

// sleep is a decision to sleep until a time.
func sleep(until time.Time) perdure.Decision {
	return perdure.Decision{Action: perdure.Sleep{Trigger: perdure.At{Time: perdure.TimeOf(until)}},
		Verdict: perdure.Verdict{Answer: perdure.Allow}}
}

// snapshot is the body of a snapshot of the agent.
func snapshot(a *perdure.Agent) perdure.Snapshot { return perdure.Snapshot{Fold: *a.Fold()} }

// create puts a new agent into the store.
func (s *suite) create(w author, name string) *perdure.Agent {
	w.t.Helper()
	e, a := w.genesis(perdure.Intent{Name: name}, "acme")
	s.append(w.t, a.ID(), nil, e)
	return a
}

// grow commits bodies to an agent in the store.
func (s *suite) grow(w author, a *perdure.Agent, at time.Time, bodies ...perdure.Body) *perdure.Agent {
	w.t.Helper()
	entries, next := w.commit(a, at, bodies...)
	s.append(w.t, a.ID(), a.Heads(), entries...)
	return next
}

func (s *suite) append(t testing.TB, id perdure.AgentID, heads []perdure.Hash, entries ...*perdure.Entry) {
	t.Helper()
	if err := s.Append(t.Context(), id, heads, entries...); err != nil {
		t.Fatalf("append: %v", err)
	}
}

func (s *suite) put(t testing.TB, id perdure.AgentID, entries ...*perdure.Entry) {
	t.Helper()
	if err := s.Put(t.Context(), id, entries...); err != nil {
		t.Fatalf("put: %v", err)
	}
}

// items are the memory of an agent after a cursor.
func items(t testing.TB, s perdure.Store, id perdure.AgentID, after perdure.Cursor) []perdure.Item {
	t.Helper()
	var out []perdure.Item
	for item, err := range s.Entries(context.WithoutCancel(t.Context()), id, after) {
		if err != nil {
			t.Fatalf("entries of %s: %v", id.Short(), err)
		}
		out = append(out, item)
	}
	return out
}

// holds fails unless the memory of an agent is exactly these entries in this order, byte for byte.
func holds(t testing.TB, s perdure.Store, id perdure.AgentID, want ...*perdure.Entry) {
	t.Helper()
	var got []*perdure.Entry
	for _, item := range items(t, s, id, 0) {
		got = append(got, item.Entry)
	}
	if diff := cmp.Diff(names(want), names(got)); diff != "" {
		t.Fatalf("entries (-want +got):\n%s", diff)
	}
	for i := range want {
		w, _ := want[i].MarshalBinary()
		g, _ := got[i].MarshalBinary()
		if !bytes.Equal(w, g) {
			t.Fatalf("entry %d came back as %d other bytes than the %d it was", i, len(g), len(w))
		}
	}
}

// hasHeads fails unless the agent has exactly these heads.
func hasHeads(t testing.TB, s perdure.Store, id perdure.AgentID, want ...*perdure.Entry) {
	t.Helper()
	got, err := s.Heads(t.Context(), id)
	if err != nil {
		t.Fatalf("heads: %v", err)
	}
	if diff := cmp.Diff(sorted(want), texts(got)); diff != "" {
		t.Fatalf("heads (-want +got):\n%s", diff)
	}
}

func names(entries []*perdure.Entry) []string {
	out := []string{}
	for _, e := range entries {
		out = append(out, e.Name.String())
	}
	return out
}

func sorted(entries []*perdure.Entry) []string {
	out := names(entries)
	slices.Sort(out)
	return out
}

func texts(hashes []perdure.Hash) []string {
	out := []string{}
	for _, h := range hashes {
		out = append(out, h.String())
	}
	return out
}

// absent fails unless the store does not hold the agent.
func absent(t testing.TB, s perdure.Store, id perdure.AgentID) {
	t.Helper()
	if heads, err := s.Heads(t.Context(), id); !errors.Is(err, perdure.ErrNotFound) {
		t.Fatalf("heads of an agent the store does not hold: got %v, %v, want ErrNotFound", texts(heads), err)
	}
}

// due is the agents due by a time.
func due(t testing.TB, s perdure.Store, now time.Time) []perdure.Look {
	t.Helper()
	out := []perdure.Look{}
	for l, err := range s.Due(t.Context(), now) {
		if err != nil {
			t.Fatalf("due: %v", err)
		}
		l.Scope = "" // a hint, see testDueScope
		out = append(out, l)
	}
	return out
}
