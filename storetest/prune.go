package storetest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/perdure/perdure"
)

var pruning = map[string]func(*testing.T, *suite){
	"PruneDropsBodiesAndKeepsEntries": testPrune,
	"PruneOfUnknownEntriesIsRefused":  testPruneUnknown,
	"PruneOnOtherHeadsDoesNothing":    testPruneConflict,
	"PruneAddsAndDropsAtOnce":         testPruneAdds,
}

// prunes is a store that can drop bodies.
type prunes interface {
	perdure.Store
	perdure.Pruner
}

// Prune drops the bodies of entries in a store that is a perdure.Pruner, whatever the heads of the agent are.
func Prune(ctx context.Context, s perdure.Store, id perdure.AgentID, names ...perdure.Hash) (int64, error) {
	p, ok := s.(perdure.Pruner)
	if !ok {
		return 0, fmt.Errorf("%T keeps every body", s)
	}
	heads, err := s.Heads(ctx, id)
	if err != nil {
		return 0, err
	}
	return p.Prune(ctx, id, heads, names)
}

func testPrune(t *testing.T, s *suite) {
	p := optional[prunes](t, s.Store)
	w := newAuthor(t)
	g, a := w.genesis(perdure.Intent{}, "acme")
	all := []*perdure.Entry{g}
	s.append(t, a.ID(), nil, g)
	for _, bodies := range [][]perdure.Body{
		{event("a", 10), event("b", 100), event("c", 10)},
		{event("small", 10), event("middle", 3000), event("large", 200_000)},
		{event("alone", 2000)},
	} {
		es, next := w.commit(a, began, bodies...)
		s.append(t, a.ID(), a.Heads(), es...)
		a, all = next, append(all, es...)
	}
	cursors := items(t, s, a.ID(), 0)
	want := append([]*perdure.Entry{}, all...)
	drop := func(indices ...int) {
		t.Helper()
		var names []perdure.Hash
		var size int64
		for _, i := range indices {
			names = append(names, all[i].Name)
			size += int64(len(want[i].BodyBytes()))
			want[i] = all[i].Drop()
		}
		got, err := Prune(t.Context(), p, a.ID(), names...)
		if err != nil || got != size {
			t.Fatalf("prune %v: %d bytes, %v, want %d", indices, got, err, size)
		}
		holds(t, s, a.ID(), want...)
	}
	drop(2)
	drop(5, 6)
	drop(6)
	drop(7, 1, 3)
	drop(2)
	for i, item := range items(t, s, a.ID(), 0) {
		if item.Cursor != cursors[i].Cursor {
			t.Fatalf("cursor of entry %d is %d after pruning, was %d", i, item.Cursor, cursors[i].Cursor)
		}
		if dropped := want[i].BodyBytes() == nil; dropped != (item.Content() == nil) {
			t.Fatalf("content of entry %d: %v, want dropped: %v", i, item.Content(), dropped)
		}
		if item.Signature != nil && !item.Signed() {
			t.Fatalf("entry %d no longer verifies", i)
		}
	}
	if !s.Volatile {
		s.reopen()
		holds(t, s, a.ID(), want...)
	}
	a = s.grow(w, a, began, event("goes on", 10))
	s.put(t, a.ID(), all...) // what was pruned does not come back with a duplicate
	if got := items(t, s, a.ID(), 0)[2]; got.Content() != nil {
		t.Fatal("a pruned body came back with a duplicate")
	}
}

func testPruneUnknown(t *testing.T, s *suite) {
	p := optional[prunes](t, s.Store)
	w := newAuthor(t)
	a := s.create(w, "a")
	entries := items(t, s, a.ID(), 0)
	if _, err := Prune(t.Context(), p, a.ID(), a.Heads()[0], perdure.HashOf([]byte("nothing"))); !errors.Is(err,
		perdure.ErrNotFound) {
		t.Fatalf("prune an entry the store does not hold: got %v, want ErrNotFound", err)
	}
	holds(t, s, a.ID(), entries[0].Entry)
	_, other := w.genesis(perdure.Intent{}, "acme")
	if _, err := p.Prune(t.Context(), other.ID(), nil, a.Heads()); !errors.Is(err, perdure.ErrNotFound) {
		t.Fatalf("prune an agent the store does not hold: got %v, want ErrNotFound", err)
	}
}

// A collection rests on what it has read. Where something arrived since, what it would drop may be needed.
func testPruneConflict(t *testing.T, s *suite) {
	p := optional[prunes](t, s.Store)
	w := newAuthor(t)
	g, a := w.genesis(perdure.Intent{}, "acme")
	s.append(t, a.ID(), nil, g)
	first, a1 := w.commit(a, began, event("first", 10))
	s.append(t, a.ID(), a.Heads(), first...)
	record, _ := w.commit(a1, began, event("pruned", 10))
	beside, _ := w.commit(a, began, event("beside", 10))
	s.put(t, a.ID(), beside...)
	for what, heads := range map[string][]perdure.Hash{"those of before": a1.Heads(), "none": nil,
		"one of two": {beside[0].Name}, "another": {perdure.HashOf([]byte("nothing")), first[0].Name}} {
		if _, err := p.Prune(t.Context(), a.ID(), heads, a1.Heads(), record...); !errors.Is(err, perdure.ErrConflict) {
			t.Fatalf("prune on other heads (%s): got %v, want ErrConflict", what, err)
		}
		holds(t, s, a.ID(), g, first[0], beside[0])
		hasHeads(t, s, a.ID(), first[0], beside[0])
	}
	got, err := p.Prune(t.Context(), a.ID(), []perdure.Hash{beside[0].Name, first[0].Name}, a1.Heads(), record...)
	if want := int64(len(first[0].BodyBytes())); err != nil || got != want {
		t.Fatalf("prune on two heads in any order: %d bytes, %v, want %d", got, err, want)
	}
	holds(t, s, a.ID(), g, first[0].Drop(), beside[0], record[0])
	hasHeads(t, s, a.ID(), beside[0], record[0])
}

// What is added is there when the bodies are gone, and refused together with them.
func testPruneAdds(t *testing.T, s *suite) {
	p := optional[prunes](t, s.Store)
	w := newAuthor(t)
	g, a := w.genesis(perdure.Intent{}, "acme")
	s.append(t, a.ID(), nil, g)
	said, b := w.commit(a, began, event("small", 10), event("large", 200_000), event("kept", 2000))
	s.append(t, a.ID(), a.Heads(), said...)
	lost, _ := w.commit(b, began, event("between", 10), event("after", 10))
	if _, err := p.Prune(t.Context(), a.ID(), b.Heads(), []perdure.Hash{said[0].Name}, lost[1]); err == nil {
		t.Fatal("an entry whose parents are not there was added")
	}
	holds(t, s, a.ID(), g, said[0], said[1], said[2])
	record, next := w.commit(b, began, snapshot(b), event("pruned", 10), event("long", 200_000))
	size := int64(len(said[0].BodyBytes()) + len(said[1].BodyBytes()))
	got, err := p.Prune(t.Context(), a.ID(), b.Heads(), []perdure.Hash{said[0].Name, said[1].Name}, record...)
	if err != nil || got != size {
		t.Fatalf("prune and add: %d bytes, %v, want %d", got, err, size)
	}
	left := []*perdure.Entry{g, said[0].Drop(), said[1].Drop(), said[2], record[0], record[1], record[2]}
	check := func() {
		t.Helper()
		holds(t, s, a.ID(), left...)
		hasHeads(t, s, a.ID(), record[2])
		for snap, err := range s.Snapshots(t.Context(), a.ID()) {
			if err != nil || snap.Name != record[0].Name {
				t.Fatalf("snapshot %s, %v, want the one that was added", snap.Name.Short(), err)
			}
		}
	}
	check()
	if !s.Volatile {
		s.reopen()
		check()
	}
	s.grow(w, next, began, event("goes on", 10))
}
