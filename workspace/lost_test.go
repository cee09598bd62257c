package workspace_test

import (
	"context"
	"iter"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/workspace"
)

// counted counts how often whole memories are read.
type counted struct {
	*perdure.MemStore
	reads atomic.Int64
}

func (s *counted) Entries(ctx context.Context, id perdure.AgentID,
	after perdure.Cursor) iter.Seq2[perdure.Item, error] {
	s.reads.Add(1)
	return s.MemStore.Entries(ctx, id, after)
}

// Whether versions are lost is known without reading memory: folders ask with every sync. What was pruned is not lost,
// though an index that was made since has never seen its text.
func TestLostVersionsAreToldWithoutReadingMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &counted{MemStore: new(perdure.MemStore)}
		w := newWorld(t, s)
		r := w.as("coder")
		short, err := r.Write(t.Context(), workspace.Draft{Path: "agents/coder/a.md", Text: "for a while\n",
			TTL: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		kept := w.write(r, workspace.Draft{Path: "agents/coder/b.md", Text: "for good\n"})
		time.Sleep(2 * time.Hour)
		if _, err := w.Node.Collect(t.Context(), r.Agent()); err != nil {
			t.Fatal(err)
		}
		if err := w.Index.Rebuild(t.Context(), s, nil); err != nil {
			t.Fatal(err)
		}
		before := s.reads.Load()
		lost, err := r.Lost(t.Context(), []perdure.Hash{short.Version, kept.Version, {1}})
		if err != nil || len(lost) != 1 || !lost[perdure.Hash{1}] {
			t.Errorf("lost are %v, %v; want the one that was never written", lost, err)
		}
		if n := s.reads.Load() - before; n > 0 {
			t.Errorf("%d memories were read for it", n)
		}
	})
}
