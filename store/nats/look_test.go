package nats

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/enginetest"
	"github.com/perdure/perdure/internal/relist"
)

// counted is a store of which the memories that are read are counted.
type counted struct {
	*Store
	read int
}

func (s *counted) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item,
	error] {
	s.read++
	return s.Store.Entries(ctx, id, after)
}

// TestWhoLooksWritesNothing opens a store to look at: every way to write is refused.
func TestWhoLooksWritesNothing(t *testing.T) {
	t.Parallel()
	url := shared.URL("looked")
	w := enginetest.NewWriter(t, open(t, url, Options{}))
	s := open(t, url, Options{Look: true})
	if err := w.Write(t.Context(), t, s); !errors.Is(err, errLooks) {
		t.Errorf("append: %v, want %v", err, errLooks)
	}
	if _, err := s.Claim(t.Context(), w.Agent.ID(), w.Key(), time.Second); !errors.Is(err, errLooks) {
		t.Errorf("claim: %v, want %v", err, errLooks)
	}
	w.Kept(t, s)
}

// TestLinesAreKeptForTheNextLook lists agents of which entries came that no node has listed: what that took is kept
// where the store says, and the next to look reads the agents that have changed since.
func TestLinesAreKeptForTheNextLook(t *testing.T) {
	t.Parallel()
	url, aside := shared.URL("derived"), filepath.Join(t.TempDir(), "looks")
	s := open(t, url, Options{})
	writers := enginetest.NewWriters(t, s, 2)
	for _, w := range writers {
		var drafts []perdure.Draft
		for range 600 { // long in the making
			drafts = append(drafts, perdure.Draft{Body: perdure.Event{Name: "said"}})
		}
		entries, next, err := w.Commit(w.Agent, time.Now(), drafts...)
		if err == nil {
			err = s.Append(t.Context(), w.Agent.ID(), w.Agent.Heads(), entries...)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.Agent = next
	}
	look := func() int {
		t.Helper()
		c := &counted{Store: open(t, url, Options{Look: true, Aside: aside})}
		n := 0
		for l, err := range relist.Of(c, c.Store).List(t.Context(), perdure.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range writers {
				if l.Agent == w.Agent.ID() && l.Entries == w.Agent.Fold().Count {
					n++
				}
			}
		}
		if n != len(writers) {
			t.Errorf("%d agents are listed as they are, want %d", n, len(writers))
		}
		return c.read
	}
	if n := look(); n != 2 {
		t.Errorf("the first look read %d memories, want both", n)
	}
	if n := look(); n != 0 {
		t.Errorf("the next look read %d memories, want none", n)
	}
	if err := writers[0].Write(t.Context(), t, s); err != nil {
		t.Fatal(err)
	}
	if n := look(); n != 1 {
		t.Errorf("a look read %d memories, want the one that changed", n)
	}
	if err := os.RemoveAll(aside); err != nil {
		t.Fatal(err)
	}
	if n := look(); n != 2 {
		t.Errorf("without what was kept a look read %d memories, want both", n)
	}
}
