package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// parting tests stores that can hold a part of a memory.
var parting = map[string]func(*testing.T, *suite){
	"the end of a memory is held, grows and gets its past": testEnd,
	"headers are held and get their bodies":                testHeaderDepth,
	"a part is replaced only on its own heads":             testPartConflict,
	"a memory that begins in the middle is refused":        testPartRoot,
	"what takes the place of a memory is listed":           testReplacedListed,
}

// ended is a memory with a snapshot in it, where that stands, and what comes after it.
func ended(w author) (all []*perdure.Entry, at int, a *perdure.Agent) {
	g, a := w.genesis(perdure.Intent{Name: "part"}, "acme")
	all = []*perdure.Entry{g}
	grow := func(b perdure.Body) {
		var es []*perdure.Entry
		es, a = w.commit(a, began.Add(time.Duration(len(all))*time.Second), b)
		all = append(all, es...)
	}
	grow(event("first", 40))
	grow(event("large", 100_000))
	at = len(all)
	grow(snapshot(a))
	grow(event("after", 10))
	return all, at, a
}

// part is a store that holds parts, and what is put into it.
func (s *suite) replace(t *testing.T, id perdure.AgentID, heads []perdure.Hash, d perdure.Depth,
	entries ...*perdure.Entry) error {
	t.Helper()
	return optional[perdure.Parter](t, s.Store).Replace(t.Context(), id, heads, d, sequence(entries, nil))
}

// hasDepth fails unless the store and an agent loaded from it have a depth.
func hasDepth(t *testing.T, s perdure.Store, id perdure.AgentID, want perdure.Depth) *perdure.Agent {
	t.Helper()
	a, err := perdure.Load(t.Context(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	if got := a.Depth(); got != want {
		t.Fatalf("depth %v, want %v", got, want)
	}
	return a
}

// testReplacedListed replaces a memory that has ended by a shorter one that has not.
func testReplacedListed(t *testing.T, s *suite) {
	l := optional[perdure.Lister](t, s.Store)
	w := newAuthor(t)
	all, _, a := ended(w)
	id := a.ID()
	s.append(t, id, nil, all...)
	line := perdure.Listing{Agent: id, Name: "part", Scope: "acme", State: phase.Terminated, Entries: int64(len(all))}
	if err := l.Index(t.Context(), a.Heads(), line); err != nil {
		t.Fatal(err)
	}
	if err := s.replace(t, id, a.Heads(), perdure.Full, all[:2]...); err != nil {
		t.Fatal(err)
	}
	states := func() []phase.State {
		var states []phase.State
		for _, one := range list(t, l, perdure.Filter{Name: "part"}) {
			states = append(states, one.State)
		}
		return states
	}
	if got := states(); len(got) != 1 || got[0] == phase.Terminated {
		t.Errorf("listed in %v, want what took its place", got)
	}
	line.State, line.Entries = phase.Dormant, 2
	if err := l.Index(t.Context(), []perdure.Hash{all[1].Name}, line); err != nil {
		t.Fatal(err)
	}
	if got := states(); len(got) != 1 || got[0] != phase.Dormant {
		t.Errorf("listed in %v, want it dormant", got)
	}
}

func testEnd(t *testing.T, s *suite) {
	w := newAuthor(t)
	all, at, a := ended(w)
	id := a.ID()
	if err := s.replace(t, id, nil, perdure.Last(1), all[at:]...); err != nil {
		t.Fatal(err)
	}
	holds(t, s, id, all[at:]...)
	hasHeads(t, s, id, all[len(all)-1])
	if l, ok := s.Store.(perdure.Lister); ok {
		if got := list(t, l, perdure.Filter{Name: "part"}); len(got) != 1 || got[0].Agent != id ||
			got[0].Scope != "acme" {
			t.Fatalf("listed %v, want the one", got)
		}
	}
	got := hasDepth(t, s.Store, id, perdure.Last(1))
	more, next := w.commit(got, began.Add(time.Hour), event("grown", 20))
	s.append(t, id, got.Heads(), more...)
	rejectedBy(t, s.Put(t.Context(), id, all[at-1]), "entry.linked")
	if !s.Volatile {
		s.reopen()
	}
	holds(t, s, id, append(all[at:len(all):len(all)], more...)...)
	hasDepth(t, s.Store, id, perdure.Last(1))

	whole := append(all[:len(all):len(all)], more...)
	if err := s.replace(t, id, next.Heads(), perdure.Full, whole...); err != nil {
		t.Fatal(err)
	}
	holds(t, s, id, whole...)
	for i, item := range items(t, s, id, 0) {
		if item.Name != whole[i].Name {
			t.Fatalf("entry %d is %s, want %s: parents come before children", i, item.Name.Short(),
				whole[i].Name.Short())
		}
	}
	if !s.Volatile {
		s.reopen()
	}
	hasHeads(t, s, id, more...)
	again := hasDepth(t, s.Store, id, perdure.Full)
	more, _ = w.commit(again, began.Add(2*time.Hour), event("whole", 20))
	s.append(t, id, again.Heads(), more...)
	if _, err := perdure.Verify(perdure.Memory(t.Context(), s, id), perdure.VerifyOptions{}); err != nil {
		t.Fatal(err)
	}
	if r, ok := s.Store.(reindexer); ok {
		if err := r.Reindex(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	hasHeads(t, s, id, more...)
}

func testHeaderDepth(t *testing.T, s *suite) {
	w := newAuthor(t)
	all, at, a := ended(w)
	bare := append([]*perdure.Entry{}, all...)
	for i := 1; i < at; i++ {
		bare[i] = bare[i].Drop()
	}
	if err := s.replace(t, a.ID(), nil, perdure.Headers, bare...); err != nil {
		t.Fatal(err)
	}
	if !s.Volatile {
		s.reopen()
	}
	hasDepth(t, s.Store, a.ID(), perdure.Headers)
	if err := s.replace(t, a.ID(), a.Heads(), perdure.Full, all...); err != nil {
		t.Fatal(err)
	}
	hasDepth(t, s.Store, a.ID(), perdure.Full)
	for i, item := range items(t, s, a.ID(), 0) {
		if item.BodyBytes() == nil {
			t.Errorf("entry %d has no body", i)
		}
	}
}

func testPartConflict(t *testing.T, s *suite) {
	w := newAuthor(t)
	all, at, a := ended(w)
	if err := s.replace(t, a.ID(), a.Heads(), perdure.Last(1), all[at:]...); !errors.Is(err, perdure.ErrConflict) {
		t.Fatalf("on heads that are not there: %v, want a conflict", err)
	}
	if err := s.replace(t, a.ID(), nil, perdure.Last(1), all[at:]...); err != nil {
		t.Fatal(err)
	}
	if err := s.replace(t, a.ID(), nil, perdure.Full, all...); !errors.Is(err, perdure.ErrConflict) {
		t.Fatalf("where the agent is: %v, want a conflict", err)
	}
	broken := errors.New("broken")
	p := optional[perdure.Parter](t, s.Store)
	if err := p.Replace(t.Context(), a.ID(), a.Heads(), perdure.Full, sequence(all[:2], broken)); !errors.Is(err,
		broken) {
		t.Fatalf("a sequence that breaks: %v", err)
	}
	holds(t, s, a.ID(), all[at:]...)
	hasDepth(t, s.Store, a.ID(), perdure.Last(1))
}

func testPartRoot(t *testing.T, s *suite) {
	w := newAuthor(t)
	all, at, a := ended(w)
	rejectedBy(t, s.replace(t, a.ID(), nil, perdure.Last(1), all[at-1:]...), "entry.linked")
	rejectedBy(t, s.replace(t, a.ID(), nil, perdure.Full, all[at:]...), "entry.linked")
	rejectedBy(t, s.Put(t.Context(), a.ID(), all[at:]...), "entry.linked")
	absent(t, s, a.ID())
}
