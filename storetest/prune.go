package storetest

import (
	"errors"
	"testing"

	"github.com/perdure/perdure"
)

var pruning = map[string]func(*testing.T, *suite){
	"PruneDropsBodiesAndKeepsEntries": testPrune,
	"PruneOfUnknownEntriesIsRefused":  testPruneUnknown,
}

func testPrune(t *testing.T, s *suite) {
	p := optional[perdure.Pruner](t, s.Store)
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
		got, err := p.Prune(t.Context(), a.ID(), names...)
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
	p := optional[perdure.Pruner](t, s.Store)
	w := newAuthor(t)
	a := s.create(w, "a")
	entries := items(t, s, a.ID(), 0)
	if _, err := p.Prune(t.Context(), a.ID(), a.Heads()[0], perdure.HashOf([]byte("nothing"))); !errors.Is(err,
		perdure.ErrNotFound) {
		t.Fatalf("prune an entry the store does not hold: got %v, want ErrNotFound", err)
	}
	holds(t, s, a.ID(), entries[0].Entry)
	_, other := w.genesis(perdure.Intent{}, "acme")
	if _, err := p.Prune(t.Context(), other.ID(), a.Heads()...); !errors.Is(err, perdure.ErrNotFound) {
		t.Fatalf("prune an agent the store does not hold: got %v, want ErrNotFound", err)
	}
}
