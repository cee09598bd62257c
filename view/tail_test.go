package view_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

func TestTwoOfOneNameAreToldApart(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	key, err := perdure.GenerateSigner("me")
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{Store: new(perdure.MemStore), Key: key}
	var ids []perdure.AgentID
	for range 2 {
		a, err := n.Create(ctx, perdure.Genesis{Intent: perdure.Intent{Goal: "x", Name: "twin"},
			Charter: perdure.Charter{Scope: "home"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Cancel(ctx, a.ID(), ""); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, a.ID())
	}
	var labels []string
	tail := &view.Tail{Store: n.Store, Ended: func(*perdure.Agent) (bool, error) { return true, nil },
		Choice: view.Choice{Kinds: []perdure.Kind{perdure.KindGenesis}}}
	tail.Show = func(w *view.Follower, one view.Line) error {
		if one.Kind != perdure.KindGenesis || w.AgentLine(one).Name != "twin" {
			t.Errorf("shown: %+v", one)
		}
		labels = append(labels, w.Label)
		return nil
	}
	begun := 0
	err = tail.Agents(ctx, append(ids, ids[0]), 5, func(all []*view.Follower) { begun = len(all) })
	if err != nil || begun != 2 { // both have ended, so it does
		t.Fatalf("%d followed, %v", begun, err)
	}
	if want := []string{"twin", "twin~" + ids[1].Short()}; !slices.Equal(labels, want) {
		t.Errorf("called %q, want %q", labels, want)
	}
	labels = nil
	tail.Show = func(w *view.Follower, one view.Line) error {
		labels = append(labels, w.Label)
		stop()
		return nil
	}
	done := make(chan error, 1)
	go func() { done <- tail.Everyone(ctx) }()
	for ctx.Err() == nil { // whether it watches yet cannot be seen: what is made before that it does not show
		a, err := n.Create(ctx, perdure.Genesis{Intent: perdure.Intent{Goal: "x", Name: "late"},
			Charter: perdure.Charter{Scope: "home"}})
		if err != nil {
			break
		}
		_, _ = n.Cancel(ctx, a.ID(), "")
	}
	if err := <-done; !errors.Is(err, context.Canceled) || len(labels) == 0 || labels[0] == "twin" {
		t.Errorf("everyone: %q, %v", labels, err)
	}
}

// sick is a store in which one agent cannot be read.
type sick struct {
	*perdure.MemStore
	id atomic.Pointer[perdure.AgentID]
}

var errSick = errors.New("this page is lost")

func (s *sick) Heads(ctx context.Context, id perdure.AgentID) ([]perdure.Hash, error) {
	if bad := s.id.Load(); bad != nil && *bad == id {
		return nil, errSick
	}
	return s.MemStore.Heads(ctx, id)
}

// One agent that cannot be read hides no other.
func TestEveryoneElseIsFollowed(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	key, err := perdure.GenerateSigner("me")
	if err != nil {
		t.Fatal(err)
	}
	s := &sick{MemStore: new(perdure.MemStore)}
	n := &perdure.Node{Store: s, Key: key}
	create := func(name string) perdure.AgentID {
		a, err := n.Create(ctx, perdure.Genesis{Intent: perdure.Intent{Goal: "x", Name: name},
			Charter: perdure.Charter{Scope: "home"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Index(ctx, a.Heads(), a.Listing(time.Now())); err != nil {
			t.Fatal(err)
		}
		return a.ID()
	}
	bad, good := create("bad"), create("good")
	s.id.Store(&bad)
	var skipped []perdure.AgentID
	shown := 0
	tail := &view.Tail{Store: s, Show: func(w *view.Follower, _ view.Line) error {
		if w.ID != good {
			t.Errorf("shown: %s", w.Label)
		}
		if shown++; shown == 3 {
			stop()
		}
		return nil
	}, Skip: func(id perdure.AgentID, err error) {
		if !errors.Is(err, errSick) {
			t.Errorf("skipped for %v", err)
		}
		skipped = append(skipped, id)
	}}
	done := make(chan error, 1)
	go func() { done <- tail.Everyone(ctx) }()
	for ctx.Err() == nil {
		_, _ = n.Tell(ctx, good, perdure.Event{Name: "news"}) // it ends when enough was shown
		time.Sleep(10 * time.Millisecond)
	}
	if err := <-done; !errors.Is(err, context.Canceled) || shown < 3 {
		t.Errorf("%d lines, %v", shown, err)
	}
	if !slices.Equal(skipped, []perdure.AgentID{bad}) {
		t.Errorf("skipped %v, want the one that is sick, once", skipped)
	}
}
