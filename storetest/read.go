package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
)

var reading = map[string]func(*testing.T, *suite){
	"EntriesGoOnFromACursor":         testCursor,
	"LargeBodiesComeBackWhole":       testBodies,
	"HeadersComeBackByteForByte":     testHeaders,
	"UnknownAgentIsNotFound":         testUnknown,
	"SnapshotsCoverEverything":       testSnapshots,
	"ReadingStopsWhenTold":           testBreak,
	"WritingWhileReadingDoesNotLock": testWriteWhileReading,
	"DueIsWhatTheHeadSays":           testDue,
	"DueIsInOrder":                   testDueOrder,
}

func testCursor(t *testing.T, s *suite) {
	w := newAuthor(t)
	a := s.create(w, "a")
	other := s.create(w, "b")
	for range 20 {
		a = s.grow(w, a, began, event("x", 10), event("y", 10), event("z", 10))
		other = s.grow(w, other, began, event("other", 10))
	}
	all := items(t, s, a.ID(), 0)
	if len(all) != 61 {
		t.Fatalf("entries: %d, want 61", len(all))
	}
	for i, item := range all {
		if i > 0 && item.Cursor <= all[i-1].Cursor {
			t.Fatalf("cursor %d is %d after %d: want ascending", i, item.Cursor, all[i-1].Cursor)
		}
		if from := items(t, s, a.ID(), item.Cursor-1); len(from) != len(all)-i || from[0].Name != item.Name {
			t.Fatalf("from just before cursor %d (entry %d) on: %d entries, want it and the %d that follow",
				item.Cursor,
				i, len(from), len(all)-i-1)
		}
		rest := items(t, s, a.ID(), item.Cursor)
		if len(rest) != len(all)-i-1 || len(rest) > 0 && (rest[0].Name != all[i+1].Name ||
			rest[0].Cursor != all[i+1].Cursor) {
			t.Fatalf("after cursor %d (entry %d): %d entries, want the %d that follow", item.Cursor, i, len(rest),
				len(all)-i-1)
		}
	}
	last := all[len(all)-1].Cursor
	a = s.grow(w, a, began, event("new", 10))
	if rest := items(t, s, a.ID(), last); len(rest) != 1 || rest[0].Name != a.Heads()[0] {
		t.Fatalf("after the end: %d entries, want the one that arrived since", len(rest))
	}
}

func testBodies(t *testing.T, s *suite) {
	w := newAuthor(t)
	g, a := w.genesis(perdure.Intent{}, "acme")
	all := []*perdure.Entry{g}
	s.append(t, a.ID(), nil, g)
	for _, size := range []int{0, 1, 500, 1000, 1400, 2000, 3000, 4000, 4100, 5000, 9000, perdure.InlineBody - 200,
		perdure.InlineBody, 200_000, 3 << 20} {
		es, next := w.commit(a, began, event("before", 40), event("large", size), event("after", 40))
		s.append(t, a.ID(), a.Heads(), es...)
		a, all = next, append(all, es...)
	}
	holds(t, s, a.ID(), all...)
	if !s.Volatile {
		s.reopen()
		holds(t, s, a.ID(), all...)
	}
}

func testHeaders(t *testing.T, s *suite) {
	w, other := newAuthor(t), newAuthor(t)
	g, a := w.genesis(perdure.Intent{Labels: map[string]string{"a": "b"}}, "acme")
	all := []*perdure.Entry{g}
	s.append(t, a.ID(), nil, g)
	trace, policy := [16]byte{1, 2, 3}, perdure.HashOf([]byte("policy"))
	for i, d := range [][]perdure.Draft{
		{{Body: event("plain", 1)}},
		{{Body: event("x", 1), Trace: trace}, {Body: event("y", 1), Trace: trace}},
		{{Body: event("x", 1), Policy: policy}, {Body: event("y", 1), Policy: policy}},
		{{Body: event("x", 1), Trace: trace, Policy: policy}, {Body: event("y", 1)}},
		{{Body: event("x", 1)}, {Body: event("y", 1), Trace: [16]byte{9}, Policy: perdure.HashOf([]byte("other"))}},
		{{Body: sleep(began.Add(24 * time.Hour))}},
	} {
		author := w
		if i%2 == 1 {
			author = other
		}
		at := began.Add(time.Duration(3-i) * time.Hour) // clocks go backwards, too
		es, next, err := author.Commit(a, at, d...)
		if err != nil {
			t.Fatal(err)
		}
		s.append(t, a.ID(), a.Heads(), es...)
		a, all = next, append(all, es...)
	}
	holds(t, s, a.ID(), all...)
	if !s.Volatile {
		s.reopen()
		holds(t, s, a.ID(), all...)
	}
	got, err := perdure.FoldEntries(perdure.Memory(t.Context(), s, a.ID()))
	if err != nil {
		t.Fatalf("fold what the store gave back: %v", err)
	}
	want, _ := a.Fold().Hash()
	if h, _ := got.Fold().Hash(); h != want {
		t.Fatalf("fold of what the store gave back: %s, want %s", h.Short(), want.Short())
	}
}

func testUnknown(t *testing.T, s *suite) {
	_, a := newAuthor(t).genesis(perdure.Intent{}, "acme")
	absent(t, s, a.ID())
	for name, seq := range map[string]func(func(perdure.Item, error) bool){
		"entries": s.Entries(t.Context(), a.ID(), 0), "snapshots": s.Snapshots(t.Context(), a.ID()),
	} {
		n := 0
		for _, err := range seq {
			n++
			if !errors.Is(err, perdure.ErrNotFound) {
				t.Errorf("%s of an agent the store does not hold: got %v, want ErrNotFound", name, err)
			}
		}
		if n != 1 {
			t.Errorf("%s of an agent the store does not hold: %d items, want one error", name, n)
		}
	}
}

func snapshots(t *testing.T, s perdure.Store, id perdure.AgentID) []perdure.Item {
	t.Helper()
	var out []perdure.Item
	for item, err := range s.Snapshots(t.Context(), id) {
		if err != nil {
			t.Fatalf("snapshots: %v", err)
		}
		out = append(out, item)
	}
	return out
}

func testSnapshots(t *testing.T, s *suite) {
	w := newAuthor(t)
	a := s.create(w, "a")
	if got := snapshots(t, s, a.ID()); len(got) != 0 {
		t.Fatalf("snapshots of a new agent: %d, want none", len(got))
	}
	a = s.grow(w, a, began, event("x", 10))
	a = s.grow(w, a, began, snapshot(a))
	first := a.Heads()[0]
	es, next := w.commit(a, began, event("same", 10), event("commit", 10))
	inside, next := w.commit(next, began, snapshot(next))
	s.append(t, a.ID(), a.Heads(), append(es, inside...)...)
	a = next
	second := a.Heads()[0]

	// A snapshot of a branch does not cover what arrived on another before it.
	side, _ := w.commit(a, began, event("side", 10))
	branch, _ := w.commit(a, began, snapshot(a))
	s.put(t, a.ID(), side...)
	s.put(t, a.ID(), branch...)
	got := snapshots(t, s, a.ID())
	if len(got) != 2 || got[0].Name != second || got[1].Name != first {
		t.Fatalf("snapshots: %d, want the two that named every head, newest first", len(got))
	}
	if got[0].Content() == nil {
		t.Fatal("a snapshot came without its body")
	}
	rest := items(t, s, a.ID(), got[0].Cursor)
	if len(rest) != 2 || rest[0].Name != side[0].Name || rest[1].Name != branch[0].Name {
		t.Fatalf("entries after the newest snapshot: %d, want the 2 that came after it", len(rest))
	}
	testNamed(t, s, a.ID())

	// One that joins every head does.
	both, err := a.Apply(side[0], branch[0])
	if err != nil {
		t.Fatal(err)
	}
	join, _ := w.commit(both, began, snapshot(both))
	s.append(t, a.ID(), both.Heads(), join...)
	if got := snapshots(t, s, a.ID()); len(got) != 3 || got[0].Name != join[0].Name {
		t.Fatalf("snapshots after one that joins every head: %d, want 3, the new one first", len(got))
	}
	if _, err := perdure.Load(t.Context(), s, a.ID()); err != nil {
		t.Fatalf("load from a snapshot: %v", err)
	}
	testNamed(t, s, a.ID())
	testPlaced(t, s, a.ID())
}

// testPlaced looks at the places of snapshots for what Snapshots yields.
func testPlaced(t *testing.T, s *suite, id perdure.AgentID) {
	t.Helper()
	p, ok := s.Store.(interface {
		SnapshotCursors(context.Context, perdure.AgentID) ([]perdure.Cursor, error)
	})
	if !ok {
		return
	}
	places, err := p.SnapshotCursors(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var found []perdure.Cursor
	for _, at := range places {
		for item, err := range s.Entries(t.Context(), id, at-1) {
			if err != nil || item.Cursor != at || item.Kind != perdure.KindSnapshot {
				t.Fatalf("at %d is a %v at %d, %v, want a snapshot", at, item.Kind, item.Cursor, err)
			}
			if item.Content() != nil {
				found = append(found, at)
			}
			break
		}
	}
	var want []perdure.Cursor
	for _, snap := range snapshots(t, s, id) {
		want = append(want, snap.Cursor)
	}
	if !slices.Equal(found, want) {
		t.Fatalf("snapshots are said to stand at %v, want %v", found, want)
	}
	if _, err := p.SnapshotCursors(t.Context(), perdure.AgentID{1}); !errors.Is(err, perdure.ErrNotFound) {
		t.Fatalf("places of snapshots of nobody: %v, want ErrNotFound", err)
	}
}

// testNamed compares the names of snapshots with what Snapshots yields.
func testNamed(t *testing.T, s *suite, id perdure.AgentID) {
	t.Helper()
	n, ok := s.Store.(interface {
		NameSnapshots(context.Context, perdure.AgentID, func(perdure.Hash, perdure.Cursor) bool) error
	})
	if !ok {
		return
	}
	all := snapshots(t, s, id)
	for most := 1; most <= len(all); most++ {
		var named int
		err := n.NameSnapshots(t.Context(), id, func(name perdure.Hash, at perdure.Cursor) bool {
			if named == most || name != all[named].Name || at != all[named].Cursor {
				t.Fatalf("snapshot %d is named %s at %d, want %s at %d, and %d of them", named, name.Short(), at,
					all[min(named, most-1)].Name.Short(), all[min(named, most-1)].Cursor, most)
			}
			named++
			return named < most
		})
		if err != nil || named != most {
			t.Fatalf("%d snapshots are named: %v, want %d", named, err, most)
		}
	}
	err := n.NameSnapshots(t.Context(), perdure.AgentID{1}, func(perdure.Hash, perdure.Cursor) bool { return true })
	if !errors.Is(err, perdure.ErrNotFound) {
		t.Fatalf("snapshots of nobody are named: %v, want ErrNotFound", err)
	}
}

func testBreak(t *testing.T, s *suite) {
	w := newAuthor(t)
	a := s.create(w, "a")
	for range 10 {
		a = s.grow(w, a, began, event("x", 10), event("y", 10))
	}
	for stop := range 5 {
		n := 0
		for _, err := range s.Entries(t.Context(), a.ID(), 0) {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n > stop {
				break
			}
		}
	}
	for range s.Due(t.Context(), began.Add(time.Hour)) {
		break
	}
}

func testWriteWhileReading(t *testing.T, s *suite) {
	w := newAuthor(t)
	a := s.create(w, "a")
	for range 3 {
		a = s.grow(w, a, began, event("x", 10))
	}
	seen := 0
	for item, err := range s.Entries(t.Context(), a.ID(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if seen++; seen <= 4 {
			a = s.grow(w, a, began, event("more", 10))
		}
		for range s.Entries(t.Context(), a.ID(), item.Cursor) {
			if _, err := s.Heads(t.Context(), a.ID()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if seen < 4 || seen > 8 {
		t.Fatalf("entries seen while more arrived: %d, want 4 to 8", seen)
	}
}

func testDue(t *testing.T, s *suite) {
	w := newAuthor(t)
	at := func(h int) time.Time { return began.Add(time.Duration(h) * time.Hour) }
	g, a := w.genesis(perdure.Intent{}, "acme")
	s.append(t, a.ID(), nil, g)
	check := func(why string, want ...perdure.Look) {
		t.Helper()
		if diff := cmp.Diff(append([]perdure.Look{}, want...), due(t, s, at(100))); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", why, diff)
		}
	}
	check("genesis is due at once", perdure.Look{Agent: a.ID(), Due: perdure.TimeOf(began)})
	if got := due(t, s, began.Add(-time.Millisecond)); len(got) != 0 {
		t.Fatalf("due before the time: %v", got)
	}
	if got := due(t, s, began); len(got) != 1 {
		t.Fatalf("due at the time: %v", got)
	}
	sleeping := s.grow(w, a, began, sleep(at(20)))
	check("a sleep is due when it ends", perdure.Look{Agent: a.ID(), Due: perdure.TimeOf(at(20))})
	early, _ := w.commit(a, began, sleep(at(10)))
	s.put(t, a.ID(), early...)
	check("of two heads neither says when: a node is to look", perdure.Look{Agent: a.ID(), Due: perdure.AtOnce})
	both, err := sleeping.Apply(early...)
	if err != nil {
		t.Fatal(err)
	}
	end := perdure.Decision{Action: perdure.End{Signal: perdure.OK}, Verdict: perdure.Verdict{Answer: perdure.Allow}}
	es, ended := w.commit(both, at(1), end)
	s.append(t, a.ID(), both.Heads(), es...)
	if es[0].Due != 0 {
		t.Fatalf("an ended agent is due at %s: this test is out of date", es[0].Due)
	}
	check("an entry without due leaves nothing to look at")
	told, _ := w.commit(ended, at(2), event("told", 10))
	s.append(t, a.ID(), ended.Heads(), told...)
	if told[0].Due == 0 {
		check("an event without due changes nothing")
	}
}

func testDueOrder(t *testing.T, s *suite) {
	w := newAuthor(t)
	var want []perdure.Look
	for i := range 50 {
		a := s.create(w, "")
		d := began.Add(time.Duration(1+(i*37)%50) * time.Minute)
		s.grow(w, a, began, sleep(d))
		want = append(want, perdure.Look{Agent: a.ID(), Due: perdure.TimeOf(d)})
	}
	for _, minutes := range []int{0, 1, 17, 49, 50, 60} {
		now := began.Add(time.Duration(minutes) * time.Minute)
		got := due(t, s, now)
		if len(got) != min(minutes, 50) {
			t.Fatalf("due after %d minutes: %d agents, want %d", minutes, len(got), min(minutes, 50))
		}
		for i, l := range got {
			if l.Due != perdure.TimeOf(began.Add(time.Duration(i+1)*time.Minute)) || !slices.Contains(want, l) {
				t.Fatalf("look %d is %v: want ascending", i, l)
			}
		}
	}
}
