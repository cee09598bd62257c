package view_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// countedStore counts how often it lists, and reads a memory.
type countedStore struct {
	*perdure.MemStore
	lists int
	reads atomic.Int64
}

func (s *countedStore) Entries(ctx context.Context, id perdure.AgentID, after perdure.Cursor) iter.Seq2[perdure.Item,
	error] {
	s.reads.Add(1)
	return s.MemStore.Entries(ctx, id, after)
}

func (s *countedStore) Snapshots(ctx context.Context, id perdure.AgentID) iter.Seq2[perdure.Item, error] {
	s.reads.Add(1)
	return s.MemStore.Snapshots(ctx, id)
}

func (s *countedStore) List(ctx context.Context, f perdure.Filter) iter.Seq2[perdure.Listing, error] {
	s.lists++
	return s.MemStore.List(ctx, f)
}

// However many wait, it is found out at once which of them share a name, and the memory of each is read once.
func TestAnInboxOfManyListsNoMoreThanOneOfFew(t *testing.T) {
	key, err := perdure.GenerateSigner("owner")
	if err != nil {
		t.Fatal(err)
	}
	s := &countedStore{MemStore: new(perdure.MemStore)}
	n := &perdure.Node{Store: s, Key: key}
	for i := range 300 {
		a, err := n.Create(t.Context(), perdure.Genesis{
			Intent:  perdure.Intent{Goal: "wait", Name: fmt.Sprintf("a%d", i/2*2%299)},
			Charter: perdure.Charter{Owner: key.Key(), Scope: "acme"},
		})
		if err == nil {
			_, err = n.Pause(t.Context(), a.ID(), "later")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	trust := perdure.NewTrust(perdure.Trustee{Key: key.Key(), Rights: perdure.MayOwn, Scope: perdure.AnyScope})
	s.lists = 0
	s.reads.Store(0)
	waits, faults, err := view.Inbox(t.Context(), s, trust, perdure.Place{}, key.Key(), time.Now())
	if err != nil || faults != nil || len(waits) != 300 {
		t.Fatalf("%d wait, want 300: %v, %v", len(waits), faults, err)
	}
	for _, w := range waits {
		if !strings.Contains(w.Answer, w.Agent.Short()) {
			t.Fatalf("of two agents called %s, one is answered by %q", w.Name, w.Answer)
		}
	}
	if s.lists > 10 {
		t.Errorf("it listed agents %d times to show 300", s.lists)
	}
	if n := s.reads.Load(); n > 300 {
		t.Errorf("it read memories %d times to show 300", n)
	}
}
