package storetest

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// feeding tests stores that keep the order of arrival of everything.
var feeding = map[string]func(*testing.T, *suite){
	"FeedYieldsWhatArrivesOnceAndInOrder":  testFeedOrder,
	"FeedGoesOnAtAnyPosition":              testFeedResumes,
	"FeedKeepsPositionsOfPrunedEntries":    testFeedPruned,
	"FeedYieldsAMemoryWrittenAnewAgain":    testFeedReplaced,
	"FeedRefusesPositionsOfAnotherFeed":    testFeedForeign,
	"FeedOfAClosedStoreSaysSo":             testFeedClosed,
	"NothingArrivesBehindAReaderOfTheFeed": testFeedRace,
	"WhatTheHeadsShowIsInTheFeed":          testFeedHeads,
}

// feedResting are those for stores that outlive their handles.
var feedResting = map[string]func(*testing.T, *suite){
	"FeedIsTheSameThroughEveryHandle":             testFeedHandles,
	"NothingArrivesBehindAFeedOfManyProcesses":    testFeedProcesses,
	"FeedOfABackupIsAnother":                      testFeedBackup,
	"FeedKeepsItsOrderWhenAProcessWasKilled":      testFeedKill,
	"FeedReadsOnlyWhatIsNew":                      testFeedCost,
	"FeedEndsAndBeginsWhereAStoreIsOpenedAnewToo": testFeedReopened,
}

// fed is what a feed yields after a position.
func fed(t testing.TB, s perdure.Store, after perdure.Cursor) []perdure.Item {
	t.Helper()
	var out []perdure.Item
	for item, err := range s.(perdure.Feeder).Feed(context.WithoutCancel(t.Context()), after) {
		if err != nil {
			t.Fatalf("feed after %d: %v", after, err)
		}
		if item.Cursor <= after {
			t.Fatalf("feed yields position %d after %d", item.Cursor, after)
		}
		after = item.Cursor
		out = append(out, item)
	}
	return out
}

// feedEnd is the id of a feed and where it ends.
func feedEnd(t testing.TB, s perdure.Store) (perdure.Hash, perdure.Cursor) {
	t.Helper()
	id, end, err := s.(perdure.Feeder).FeedEnd(t.Context())
	if err != nil || id.IsZero() {
		t.Fatalf("end of feed: %s, %d, %v", id, end, err)
	}
	return id, end
}

// arrived fails unless items are exactly these entries in this order, byte for byte.
func arrived(t testing.TB, got []perdure.Item, want ...*perdure.Entry) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("the feed has %d entries, want %d", len(got), len(want))
	}
	for i, item := range got {
		if item.Name != want[i].Name || string(item.BodyBytes()) != string(want[i].BodyBytes()) ||
			item.ID() != want[i].ID() {
			t.Fatalf("arrival %d is %s of agent %s, want %s of %s", i, item.Name.Short(), item.ID().Short(),
				want[i].Name.Short(), want[i].ID().Short())
		}
	}
}

// fill puts entries of several agents into the store, a call at a time, and has the feed read after each, so that
// stores that derive their order see it. It returns them in the order they arrived.
func (s *suite) fill(t *testing.T, n int) (all []*perdure.Entry) {
	t.Helper()
	w := newAuthor(t)
	agents := make([]*perdure.Agent, 3)
	for i := range n {
		k := i % len(agents)
		var es []*perdure.Entry
		if agents[k] == nil {
			var g *perdure.Entry
			g, agents[k] = w.genesis(perdure.Intent{Name: "a"}, "acme")
			es = []*perdure.Entry{g}
			s.append(t, agents[k].ID(), nil, g)
		} else {
			heads := agents[k].Heads()
			es, agents[k] = w.commit(agents[k], began, event("x", 10+i*97%3000), event("y", 20))
			s.append(t, agents[k].ID(), heads, es...)
		}
		all = append(all, es...)
		feedEnd(t, s.Store)
	}
	return all
}

func testFeedOrder(t *testing.T, s *suite) {
	optional[perdure.Feeder](t, s.Store)
	if got := fed(t, s.Store, 0); len(got) != 0 {
		t.Fatalf("the feed of an empty store yields %d entries", len(got))
	}
	if _, end := feedEnd(t, s.Store); end != 0 {
		t.Fatalf("the feed of an empty store ends at %d", end)
	}
	all := s.fill(t, 40)
	got := fed(t, s.Store, 0)
	arrived(t, got, all...)
	if _, end := feedEnd(t, s.Store); end != got[len(got)-1].Cursor {
		t.Fatalf("the feed ends at %d, want %d", end, got[len(got)-1].Cursor)
	}
	last := all[len(all)-1]
	s.put(t, last.ID(), last) // what is there does not arrive again
	arrived(t, fed(t, s.Store, 0), all...)
}

func testFeedResumes(t *testing.T, s *suite) {
	optional[perdure.Feeder](t, s.Store)
	all := s.fill(t, 30)
	got := fed(t, s.Store, 0)
	for i, item := range got {
		arrived(t, fed(t, s.Store, item.Cursor), all[i+1:]...)
	}
	for item, err := range s.Store.(perdure.Feeder).Feed(t.Context(), 0) { // a reader may stop anywhere
		if err != nil || item.Name != all[0].Name {
			t.Fatalf("first arrival: %v, %v", item, err)
		}
		break
	}
}

func testFeedPruned(t *testing.T, s *suite) {
	optional[perdure.Feeder](t, s.Store)
	pruner := optional[prunes](t, s.Store)
	all := s.fill(t, 12)
	id, _ := feedEnd(t, s.Store)
	before := fed(t, s.Store, 0)
	gone := map[perdure.Hash]bool{}
	for _, e := range all {
		if e.Kind == perdure.KindEvent {
			gone[e.Name] = true
			if _, err := Prune(t.Context(), pruner, e.ID(), e.Name); err != nil {
				t.Fatal(err)
			}
		}
	}
	after := fed(t, s.Store, 0)
	if len(after) != len(before) {
		t.Fatalf("%d arrivals after pruning, want %d", len(after), len(before))
	}
	for i, item := range after {
		if item.Cursor != before[i].Cursor || item.Name != before[i].Name ||
			gone[item.Name] != (item.BodyBytes() == nil) {
			t.Fatalf("arrival %d after pruning: %s at %d with %d bytes", i, item.Name.Short(), item.Cursor,
				len(item.BodyBytes()))
		}
	}
	if now, _ := feedEnd(t, s.Store); now != id {
		t.Fatal("pruning began another feed")
	}
}

func testFeedReplaced(t *testing.T, s *suite) {
	optional[perdure.Feeder](t, s.Store)
	w := newAuthor(t)
	all, at, a := ended(w)
	if err := s.replace(t, a.ID(), nil, perdure.Last(1), all[at:]...); err != nil {
		t.Fatal(err)
	}
	other := s.create(w, "other")
	feed, seen := feedEnd(t, s.Store)
	if err := s.replace(t, a.ID(), a.Heads(), perdure.Full, all...); err != nil {
		t.Fatal(err)
	}
	got := fed(t, s.Store, seen)
	missing := map[perdure.Hash]bool{}
	for _, e := range all[:at] { // what was not there before has to arrive
		missing[e.Name] = true
	}
	for _, item := range got {
		delete(missing, item.Name)
	}
	if now, _ := feedEnd(t, s.Store); now == feed && len(missing) > 0 {
		t.Fatalf("%d entries that came with a whole memory never arrived", len(missing))
	}
	count := map[perdure.Hash]int{}
	for _, item := range fed(t, s.Store, 0) {
		count[item.Name]++
	}
	if len(count) != len(all)+1 || count[other.Heads()[0]] != 1 {
		t.Fatalf("%d entries in the feed, want %d", len(count), len(all)+1)
	}
}

func testFeedForeign(t *testing.T, s *suite) {
	optional[perdure.Feeder](t, s.Store)
	s.fill(t, 5)
	_, end := feedEnd(t, s.Store)
	for item, err := range s.Store.(perdure.Feeder).Feed(t.Context(), end+1<<40) {
		if !errors.Is(err, perdure.ErrNotFound) {
			t.Fatalf("feed after a position it does not have: %v, %v", item, err)
		}
		return
	}
	t.Fatal("a position behind the end of the feed was not refused")
}

func testFeedClosed(t *testing.T, s *suite) {
	optional[perdure.Feeder](t, s.Store)
	closed := s.openAt(s.path + "-closed")
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := closed.(perdure.Feeder).FeedEnd(t.Context()); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("end of the feed of a closed store: %v", err)
	}
	for _, err := range closed.(perdure.Feeder).Feed(t.Context(), 0) {
		if !errors.Is(err, fs.ErrClosed) {
			t.Errorf("feed of a closed store: %v", err)
		}
	}
}

// follow reads the feed from its beginning until it has seen so many entries, never the same twice. It keeps nothing
// but a position.
func follow(t *testing.T, s perdure.Store, n int) {
	t.Helper()
	seen := map[perdure.Hash]bool{}
	at, deadline := perdure.Cursor(0), time.Now().Add(patience)
	for len(seen) < n {
		if time.Now().After(deadline) {
			t.Fatalf("a reader of the feed saw %d of %d entries", len(seen), n)
		}
		for _, item := range fed(t, s, at) {
			at = item.Cursor
			if seen[item.Name] {
				t.Fatalf("entry %s arrived twice", item.Name.Short())
			}
			for _, p := range item.Parents {
				if !seen[p] {
					t.Fatalf("entry %s arrived before what it was written on", item.Name.Short())
				}
			}
			seen[item.Name] = true
		}
	}
	if more := fed(t, s, at); len(more) > 0 {
		t.Fatalf("%d entries too many", len(more))
	}
}

func testFeedRace(t *testing.T, s *suite) {
	optional[perdure.Feeder](t, s.Store)
	const writers, commits = 4, 25
	var group sync.WaitGroup
	defer group.Wait() // what they wrote may be seen before they are told: nobody writes to a store that is closed
	for range writers {
		w := newAuthor(t)
		group.Go(func() {
			a := s.create(w, "a")
			for range commits {
				a = s.grow(w, a, began, event("x", 10))
			}
		})
	}
	follow(t, s.Store, writers*(1+commits))
}

// Whoever has read the heads of an agent finds them in the feed from then on, while somebody writes.
func testFeedHeads(t *testing.T, s *suite) {
	optional[perdure.Feeder](t, s.Store)
	const commits = 200
	w := newAuthor(t)
	a := s.create(w, "a")
	id, done := a.ID(), make(chan struct{})
	go func() {
		defer close(done)
		for range commits {
			a = s.grow(w, a, began, event("x", 10))
		}
	}()
	defer func() { <-done }() // whatever was found, nobody writes to a store that is closed
	seen, at := map[perdure.Hash]bool{}, perdure.Cursor(0)
	for going := true; going; {
		select {
		case <-done:
			going = false
		default:
		}
		heads, err := s.Heads(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range fed(t, s.Store, at) {
			at, seen[item.Name] = item.Cursor, true
		}
		for _, h := range heads {
			if !seen[h] {
				t.Fatalf("head %s has not arrived, after %d entries", h.Short(), len(seen))
			}
		}
	}
}

func testFeedHandles(t *testing.T, s *suite) {
	optional[perdure.Feeder](t, s.Store)
	other := s.open()
	all := s.fill(t, 10)
	one, end := feedEnd(t, s.Store)
	two, same := feedEnd(t, other)
	if one != two || end != same {
		t.Fatalf("the feed is %s to %d and, through another handle, %s to %d", one.Short(), end, two.Short(), same)
	}
	here, there := fed(t, s.Store, 0), fed(t, other, 0)
	arrived(t, there, all...)
	for i := range here {
		if here[i].Cursor != there[i].Cursor {
			t.Fatalf("arrival %d is at %d and, through another handle, at %d", i, here[i].Cursor, there[i].Cursor)
		}
	}
	feed, _ := feedEnd(t, s.openAt(s.path+"-other"))
	if feed == one {
		t.Fatal("another store has the same feed")
	}
}

func testFeedReopened(t *testing.T, s *suite) {
	optional[perdure.Feeder](t, s.Store)
	all := s.fill(t, 10)
	feed, end := feedEnd(t, s.Store)
	before := fed(t, s.Store, 0)
	s.reopen()
	if again, at := feedEnd(t, s.Store); again != feed || at != end {
		t.Fatalf("the feed is %s to %d, after reopening %s to %d", feed.Short(), end, again.Short(), at)
	}
	after := fed(t, s.Store, 0)
	arrived(t, after, all...)
	for i := range after {
		if after[i].Cursor != before[i].Cursor {
			t.Fatalf("arrival %d is at %d, after reopening at %d", i, before[i].Cursor, after[i].Cursor)
		}
	}
	next := s.fill(t, 4)
	arrived(t, fed(t, s.Store, end), next...)
}

func testFeedProcesses(t *testing.T, s *suite) {
	optional[perdure.Feeder](t, s.Store)
	a := s.create(newAuthor(t), "a")
	b := s.create(newAuthor(t), "b")
	one, _ := child(t, "append", s.path, a.ID().String())
	two, _ := child(t, "append", s.path, b.ID().String())
	follow(t, s.Store, 82)
	for _, cmd := range []interface{ Wait() error }{one, two} {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

func testFeedBackup(t *testing.T, s *suite) {
	optional[perdure.Feeder](t, s.Store)
	b := optional[backuper](t, s.Store)
	all := s.fill(t, 6)
	feed, end := feedEnd(t, s.Store)
	path := filepath.Join(t.TempDir(), "copy")
	if err := b.Backup(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	restored := s.openAt(path)
	if got, _ := feedEnd(t, restored); got == feed {
		t.Fatal("a restored backup has the feed of the store that has gone on since: positions after the backup " +
			"would be given twice")
	}
	count := map[perdure.Hash]int{}
	for _, item := range fed(t, restored, 0) {
		count[item.Name]++
	}
	if len(count) != len(all) {
		t.Fatalf("the feed of a backup has %d entries, want %d", len(count), len(all))
	}
	if got, at := feedEnd(t, s.Store); got != feed || at != end {
		t.Fatal("a backup changed the feed")
	}
}

func testFeedKill(t *testing.T, s *suite) {
	optional[perdure.Feeder](t, s.Store)
	var seen []perdure.Item
	feed, at := feedEnd(t, s.Store)
	for range 2 {
		cmd, lines := child(t, "create", s.path)
		for n := 0; lines.Scan(); {
			if _, _, ok := acknowledged(lines.Text()); !ok {
				continue
			}
			for _, item := range fed(t, s.Store, at) {
				at, seen = item.Cursor, append(seen, item)
			}
			if n++; n == 20 {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = cmd.Wait() // killed
		s.reopen()
		s.create(newAuthor(t), "goes on")
	}
	seen = append(seen, fed(t, s.Store, at)...)
	if now, _ := feedEnd(t, s.Store); now != feed {
		t.Fatal("a killed writer began another feed")
	}
	whole := fed(t, s.Store, 0)
	if len(whole) != len(seen) {
		t.Fatalf("a reader that kept up saw %d entries, the feed has %d", len(seen), len(whole))
	}
	for i := range whole {
		if whole[i].Cursor != seen[i].Cursor || whole[i].Name != seen[i].Name {
			t.Fatalf("arrival %d was %s at %d, now it is %s at %d", i, seen[i].Name.Short(), seen[i].Cursor,
				whole[i].Name.Short(), whole[i].Cursor)
		}
	}
}

// testFeedCost compares reading what is new in a small feed and in one a hundred times as long: the second must not
// cost much more. It looks again where it does: what a busy machine adds is not always there, what the feed costs is.
func testFeedCost(t *testing.T, s *suite) {
	optional[perdure.Feeder](t, s.Store)
	small, large := s.Store, s.openAt(s.path+"-large")
	w := newAuthor(t)
	grow := func(store perdure.Store, a *perdure.Agent, bodies ...perdure.Body) *perdure.Agent {
		es, next := w.commit(a, began, bodies...)
		if err := store.Append(t.Context(), a.ID(), a.Heads(), es...); err != nil {
			t.Fatal(err)
		}
		return next
	}
	agents := map[perdure.Store]*perdure.Agent{}
	for _, store := range []perdure.Store{small, large} {
		e, a := w.genesis(perdure.Intent{}, "acme")
		if err := store.Append(t.Context(), a.ID(), nil, e); err != nil {
			t.Fatal(err)
		}
		agents[store] = a
	}
	for range 40 {
		bodies := make([]perdure.Body, 50)
		for i := range bodies {
			bodies[i] = event("x", 200)
		}
		agents[large] = grow(large, agents[large], bodies...)
	}
	cost := func(store perdure.Store) time.Duration {
		_, end := feedEnd(t, store)
		agents[store] = grow(store, agents[store], event("x", 10))
		from := time.Now()
		if got := fed(t, store, end); len(got) != 1 {
			t.Fatalf("%d entries are new, want 1", len(got))
		}
		return time.Since(from)
	}
	few, many := time.Hour, time.Hour
	for i := range 500 {
		few, many = min(few, cost(small)), min(many, cost(large))
		if i >= 10 && many <= 10*few+5*time.Millisecond {
			return
		}
	}
	t.Errorf("reading one new entry took %v in a small feed and %v in one of 2,000", few, many)
}
