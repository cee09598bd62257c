package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure"
)

// fedBy is what the feed yields after a position, by agent.
func fedBy(t *testing.T, s *Store, after perdure.Cursor) map[perdure.AgentID]map[perdure.Hash]int {
	t.Helper()
	out := map[perdure.AgentID]map[perdure.Hash]int{}
	for item, err := range s.Feed(t.Context(), after) {
		if err != nil {
			t.Fatal(err)
		}
		if out[item.ID()] == nil {
			out[item.ID()] = map[perdure.Hash]int{}
		}
		out[item.ID()][item.Name]++
	}
	return out
}

func feedOf(t *testing.T, s *Store) (perdure.Hash, perdure.Cursor) {
	t.Helper()
	id, end, err := s.FeedEnd(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id, end
}

// TestADamagedAgentDoesNotHoldUpTheFeed damages a row: the others still arrive, and what was damaged does once it is
// healed.
func TestADamagedAgentDoesNotHoldUpTheFeed(t *testing.T) {
	w := interleaved(t, 3, 6, false)
	s := openBench(t, w.path)
	feed, end := feedOf(t, s)
	err := s.submit(t.Context(), &request{apply: func(w *writer) error {
		return w.do("UPDATE log SET data=x'00ff00' WHERE rid=(SELECT rid FROM log WHERE agent=2 ORDER BY rid LIMIT 1 " +
			"OFFSET 3)")
	}})
	if err != nil {
		t.Fatal(err)
	}
	var damaged perdure.AgentID
	before := fedBy(t, s, 0)
	for id, es := range w.entries {
		if len(before[id]) < len(es) {
			damaged = id
		}
	}
	if damaged.IsZero() {
		t.Fatal("the damage hit no agent")
	}
	for id, es := range w.entries {
		if id != damaged && len(before[id]) != len(es) {
			t.Errorf("%d of %d entries arrived of an agent that is not damaged", len(before[id]), len(es))
		}
	}
	if _, err := s.Heal(t.Context(), damaged, w.entries[damaged]); err != nil {
		t.Fatal(err)
	}
	if now, _ := feedOf(t, s); now != feed {
		t.Error("healing began another feed, though nothing was lost at its end")
	}
	if got := fedBy(t, s, end); len(got) != 1 || len(got[damaged]) != len(w.entries[damaged]) {
		t.Errorf("%d entries of the healed agent arrived, want all %d", len(got[damaged]), len(w.entries[damaged]))
	}
	if got := fedBy(t, s, 0)[damaged]; len(got) != len(w.entries[damaged]) {
		t.Errorf("%d entries in the whole feed, want %d", len(got), len(w.entries[damaged]))
	}
}

// TestALostBodyDoesNotHoldUpTheFeed takes the file of one body away, for which a page is read twice: the entries of
// other agents still arrive, wherever the reading begins.
func TestALostBodyDoesNotHoldUpTheFeed(t *testing.T) {
	w := interleaved(t, 3, 6, false)
	s := openBench(t, w.path)
	var all []perdure.Item
	for item, err := range s.Feed(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, item)
	}
	files, err := os.ReadDir(folderOf(w.path))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d bodies in files, %v", len(files), err)
	}
	if err := os.Remove(filepath.Join(folderOf(w.path), files[0].Name())); err != nil {
		t.Fatal(err)
	}
	damaged, whole := perdure.AgentID{}, fedBy(t, s, 0)
	for id, es := range w.entries {
		if len(whole[id]) < len(es) {
			damaged = id
		}
	}
	if damaged.IsZero() {
		t.Fatal("the damage hit no agent")
	}
	for i, from := range all {
		got := fedBy(t, s, from.Cursor)
		for _, item := range all[i+1:] {
			if id := item.ID(); id != damaged && got[id][item.Name] != 1 {
				t.Fatalf("after %d entries, entry %d of agent %s arrives %d times", i+1, item.Seq, id.Short(),
					got[id][item.Name])
			}
		}
	}
}

// TestWhoeverLosesTheEndBeginsAnotherFeed has the last rows vanish for good: their numbers are given again.
func TestWhoeverLosesTheEndBeginsAnotherFeed(t *testing.T) {
	w := interleaved(t, 2, 3, false)
	s := openBench(t, w.path)
	feed, _ := feedOf(t, s)
	g, _ := begin(t, newSigner(t), "last")
	w.add(t, s, g)
	err := s.submit(t.Context(), &request{apply: func(w *writer) error {
		return errors.Join(w.do("UPDATE log SET data=x'00ff00' WHERE rid=(SELECT max(rid) FROM log)"),
			w.do("DELETE FROM births")) // else it is found there
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Heal(t.Context(), g.ID(), nil); err != nil {
		t.Fatal(err)
	}
	if now, _ := feedOf(t, s); now == feed {
		t.Error("rows at the end are gone, and the feed is the same")
	}
}

func TestARebuiltFileBeginsAnotherFeed(t *testing.T) {
	w := interleaved(t, 2, 3, false)
	s := openBench(t, w.path)
	feed, _ := feedOf(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Rebuild(t.Context(), w.path); err != nil {
		t.Fatal(err)
	}
	again := openBench(t, w.path)
	if now, _ := feedOf(t, again); now == feed {
		t.Error("a rebuilt file has the same feed")
	}
	for id, es := range w.entries {
		if got := fedBy(t, again, 0)[id]; len(got) != len(es) {
			t.Errorf("%d entries arrive, want %d", len(got), len(es))
		}
	}
}

// TestACopyIsAnotherFeed copies the file as cp does.
func TestACopyIsAnotherFeed(t *testing.T) {
	w := interleaved(t, 2, 3, false)
	s := openBench(t, w.path)
	feed, _ := feedOf(t, s)
	other := openBench(t, copied(t, w.path, t.TempDir()+"/copy.db"))
	if now, _ := feedOf(t, other); now == feed {
		t.Error("a copy has the same feed")
	}
}

// TestAStoreThatIsNotSyncedBeginsAnotherFeedAfterABoot has the machine started again: rows that were seen may be lost.
func TestAStoreThatIsNotSyncedBeginsAnotherFeedAfterABoot(t *testing.T) {
	if bootID() == "" {
		t.Skip("this system does not say which run of the machine it is")
	}
	boot := func(s *Store) {
		t.Helper()
		err := s.submit(t.Context(), &request{apply: func(w *writer) error {
			return w.do("UPDATE feed SET boot='another' WHERE boot IS NOT NULL")
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	synced := openBench(t, t.TempDir()+"/store.db")
	feed, _ := feedOf(t, synced)
	boot(synced)
	if now, _ := feedOf(t, synced); now != feed {
		t.Error("a store whose commits are synced begins another feed after a boot")
	}
	path := t.TempDir() + "/store.db"
	loose, err := Open(t.Context(), path, Options{Sync: Normal})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = loose.Close() }()
	feed, _ = feedOf(t, loose)
	if now, _ := feedOf(t, loose); now != feed {
		t.Fatal("the feed changes without a boot")
	}
	beside := openBench(t, path) // another process that syncs reads what this one wrote
	if now, _ := feedOf(t, beside); now != feed {
		t.Error("another handle has another feed")
	}
	boot(loose)
	now, _ := feedOf(t, beside)
	if now == feed {
		t.Error("rows may be lost, and the feed is the same")
	}
}

// BenchmarkFeed reads one new entry at the end of a long feed, and all of it.
func BenchmarkFeed(b *testing.B) {
	s := openBench(b, b.TempDir()+"/store.db")
	key := newSigner(b)
	g, a := begin(b, key, "a")
	if err := s.Put(b.Context(), a.ID(), g); err != nil {
		b.Fatal(err)
	}
	grow := func(n int) {
		for range n {
			es, next := commit(b, key, a, draft(1024))
			if err := s.Put(b.Context(), a.ID(), es...); err != nil {
				b.Fatal(err)
			}
			a = next
		}
	}
	grow(5000)
	b.Run("one new", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			_, end, err := s.FeedEnd(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			grow(1)
			b.StartTimer()
			for _, err := range s.Feed(b.Context(), end) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("end", func(b *testing.B) {
		for b.Loop() {
			if _, _, err := s.FeedEnd(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("all", func(b *testing.B) {
		n := 0
		for b.Loop() {
			for _, err := range s.Feed(b.Context(), 0) {
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
		}
		b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
	})
}
