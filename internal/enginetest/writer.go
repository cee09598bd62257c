package enginetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
)

// Writer appends to one agent, one entry after the other.
type Writer struct {
	*perdure.Signer
	Agent *perdure.Agent
}

// NewWriter makes an agent in a store.
func NewWriter(t testing.TB, s perdure.Store) *Writer {
	t.Helper()
	key, err := perdure.GenerateSigner("writer")
	if err != nil {
		t.Fatal(err)
	}
	g := perdure.Genesis{Intent: perdure.Intent{Goal: "be kept"}, Charter: perdure.Charter{Scope: "acme"}}
	e, err := key.Genesis(g, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Begin(e)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), a.ID(), nil, e); err != nil {
		t.Fatal(err)
	}
	return &Writer{key, a}
}

// NewWriters makes so many agents in a store.
func NewWriters(t testing.TB, s perdure.Store, n int) (out []*Writer) {
	t.Helper()
	for range n {
		out = append(out, NewWriter(t, s))
	}
	return out
}

// Next is the next commit on top of the agent, and the agent with it.
func (w *Writer) Next(t testing.TB) ([]*perdure.Entry, *perdure.Agent) {
	t.Helper()
	entries, next, err := w.Commit(w.Agent, time.Now(), perdure.Draft{Body: perdure.Event{Name: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	return entries, next
}

// Write appends the next commit.
func (w *Writer) Write(ctx context.Context, t testing.TB, s perdure.Store) error {
	entries, next := w.Next(t)
	err := s.Append(ctx, w.Agent.ID(), w.Agent.Heads(), entries...)
	if err == nil {
		w.Agent = next
	}
	return err
}

// Kept fails unless a store has all that a writer was told it has, in one line.
func (w *Writer) Kept(t testing.TB, s perdure.Store) {
	t.Helper()
	a, err := perdure.FoldEntries(perdure.Memory(t.Context(), s, w.Agent.ID()))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := a.Fold().Count, w.Agent.Fold().Count; got != want || a.Heads()[0] != w.Agent.Heads()[0] {
		t.Fatalf("%d entries, want the %d that were acknowledged", got, want)
	}
}

// Hammer has writers append until stop is closed. Every append must be acknowledged, however long that takes.
func Hammer(t *testing.T, s perdure.Store, stop <-chan struct{}, writers []*Writer) *sync.WaitGroup {
	var group sync.WaitGroup
	for _, w := range writers {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := w.Write(context.Background(), t, s); err != nil {
					t.Errorf("append: %v", err)
					return
				}
			}
		})
	}
	return &group
}
