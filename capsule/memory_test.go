package capsule

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure"
)

var began = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// author writes memories for tests.
type author struct{ *perdure.Signer }

func newAuthor() author { return author{must(perdure.GenerateSigner("author"))} }

func (w author) genesis(name string) (*perdure.Entry, *perdure.Agent) {
	e := must(w.Genesis(perdure.Genesis{Intent: perdure.Intent{Name: name, Goal: "travel"},
		Charter: perdure.Charter{Scope: "acme"}}, began))
	return e, must(perdure.Begin(e))
}

func (w author) commit(a *perdure.Agent, bodies ...perdure.Body) ([]*perdure.Entry, *perdure.Agent) {
	var drafts []perdure.Draft
	for _, b := range bodies {
		drafts = append(drafts, perdure.Draft{Body: b})
	}
	entries, next, err := w.Commit(a, began, drafts...)
	if err != nil {
		panic(err)
	}
	return entries, next
}

// event holds about size bytes that zstd and FastCDC find something in.
func event(name string, size int, seed uint64) perdure.Event {
	words := []byte("the agent goes on where it was and anyone can check what it did and why \n")
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, 0, size+16)
	for len(b) < size {
		if r.IntN(3) == 0 {
			b = binary.BigEndian.AppendUint64(b, r.Uint64())
		} else {
			b = append(b, words[r.IntN(len(words)):]...)
		}
	}
	return perdure.Event{Name: name, Data: must(perdure.DataOf(b[:size]))}
}

func snapshot(a *perdure.Agent) perdure.Snapshot { return perdure.Snapshot{Fold: *a.Fold()} }

// put puts entries into a new store in memory.
func put(t testing.TB, entries ...*perdure.Entry) (*perdure.MemStore, perdure.AgentID) {
	t.Helper()
	s := new(perdure.MemStore)
	if err := s.Put(t.Context(), entries[0].ID(), entries...); err != nil {
		t.Fatal(err)
	}
	return s, entries[0].ID()
}

// simple is an agent of n commits of two entries, a snapshot in the middle and another five commits before the end.
func simple(t testing.TB, n int) (*perdure.MemStore, perdure.AgentID) {
	t.Helper()
	w := newAuthor()
	g, a := w.genesis("simple")
	all := []*perdure.Entry{g}
	for i := range n {
		es, next := w.commit(a, event("one", 40*i%700, uint64(i)), event("two", 10, 1))
		all, a = append(all, es...), next
		if i == n/2 || i == n-5 {
			es, a = w.commit(a, snapshot(a))
			all = append(all, es...)
		}
	}
	return put(t, all...)
}

// exported is a capsule in memory.
func exported(t testing.TB, s perdure.Store, id perdure.AgentID, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := Export(t.Context(), &b, s, id, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// read reads a whole capsule.
func read(b []byte, o ReadOptions) ([]*perdure.Entry, *Reader, error) {
	r, err := NewReader(bytes.NewReader(b), o)
	if err != nil {
		return nil, nil, err
	}
	var all []*perdure.Entry
	for e, err := range r.Entries() {
		if err != nil {
			return nil, r, err
		}
		all = append(all, e)
	}
	return all, r, nil
}

// refused fails unless err is a refusal by one of the predicates.
func refused(t testing.TB, what string, err error, predicates ...string) {
	t.Helper()
	var r *perdure.Rejection
	if !errors.As(err, &r) {
		t.Fatalf("%s: got %v, want a rejection by %v", what, err, predicates)
	}
	for _, p := range predicates {
		if r.Predicate == p {
			return
		}
	}
	t.Fatalf("%s: got %v, want a rejection by %v", what, err, predicates)
}

func foldHash(t interface{ Fatal(...any) }, s perdure.Store, id perdure.AgentID) perdure.Hash {
	a, err := perdure.FoldEntries(perdure.Memory(context.Background(), s, id))
	if err != nil {
		t.Fatal(err)
	}
	return must(a.Fold().Hash())
}

// anyMemory draws a memory that two or three authors wrote to, together and apart, in an order it may have arrived in.
func anyMemory(t *rapid.T) []*perdure.Entry {
	authors := []author{newAuthor(), newAuthor(), newAuthor()}[:rapid.IntRange(1, 3).Draw(t, "authors")]
	g, a := authors[0].genesis("any")
	all := []*perdure.Entry{g}
	copies := make([]*perdure.Agent, len(authors))
	for i := range copies {
		copies[i] = a
	}
	size := rapid.SampledFrom([]int{0, 10, 300, 5000, inlineBody - 200, inlineBody + 1, 200_000})
	for step := range rapid.IntRange(0, 12).Draw(t, "steps") {
		i := rapid.IntRange(0, len(authors)-1).Draw(t, "who")
		switch rapid.IntRange(0, 5).Draw(t, "what") {
		case 0: // learn what the others wrote
			next, err := copies[i].Apply(all...)
			if err != nil {
				t.Fatal(err)
			}
			copies[i] = next
		case 1:
			es, next := authors[i].commit(copies[i], snapshot(copies[i]))
			all, copies[i] = append(all, es...), next
		default:
			bodies := []perdure.Body{event("x", size.Draw(t, "size"), uint64(step))}
			for range rapid.IntRange(0, 2).Draw(t, "more") {
				bodies = append(bodies, event("y", size.Draw(t, "size"), uint64(step/2)))
			}
			es, next := authors[i].commit(copies[i], bodies...)
			all, copies[i] = append(all, es...), next
		}
	}
	return all
}
