package storetest

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
)

var appending = map[string]func(*testing.T, *suite){
	"AppendCreatesOnce":                testAppendCreatesOnce,
	"AppendComparesHeads":              testAppendComparesHeads,
	"PutIsNeverRefusedForAConflict":    testPutNeverConflicts,
	"DuplicatesChangeNothing":          testDuplicates,
	"EntryWithoutItsParentIsRefused":   testUnlinked,
	"EntryOfAnotherAgentIsRefused":     testForeign,
	"ACallAddsAllOrNothing":            testAllOrNothing,
	"AnOldParentIsFound":               testOldParent,
	"ManyHeadsAreJoined":               testManyHeads,
	"OneCallMayHoldAWholeMemory":       testWholeMemory,
	"ASequenceIsAddedAllOrNothing":     testSequence,
	"ClosedStoreSaysSo":                testClosed,
	"CancelledContextAddsAllOrNothing": testCancelled,
}

func testAppendCreatesOnce(t *testing.T, s *suite) {
	w := newAuthor(t)
	e, a := w.genesis(perdure.Intent{}, "acme")
	absent(t, s, a.ID())
	s.append(t, a.ID(), nil, e)
	holds(t, s, a.ID(), e)
	hasHeads(t, s, a.ID(), e)
	if err := s.Append(t.Context(), a.ID(), nil, e); !errors.Is(err, perdure.ErrConflict) {
		t.Fatalf("append that creates an agent again: got %v, want ErrConflict", err)
	}
}

func testAppendComparesHeads(t *testing.T, s *suite) {
	w := newAuthor(t)
	g, a := w.genesis(perdure.Intent{}, "acme")
	s.append(t, a.ID(), nil, g)
	first, next := w.commit(a, began, event("first", 10), event("more", 10))
	rival, _ := w.commit(a, began, event("rival", 10))
	s.append(t, a.ID(), a.Heads(), first...)
	if err := s.Append(t.Context(), a.ID(), a.Heads(), rival...); !errors.Is(err, perdure.ErrConflict) {
		t.Fatalf("append on heads that moved: got %v, want ErrConflict", err)
	}
	if err := s.Append(t.Context(), a.ID(), []perdure.Hash{first[0].Name}, rival...); !errors.Is(err,
		perdure.ErrConflict) {
		t.Fatalf("append on an entry that is no head: got %v, want ErrConflict", err)
	}
	if err := s.Append(t.Context(), a.ID(), []perdure.Hash{next.Heads()[0], g.Name}, rival...); !errors.Is(err,
		perdure.ErrConflict) {
		t.Fatalf("append on a head and an entry that is none: got %v, want ErrConflict", err)
	}
	holds(t, s, a.ID(), g, first[0], first[1])
	hasHeads(t, s, a.ID(), first[1])
	third, _ := w.commit(next, began, event("third", 10))
	s.append(t, a.ID(), next.Heads(), third...)
	hasHeads(t, s, a.ID(), third[0])
	other, _ := w.genesis(perdure.Intent{}, "acme")
	if err := s.Append(t.Context(), other.ID(), []perdure.Hash{other.Name}, other); !errors.Is(err,
		perdure.ErrConflict) {
		t.Fatalf("append on heads of an agent the store does not hold: got %v, want ErrConflict", err)
	}
	absent(t, s, other.ID())
}

func testPutNeverConflicts(t *testing.T, s *suite) {
	w := newAuthor(t)
	g, a := w.genesis(perdure.Intent{}, "acme")
	left, _ := w.commit(a, began, event("left", 10))
	right, _ := w.commit(a, began, event("right", 10))
	s.put(t, a.ID(), g)
	s.put(t, a.ID(), left...)
	s.put(t, a.ID(), right...)
	holds(t, s, a.ID(), g, left[0], right[0])
	hasHeads(t, s, a.ID(), left[0], right[0])
	heads, err := s.Heads(t.Context(), a.ID())
	if err != nil || !slices.IsSortedFunc(heads, perdure.Hash.Compare) {
		t.Fatalf("heads are not ascending: %v, %v", texts(heads), err)
	}
	both, err := a.Apply(left[0], right[0])
	if err != nil {
		t.Fatal(err)
	}
	joined, _ := w.commit(both, began, event("joined", 10))
	if err := s.Append(t.Context(), a.ID(), []perdure.Hash{left[0].Name}, joined...); !errors.Is(err,
		perdure.ErrConflict) {
		t.Fatalf("append on one of two heads: got %v, want ErrConflict", err)
	}
	s.append(t, a.ID(), both.Heads(), joined...)
	hasHeads(t, s, a.ID(), joined[0])
}

func testDuplicates(t *testing.T, s *suite) {
	w := newAuthor(t)
	g, a := w.genesis(perdure.Intent{}, "acme")
	first, a1 := w.commit(a, began, event("a", 10), event("b", 10))
	second, a2 := w.commit(a1, began, event("c", 10))
	all := slices.Concat([]*perdure.Entry{g}, first, second)
	s.put(t, a.ID(), all...)
	s.put(t, a.ID(), all...)
	s.put(t, a.ID(), first[1])
	s.put(t, a.ID(), g)
	s.append(t, a.ID(), a2.Heads(), second...)
	holds(t, s, a.ID(), all...)
	hasHeads(t, s, a.ID(), second[0])
	third, _ := w.commit(a2, began, event("d", 10))
	s.put(t, a.ID(), third[0], third[0], second[0], g)
	holds(t, s, a.ID(), append(all, third...)...)
}

// rejectedBy fails unless err is a refusal by the predicate.
func rejectedBy(t *testing.T, err error, predicate string) {
	t.Helper()
	var r *perdure.Rejection
	if !errors.As(err, &r) || r.Predicate != predicate {
		t.Fatalf("got %v, want a rejection by %s", err, predicate)
	}
}

func testUnlinked(t *testing.T, s *suite) {
	w := newAuthor(t)
	g, a := w.genesis(perdure.Intent{}, "acme")
	first, a1 := w.commit(a, began, event("a", 10))
	second, a2 := w.commit(a1, began, event("b", 10))
	third, _ := w.commit(a2, began, event("c", 10))
	rejectedBy(t, s.Put(t.Context(), a.ID(), first...), "entry.linked")
	absent(t, s, a.ID())
	s.append(t, a.ID(), nil, g)
	rejectedBy(t, s.Put(t.Context(), a.ID(), second...), "entry.linked")
	rejectedBy(t, s.Append(t.Context(), a.ID(), a.Heads(), second...), "entry.linked")
	rejectedBy(t, s.Put(t.Context(), a.ID(), second[0], first[0]), "entry.linked") // parents come first
	holds(t, s, a.ID(), g)
	s.put(t, a.ID(), first[0], second[0])
	s.put(t, a.ID(), third...)
	holds(t, s, a.ID(), g, first[0], second[0], third[0])
}

func testForeign(t *testing.T, s *suite) {
	w := newAuthor(t)
	g, a := w.genesis(perdure.Intent{}, "acme")
	h, b := w.genesis(perdure.Intent{}, "acme")
	s.append(t, a.ID(), nil, g)
	s.append(t, b.ID(), nil, h)
	foreign, _ := w.commit(b, began, event("x", 10))
	rejectedBy(t, s.Put(t.Context(), a.ID(), foreign...), "entry.agent")
	rejectedBy(t, s.Put(t.Context(), a.ID(), h), "entry.agent")
	holds(t, s, a.ID(), g)
}

func testAllOrNothing(t *testing.T, s *suite) {
	w := newAuthor(t)
	g, a := w.genesis(perdure.Intent{}, "acme")
	first, a1 := w.commit(a, began, event("a", 10))
	_, a2 := w.commit(a1, began, event("lost", 10))
	orphan, _ := w.commit(a2, began, event("b", 10))
	rejectedBy(t, s.Put(t.Context(), a.ID(), g, first[0], orphan[0]), "entry.linked")
	absent(t, s, a.ID())
	if got := due(t, s, began.Add(time.Hour)); len(got) != 0 {
		t.Fatalf("due after a refused call: %v, want none", got)
	}
	s.append(t, a.ID(), nil, g)
	rejectedBy(t, s.Append(t.Context(), a.ID(), a.Heads(), first[0], orphan[0]), "entry.linked")
	holds(t, s, a.ID(), g)
	hasHeads(t, s, a.ID(), g)
	s.append(t, a.ID(), a.Heads(), first...)
	holds(t, s, a.ID(), g, first[0])
}

func testOldParent(t *testing.T, s *suite) {
	w := newAuthor(t)
	g, a := w.genesis(perdure.Intent{}, "acme")
	late, _ := w.commit(a, began, event("late", 10))
	all := []*perdure.Entry{g}
	next := a
	s.append(t, a.ID(), nil, g)
	for range 300 {
		var es []*perdure.Entry
		es, next = w.commit(next, began, event("x", 10), event("y", 10))
		all = append(all, es...)
		s.append(t, a.ID(), es[0].Parents, es...)
	}
	s.put(t, a.ID(), late...)
	all = append(all, late...)
	s.put(t, a.ID(), all[5], late[0], all[400])
	holds(t, s, a.ID(), all...)
	hasHeads(t, s, a.ID(), all[len(all)-2], late[0])
}

func testManyHeads(t *testing.T, s *suite) {
	w := newAuthor(t)
	g, a := w.genesis(perdure.Intent{}, "acme")
	all := []*perdure.Entry{g}
	var branches []*perdure.Entry
	for range 40 {
		es, _ := w.commit(a, began, event("branch", 10), event("tip", 10))
		all, branches = append(all, es...), append(branches, es[1])
	}
	s.put(t, a.ID(), all[:31]...)
	s.put(t, a.ID(), all[31:]...)
	hasHeads(t, s, a.ID(), branches...)
	joined, err := a.Apply(all[1:]...)
	if err != nil {
		t.Fatal(err)
	}
	es, _ := w.commit(joined, began, event("joined", 10))
	s.append(t, a.ID(), joined.Heads(), es...)
	hasHeads(t, s, a.ID(), es[0])
	holds(t, s, a.ID(), append(all, es...)...)
}

func testWholeMemory(t *testing.T, s *suite) {
	w := newAuthor(t)
	g, a := w.genesis(perdure.Intent{}, "acme")
	all := []*perdure.Entry{g}
	for i := range 1500 {
		var es []*perdure.Entry
		es, a = w.commit(a, began.Add(time.Duration(i)*time.Second), event("one", i), event("two", 3))
		all = append(all, es...)
	}
	s.put(t, a.ID(), all...)
	holds(t, s, a.ID(), all...)
	s.put(t, a.ID(), all...)
	if got := len(items(t, s, a.ID(), 0)); got != len(all) {
		t.Fatalf("entries after the same memory came twice: %d, want %d", got, len(all))
	}
}

// long is a memory of some 12 MiB, of which some bodies are long.
func long(w author, a *perdure.Agent) (all []*perdure.Entry) {
	for i := range 600 {
		size := 16 << 10
		if i%100 == 0 {
			size = 3 * perdure.InlineBody
		}
		var es []*perdure.Entry
		es, a = w.commit(a, began, event("one", size), event("two", 3))
		all = append(all, es...)
	}
	return all
}

// sequence is entries, and then an error, if there is one.
func sequence(entries []*perdure.Entry, end error) iter.Seq2[*perdure.Entry, error] {
	return func(yield func(*perdure.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
		if end != nil {
			yield(nil, end)
		}
	}
}

// putAll streams a sequence into a store that can, however short it is: perdure.PutAll makes one Put of it.
func putAll(ctx context.Context, s perdure.Store, id perdure.AgentID, entries iter.Seq2[*perdure.Entry, error]) error {
	if p, ok := s.(perdure.Parter); ok {
		return p.PutAll(ctx, id, entries)
	}
	return perdure.PutAll(ctx, s, id, entries)
}

func testSequence(t *testing.T, s *suite) {
	w := newAuthor(t)
	g, a := w.genesis(perdure.Intent{}, "acme")
	all := append([]*perdure.Entry{g}, long(w, a)...)
	cut := errors.New("cut off")
	add := func(entries []*perdure.Entry, end error) error {
		return putAll(t.Context(), s.Store, a.ID(), sequence(entries, end))
	}
	if err := add(all, cut); !errors.Is(err, cut) {
		t.Fatalf("a sequence that fails: got %v, want its error", err)
	}
	absent(t, s, a.ID())
	rejectedBy(t, add(append(all[:900:900], all[901:]...), nil), "entry.linked")
	absent(t, s, a.ID())
	other := s.create(w, "other") // the store goes on
	s.append(t, a.ID(), nil, all[:3]...)
	if err := add(all, cut); !errors.Is(err, cut) {
		t.Fatalf("a sequence that fails on top of others: got %v, want its error", err)
	}
	holds(t, s, a.ID(), all[:3]...)
	hasHeads(t, s, a.ID(), all[2])
	late, _ := w.commit(a, began, event("late", 10))
	s.put(t, a.ID(), late...)
	if err := add(all, nil); err != nil {
		t.Fatal(err)
	}
	holds(t, s, a.ID(), append(append(all[:3:3], late...), all[3:]...)...)
	hasHeads(t, s, a.ID(), late[0], all[len(all)-1])
	s.grow(w, other, began, event("more", 10))
}

func testClosed(t *testing.T, s *suite) {
	w := newAuthor(t)
	a := s.create(w, "a")
	if err := s.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatalf("close again: %v", err)
	}
	es, _ := w.commit(a, began, event("x", 10))
	ctx := t.Context()
	got := map[string]error{
		"append": s.Append(ctx, a.ID(), a.Heads(), es...),
		"put":    s.Put(ctx, a.ID(), es...),
	}
	_, got["heads"] = s.Heads(ctx, a.ID())
	for _, err := range s.Entries(ctx, a.ID(), 0) {
		got["entries"] = err
	}
	for _, err := range s.Snapshots(ctx, a.ID()) {
		got["snapshots"] = err
	}
	for _, err := range s.Due(ctx, began) {
		got["due"] = err
	}
	if c, ok := s.Store.(perdure.Claimer); ok {
		_, got["claim"] = c.Claim(ctx, a.ID(), w.Key(), time.Minute)
	}
	if l, ok := s.Store.(perdure.Lister); ok {
		got["list"] = nil
		for _, err := range l.List(ctx, perdure.Filter{}) {
			got["list"] = err
		}
	}
	if l, ok := s.Store.(perdure.Watcher); ok {
		got["watch"] = nil
		for _, err := range l.Watch(ctx) {
			got["watch"] = err
		}
	}
	for _, call := range []string{"append", "put", "heads", "entries", "snapshots", "due"} {
		if _, ok := got[call]; !ok {
			got[call] = nil
		}
	}
	for call, err := range got {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("%s on a closed store: got %v, want fs.ErrClosed", call, err)
		}
	}
}

func testCancelled(t *testing.T, s *suite) {
	w := newAuthor(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g, a := w.genesis(perdure.Intent{}, "acme")
	if err := s.Append(ctx, a.ID(), nil, g); !errors.Is(err, context.Canceled) {
		t.Fatalf("append under a cancelled context: got %v, want context.Canceled", err)
	}
	absent(t, s, a.ID())
	s.append(t, a.ID(), nil, g)
	want := []string{g.Name.String()}
	for i := range 50 {
		es, next := w.commit(a, began, event("x", 10), event("y", 3000), event("z", 10))
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*20)*time.Microsecond)
		err := s.Append(ctx, a.ID(), a.Heads(), es...)
		cancel()
		heads, herr := s.Heads(t.Context(), a.ID())
		if herr != nil {
			t.Fatal(herr)
		}
		added := slices.Equal(heads, next.Heads())
		if err == nil && !added || !added && !slices.Equal(heads, a.Heads()) {
			t.Fatalf("append under a context that ended returned %v and left the heads %v: want all of the commit or "+
				"nothing", err, texts(heads))
		}
		if added {
			a, want = next, append(want, names(es)...)
		}
	}
	var got []string
	for _, item := range items(t, s, a.ID(), 0) {
		got = append(got, item.Name.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("entries (-want +got):\n%s", diff)
	}
}
