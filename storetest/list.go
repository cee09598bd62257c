package storetest

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

var listing = map[string]func(*testing.T, *suite){
	"ANewAgentIsListed":         testListNew,
	"IndexIsOnlyAnIndex":        testIndex,
	"AnEventIsListedAtOnce":     testListTold,
	"EveryFilterSelects":        testFilters,
	"ReindexRebuildsEverything": testReindex,
	"PagesCostWhatTheyList":     testPages,
	"AnyNameIsListed":           testLongNames,
	"DueNamesTheScope":          testDueScope,
	"WhatNobodyListedIsBehind":  testBehind,
}

func list(t *testing.T, l perdure.Lister, f perdure.Filter) []perdure.Listing {
	t.Helper()
	out := []perdure.Listing{}
	for line, err := range l.List(t.Context(), f) {
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		out = append(out, line)
	}
	return out
}

// testDueScope: a store that lists agents says of those that are due in which scope they are. It may do so later: it is
// a hint.
func testDueScope(t *testing.T, s *suite) {
	l := optional[perdure.Lister](t, s.Store)
	a := s.create(newAuthor(t), "a")
	if err := l.Index(t.Context(), a.Heads(), a.Listing(began)); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(time.Millisecond) {
		for look, err := range s.Due(t.Context(), time.Now()) {
			if err != nil {
				t.Fatal(err)
			}
			if look.Agent == a.ID() && look.Scope == "acme" {
				return
			}
		}
	}
	t.Error("the scope of an agent that is due is not known")
}

func testListNew(t *testing.T, s *suite) {
	l := optional[perdure.Lister](t, s.Store)
	e, a := newAuthor(t).genesis(perdure.Intent{Name: "n", Kind: "k", Labels: map[string]string{"x": "y"}}, "acme/ops")
	s.append(t, a.ID(), nil, e)
	want := []perdure.Listing{{
		Agent: a.ID(), Name: "n", Kind: "k", Scope: "acme/ops", State: phase.Instantiated,
		Labels:  map[string]string{"x": "y"},
		Created: perdure.TimeOf(began), Updated: perdure.TimeOf(began), Due: perdure.TimeOf(began), Entries: 1,
	}}
	if diff := cmp.Diff(want, list(t, l, perdure.Filter{})); diff != "" {
		t.Fatalf("listing of a new agent (-want +got):\n%s", diff)
	}
}

// testListTold: an event that wakes nobody is in the list when the one who told it hears that it was recorded. No node
// looks at the agent on account of it, and would write its line.
func testListTold(t *testing.T, s *suite) {
	l := optional[perdure.Lister](t, s.Store)
	w := newAuthor(t)
	a := s.grow(w, s.create(w, "a"), began, sleep(time.Now().Add(24*time.Hour)))
	n := &perdure.Node{Store: s.Store, Key: w.Signer}
	for i, name := range []string{"first", "second"} { // read from the store, and out of the node's memory
		e, err := n.Tell(t.Context(), a.ID(), perdure.Event{Name: name, By: "somebody"})
		if err != nil {
			t.Fatal(err)
		}
		got := list(t, l, perdure.Filter{})
		if len(got) != 1 || got[0].Entries != int64(i)+3 || got[0].Updated != e.Time {
			t.Errorf("after event %s, written %s, listed: %+v, want %d entries", name, e.Time, got, i+3)
		}
	}
}

// testBehind: from entries that nobody listed, however they came, until somebody does, the line of their agent is
// behind, also after a crash. Lines of others are not.
func testBehind(t *testing.T, s *suite) {
	l := optional[perdure.Lister](t, s.Store)
	w := newAuthor(t)
	s.create(w, "born")
	a := s.create(w, "a")
	wants := func(after string, want ...string) {
		t.Helper()
		if !s.Volatile {
			s.reopen()
			l = s.Store.(perdure.Lister)
		}
		names, marked := []string{}, []string{}
		for _, one := range list(t, l, perdure.Filter{Behind: true}) {
			names = append(names, one.Name)
		}
		for _, one := range list(t, l, perdure.Filter{}) {
			if one.Behind {
				marked = append(marked, one.Name)
			}
		}
		if !slices.Equal(names, want) || !slices.Equal(marked, want) {
			t.Errorf("after %s these are behind: %q, marked are %q, want %q", after, names, marked, want)
		}
	}
	index := func(a *perdure.Agent) {
		t.Helper()
		if err := l.Index(t.Context(), a.Heads(), a.Listing(began)); err != nil {
			t.Fatal(err)
		}
	}
	wants("their first entries")
	older := s.grow(w, a, began.Add(time.Minute), event("x", 10))
	wants("an append", "a")
	index(older)
	wants("its listing")
	newer := s.grow(w, older, began.Add(time.Hour), event("y", 10))
	index(older)
	wants("a listing of an older agent", "a")
	index(newer)
	wants("that of the newer")
	more, put := w.commit(newer, began.Add(2*time.Hour), event("z", 10))
	if err := s.Put(t.Context(), a.ID(), more...); err != nil {
		t.Fatal(err)
	}
	wants("a put", "a")
	index(put)
	index(put)
	wants("two listings")
	several, long := w.commit(put, began.Add(3*time.Hour), event("one", 10), event("two", 10))
	all := func(yield func(*perdure.Entry, error) bool) {
		for _, e := range several {
			if !yield(e, nil) {
				return
			}
		}
	}
	if p, ok := s.Store.(perdure.Parter); ok {
		if err := p.PutAll(t.Context(), a.ID(), all); err != nil {
			t.Fatal(err)
		}
		wants("a sequence", "a")
		index(long)
		wants("its listing")
	}
	e, b := w.genesis(perdure.Intent{Name: "b"}, "acme")
	first, grown := w.commit(b, began.Add(time.Minute), event("x", 10))
	s.append(t, b.ID(), nil, append([]*perdure.Entry{e}, first...)...)
	wants("a birth with more than the first entry", "b")
	index(grown)
	wants("its listing")
}

func testIndex(t *testing.T, s *suite) {
	l := optional[perdure.Lister](t, s.Store)
	w := newAuthor(t)
	a := s.create(w, "a")
	index := func(a *perdure.Agent) perdure.Listing {
		t.Helper()
		line := a.Listing(began)
		if err := l.Index(t.Context(), a.Heads(), line); err != nil {
			t.Fatalf("index: %v", err)
		}
		return line
	}
	older := s.grow(w, a, began.Add(time.Minute), event("x", 10))
	newer := s.grow(w, older, began.Add(time.Hour), sleep(began.Add(2*time.Hour)))
	want := index(newer)
	index(older)
	if diff := cmp.Diff([]perdure.Listing{want}, list(t, l, perdure.Filter{})); diff != "" {
		t.Fatalf("listing after an older one came late (-want +got):\n%s", diff)
	}
	if want.State != phase.Dormant || want.Entries != 3 {
		t.Fatalf("the agent is %v with %d entries: this test is out of date", want.State, want.Entries)
	}
	want.Labels = map[string]string{"changed": "yes"}
	if err := l.Index(t.Context(), newer.Heads(), want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]perdure.Listing{want}, list(t, l, perdure.Filter{})); diff != "" {
		t.Fatalf("listing after one of the same age (-want +got):\n%s", diff)
	}
	// what the fold at the heads there are says is so, whatever a false line counted
	wrong := want
	wrong.Entries, wrong.State, wrong.Due = 99, phase.Terminated, 0
	if err := l.Index(t.Context(), older.Heads(), wrong); err != nil {
		t.Fatal(err)
	}
	want = index(newer)
	if diff := cmp.Diff([]perdure.Listing{want}, list(t, l, perdure.Filter{})); diff != "" {
		t.Fatalf("listing after a false one that counted more entries (-want +got):\n%s", diff)
	}
	hasHeads(t, s, a.ID(), items(t, s, a.ID(), 0)[2].Entry)
}

func testFilters(t *testing.T, s *suite) {
	l := optional[perdure.Lister](t, s.Store)
	w := newAuthor(t)
	var all []perdure.Listing
	for i, name := range []string{"delta", "alpha", "alpine", "beta", "", "alpha", "a[b]c", "größe", "a_c"} {
		e, a := w.genesis(perdure.Intent{
			Name: name, Kind: []string{"build", "watch"}[i%2],
			Labels: map[string]string{"team": fmt.Sprint(i % 3), "n": fmt.Sprint(i)},
		}, []string{"acme", "acme/ops", "acme/ops/night", "acme/opsx"}[i%4])
		s.append(t, a.ID(), nil, e)
		if i%2 == 0 {
			a = s.grow(w, a, began.Add(time.Duration(i)*time.Hour), sleep(began.Add(90*time.Hour)))
			if i == 4 || i == 6 {
				a = s.grow(w, a, began.Add(time.Duration(i)*time.Hour),
					perdure.Event{Name: "pause", Notice: perdure.Pause{}})
			}
			if err := l.Index(t.Context(), a.Heads(), a.Listing(began)); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, a.Listing(began))
	}
	slices.SortFunc(all, func(x, y perdure.Listing) int {
		if x.Name != y.Name {
			return cmpString(x.Name, y.Name)
		}
		return cmpString(x.Agent.String(), y.Agent.String())
	})
	at := func(h int) perdure.Time { return perdure.TimeOf(began.Add(time.Duration(h) * time.Hour)) }
	for _, c := range []struct {
		filter perdure.Filter
		want   int
	}{
		{perdure.Filter{}, 9},
		{perdure.Filter{Name: "alpha"}, 2},
		{perdure.Filter{Name: "al*"}, 3},
		{perdure.Filter{Name: "*a"}, 4},
		{perdure.Filter{Name: "?eta"}, 1},
		{perdure.Filter{Name: "a[b]c"}, 1},
		{perdure.Filter{Name: "a[*"}, 1},
		{perdure.Filter{Name: "a?c"}, 1},
		{perdure.Filter{Name: "a_?"}, 1},
		{perdure.Filter{Name: "gr??e"}, 1},
		{perdure.Filter{Name: "AL*"}, 0},
		{perdure.Filter{Name: "none"}, 0},
		{perdure.Filter{Kind: "build"}, 5},
		{perdure.Filter{Kind: "bui"}, 0},
		{perdure.Filter{Scope: "acme"}, 9},
		{perdure.Filter{Scope: "acme/ops"}, 4},
		{perdure.Filter{Scope: "acme/ops/night"}, 2},
		{perdure.Filter{States: []phase.State{phase.Dormant}}, 5},
		{perdure.Filter{States: []phase.State{phase.Dormant, phase.Instantiated}}, 9},
		{perdure.Filter{States: []phase.State{phase.Terminated}}, 0},
		{perdure.Filter{Waiting: true}, 2},
		{perdure.Filter{Waiting: true, Name: "a*"}, 1},
		{perdure.Filter{Labels: map[string]string{"team": "0"}}, 3},
		{perdure.Filter{Labels: map[string]string{"team": "0", "n": "3"}}, 1},
		{perdure.Filter{Labels: map[string]string{"absent": ""}}, 0},
		{perdure.Filter{Since: at(4)}, 3},
		{perdure.Filter{Before: at(4)}, 6},
		{perdure.Filter{Since: at(1), Before: at(6)}, 2},
		{perdure.Filter{Prefix: all[3].Agent.String()}, 1},
		{perdure.Filter{Prefix: all[3].Agent.String()[:9]}, 1},
		{perdure.Filter{Prefix: "xyz"}, 0},
		{perdure.Filter{Kind: "build", Scope: "acme/ops/night", States: []phase.State{phase.Dormant}}, 2},
	} {
		want := []perdure.Listing{}
		for _, line := range all {
			if c.filter.Match(line) {
				want = append(want, line)
			}
		}
		if len(want) != c.want {
			t.Errorf("filter %+v matches %d agents, want %d", c.filter, len(want), c.want)
		}
		got := list(t, l, c.filter)
		if !slices.IsSortedFunc(got, func(x, y perdure.Listing) int { return strings.Compare(x.Name, y.Name) }) {
			t.Errorf("filter %+v: not by name", c.filter)
		}
		first := slices.Clone(got) // those of one name are in an order of the store's own
		slices.SortFunc(got, func(x, y perdure.Listing) int { return x.Place().Compare(y.Place()) })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("filter %+v (-want +got):\n%s", c.filter, diff)
		}
		c.filter.Limit = 2
		got = list(t, l, c.filter)
		if len(got) != min(2, len(want)) || len(got) > 0 && got[0].Agent != first[0].Agent {
			t.Errorf("filter %+v: %d agents, want the first %d", c.filter, len(got), min(2, len(want)))
		}
	}
}

// testLongNames lists agents with long names and labels, also one by one: they are their maker's matter, and an index
// has no room for them.
func testLongNames(t *testing.T, s *suite) {
	l := optional[perdure.Lister](t, s.Store)
	w := newAuthor(t)
	long := make([]byte, 6000) // of no pattern, so that no store makes it short
	rand.NewChaCha8([32]byte{1}).Read(long)
	name := hex.EncodeToString(long)
	names := []string{"a", name + "1", name + "2", name + "3", "z"}
	for _, called := range names {
		e, a := w.genesis(perdure.Intent{Name: called, Labels: map[string]string{"much": strings.Repeat(name, 100)}},
			"acme")
		s.append(t, a.ID(), nil, e)
		if err := l.Index(t.Context(), a.Heads(), a.Listing(began)); err != nil {
			t.Fatal(err)
		}
	}
	all := list(t, l, perdure.Filter{})
	var got []perdure.Listing
	for f := (perdure.Filter{Limit: 1}); len(got) <= len(names); f.After = got[len(got)-1].Place() {
		some := list(t, l, f)
		if got = append(got, some...); len(some) == 0 {
			break
		}
	}
	if diff := cmp.Diff(all, got); diff != "" || len(all) != len(names) {
		t.Errorf("%d agents are listed, want %d; one by one (-want +got):\n%s", len(all), len(names), diff)
	}
}

// looker is a store that counts the agents it looks at to list some.
type looker interface{ Looked() int64 }

// testPages walks through a list page by page, and counts what is looked at: all pages together must not cost much more
// than the list does, also where many agents have one name.
func testPages(t *testing.T, s *suite) {
	l, counts := optional[perdure.Lister](t, s.Store), optional[looker](t, s.Store)
	w := newAuthor(t)
	const many, page = 240, 10
	for i := range many {
		name := fmt.Sprintf("agent-%03d", i*7%many)
		if i%2 == 0 {
			name = "agent-100" // half of them
		}
		e, a := w.genesis(perdure.Intent{Name: name, Kind: []string{"odd", "even"}[i/2%2]}, "acme")
		s.append(t, a.ID(), nil, e)
	}
	for _, f := range []perdure.Filter{{}, {Kind: "odd"}} {
		want := list(t, l, f)
		before, got := counts.Looked(), []perdure.Listing{}
		for f.Limit = page; ; f.After = got[len(got)-1].Place() {
			some := list(t, l, f)
			if got = append(got, some...); len(some) < page {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pages of %+v (-want +got):\n%s", f, diff)
		}
		if n := counts.Looked() - before; n > 3*many {
			t.Errorf("pages of %d: %d agents were looked at to list %d of %d", page, n, len(want), many)
		}
	}
}

func cmpString(x, y string) int {
	if x < y {
		return -1
	}
	return 1
}

func testReindex(t *testing.T, s *suite) {
	x := optional[reindexer](t, s.Store)
	w := newAuthor(t)
	var agents []*perdure.Agent
	var want []perdure.Listing
	for i := range 20 {
		a := s.create(w, fmt.Sprintf("agent-%02d", i))
		a = s.grow(w, a, began, event("x", 10))
		a = s.grow(w, a, began, snapshot(a), event("y", 70_000))
		a = s.grow(w, a, began, sleep(began.AddDate(100, 0, i))) // not yet met, whenever the test runs
		left, next := w.commit(a, began, event("left", 10))
		right, _ := w.commit(a, began, event("right", 10))
		s.put(t, a.ID(), left...)
		s.put(t, a.ID(), right...)
		a, err := next.Apply(right...)
		if err != nil {
			t.Fatal(err)
		}
		agents, want = append(agents, a), append(want, a.Listing(time.Now()))
	}
	far := began.AddDate(200, 0, 0)
	dues := due(t, s, far)
	total := 0
	if err := x.Reindex(t.Context(), func(done, all int) { total = max(total, done) }); err != nil {
		t.Fatalf("reindex: %v", err)
	}
	if total != len(agents) {
		t.Errorf("progress ended at %d, want %d", total, len(agents))
	}
	if diff := cmp.Diff(dues, due(t, s, far)); diff != "" {
		t.Errorf("due after reindex (-before +after):\n%s", diff)
	}
	for _, a := range agents {
		got, err := perdure.Load(t.Context(), s, a.ID())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(texts(a.Heads()), texts(got.Heads())); diff != "" {
			t.Errorf("heads after reindex (-want +got):\n%s", diff)
		}
		if n := len(snapshots(t, s, a.ID())); n != 1 {
			t.Errorf("snapshots after reindex: %d, want 1", n)
		}
	}
	if l, ok := s.Store.(perdure.Lister); ok {
		if diff := cmp.Diff(want, list(t, l, perdure.Filter{})); diff != "" {
			t.Errorf("listings after reindex, which nobody had indexed (-want +got):\n%s", diff)
		}
	}
}
