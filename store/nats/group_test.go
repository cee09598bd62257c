package nats

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/enginetest"
	"github.com/perdure/perdure/internal/natstest"
)

// together has writers append at the same time, so that all of them wait for each other, and returns what came of each.
func together(t *testing.T, s *Store, writers []*enginetest.Writer) []error {
	t.Helper()
	g := &s.postings
	g.mu.Lock()
	g.under += singles // as if others were under way
	g.mu.Unlock()
	errs := make([]error, len(writers))
	var group sync.WaitGroup
	for i, w := range writers {
		group.Go(func() { errs[i] = w.Write(context.Background(), t, s) })
	}
	for waiting, began := 0, time.Now(); waiting < len(writers) && time.Since(began) < patient; {
		<-time.After(time.Millisecond)
		g.mu.Lock()
		waiting = len(g.queue)
		g.mu.Unlock()
	}
	for range singles { // the first to end lets them go, all together
		s.postNext()
	}
	group.Wait()
	for began := time.Now(); ; <-time.After(time.Millisecond) { // who has an answer is told before the next are sent
		g.mu.Lock()
		under, waiting := g.under, len(g.queue)
		g.mu.Unlock()
		if under == 0 && waiting == 0 {
			break
		}
		if time.Since(began) > patient {
			t.Errorf("%d under way and %d waiting after all", under, waiting)
			break
		}
	}
	return errs
}

// batched is how many of the last messages of agents came in a batch.
func batched(t *testing.T, s *Store, writers []*enginetest.Writer) (n int) {
	t.Helper()
	js, err := s.jetstream()
	if err != nil {
		t.Fatal(err)
	}
	log, err := js.Stream(t.Context(), s.streams.log)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range writers {
		m, err := log.GetLastMsgForSubject(t.Context(), s.streams.logs(w.Agent.ID()))
		if err != nil {
			t.Fatal(err)
		}
		if m.Header.Get(batchID) != "" {
			n++
		}
	}
	return n
}

// TestCommitsShareABatch appends to many agents at once: all of it is one batch. Where one of them is written on what
// is not the last any more, that one is refused, and nobody else.
func TestCommitsShareABatch(t *testing.T) {
	cluster := natstest.StartCluster(t, 3)
	for name, url := range map[string]string{"a server": shared.URL("groups"), "a cluster": cluster.URL("groups")} {
		t.Run(name, func(t *testing.T) {
			s, other := open(t, url, Options{Patience: patient}), open(t, url, Options{Patience: patient})
			writers := enginetest.NewWriters(t, s, 40)
			for _, err := range together(t, s, writers) {
				if err != nil {
					t.Fatal(err)
				}
			}
			if n := batched(t, s, writers); n != len(writers) {
				t.Errorf("%d of %d commits came in a batch", n, len(writers))
			}
			late := writers[7]
			seen := late.Agent
			if err := late.Write(t.Context(), t, other); err != nil {
				t.Fatal(err)
			}
			now := late.Agent
			late.Agent = seen
			for i, err := range together(t, s, writers) {
				if conflict := errors.Is(err, perdure.ErrConflict); conflict != (writers[i] == late) {
					t.Errorf("writer %d: %v", i, err)
				}
			}
			late.Agent = now
			for _, w := range writers {
				w.Kept(t, s)
				w.Kept(t, other)
			}
		})
	}
}
