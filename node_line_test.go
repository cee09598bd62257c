package perdure_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
)

// fullStore keeps the last line about an agent, and has no room for entries from some moment on.
type fullStore struct {
	*perdure.MemStore
	full bool
	line perdure.Listing
}

func (s *fullStore) Append(ctx context.Context, id perdure.AgentID, heads []perdure.Hash,
	more ...*perdure.Entry) error {
	if s.full {
		return errors.New("no space left")
	}
	return s.MemStore.Append(ctx, id, heads, more...)
}

func (s *fullStore) Index(_ context.Context, _ []perdure.Hash, l perdure.Listing) error {
	s.line = l
	return nil
}

func (s *fullStore) List(context.Context, perdure.Filter) iter.Seq2[perdure.Listing, error] {
	return func(yield func(perdure.Listing, error) bool) { yield(s.line, nil) }
}

// TestAListSaysNothingOfWhatCouldNotBeWritten: a node that stops while there is no room for an outcome leaves a line
// about what is durable: else a list would say that all is well with an agent whose payment is in doubt.
func TestAListSaysNothingOfWhatCouldNotBeWritten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &fullStore{MemStore: new(perdure.MemStore)}
		pay := &tool{spec: perdure.Spec{Name: "pay", Effect: perdure.Once},
			call: func(context.Context, perdure.Call) (perdure.Result, error) {
				s.full = true
				return perdure.Result{}, nil
			}}
		n := newNode(t, s, scripted(steps("pay", 1)), pay)
		id := create(t, n, perdure.Genesis{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := n.RunAgent(ctx, id); err == nil {
			t.Fatal("it ran, want an error: there is no room")
		}
		f := load(t, s.MemStore, id)
		if s.line.Entries != f.Count || s.line.State != phase.Execution {
			t.Errorf("the line has %d entries and says %s; %d are durable, and the payment is under way",
				s.line.Entries, s.line.State, f.Count)
		}
	})
}
