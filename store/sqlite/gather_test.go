package sqlite

import (
	"sync"
	"testing"
	"time"
)

// A committer that writes for one does not wait for others; where several write at once it lets them go first, and what
// they write shares commits.
func TestSeveralWritersShareCommits(t *testing.T) {
	t.Parallel()
	w := interleaved(t, 1, 2, false)
	s := openBench(t, w.path)
	key := newSigner(t)
	before := s.syncs.Load()
	const alone = 20
	for range alone {
		g, _ := begin(t, key, "one")
		if err := s.Put(t.Context(), g.ID(), g); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.syncs.Load() - before; n != alone {
		t.Errorf("%d commits for %d writes one after the other", n, alone)
	}
	before = s.syncs.Load()
	const writers, each = 32, 8
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			for range each {
				g, _ := begin(t, key, "many")
				if err := s.Put(t.Context(), g.ID(), g); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := s.syncs.Load() - before; n > writers*each/2 {
		t.Errorf("%d commits for %d writes at once, want few", n, writers*each)
	}
}

// Gathering never waits for somebody who does not come: it looks once, and not at all for a while where that took long.
func TestGatheringIsNoWaiting(t *testing.T) {
	t.Parallel()
	w := &writer{crowd: 8}
	queue := make(chan *request)
	begun := time.Now()
	for range 100 {
		w.gather(queue)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %s to gather nothing", took)
	}
	w.hasty = time.Now().Add(time.Hour)
	was := w.hasty
	if w.gather(queue); w.hasty != was {
		t.Error("it gathers while it is in a hurry")
	}
}
