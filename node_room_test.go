package perdure_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/perdure/perdure"
)

// sleeper is a node whose advisor lets its agents sleep until a trigger is met.
func sleeper(t *testing.T, store perdure.Store, on perdure.Trigger) (*perdure.Node, perdure.AgentID) {
	t.Helper()
	n := newNode(t, store, scripted(func(*perdure.Agent, int64) []perdure.Action {
		return []perdure.Action{perdure.Sleep{Trigger: on}}
	}))
	id := create(t, n, perdure.Genesis{})
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	return n, id
}

// fill tells an agent things of a name until it is refused, and returns how many it took.
func fill(t *testing.T, n *perdure.Node, id perdure.AgentID, name string) int {
	t.Helper()
	for i := range 1100 {
		_, err := n.Tell(t.Context(), id, perdure.Event{Name: name, ID: fmt.Sprint(name, i)})
		if errors.Is(err, perdure.ErrFull) {
			return i
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("nothing was refused, and %d events wait", len(load(t, n.Store, id).Inbox))
	return 0
}

func TestNothingUnseenIsDrivenOutOfTheInbox(t *testing.T) {
	t.Parallel()
	store := new(perdure.MemStore)
	n, id := sleeper(t, store, perdure.All{Of: []perdure.Trigger{perdure.On{Event: "paid"},
		perdure.On{Event: "shipped"}}})
	if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "first"}); err != nil {
		t.Fatal(err)
	}
	took := fill(t, n, id, "viewed")
	f := load(t, store, id)
	if f.Inbox[0].Name != "first" || len(f.Inbox) != took+1 {
		t.Fatalf("%d events wait, the oldest is %s; want %d with the first", len(f.Inbox), f.Inbox[0].Name, took+1)
	}
	// a repetition is no news; and a new node refuses as the one did that holds the agent in its cache
	if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "viewed", ID: "viewed0"}); err != nil {
		t.Errorf("a repetition: %v", err)
	}
	again := &perdure.Node{Store: store, Key: n.Key, Advisors: n.Advisors, Policy: n.Policy}
	if _, err := again.Tell(t.Context(), id, perdure.Event{Name: "viewed"}); !errors.Is(err, perdure.ErrFull) {
		t.Errorf("by another node: %v, want ErrFull", err)
	}
	// what it waits for has room of its own, and what wakes it is never refused
	fill(t, n, id, "paid")
	if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "shipped"}); err != nil {
		t.Errorf("what wakes it: %v", err)
	}
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if f := load(t, store, id); len(f.Inbox) > 1 {
		t.Errorf("%d events wait after it woke", len(f.Inbox))
	}
	if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "viewed"}); err != nil {
		t.Errorf("once it has run: %v", err)
	}
}

func TestTheInboxIsFullByBytesToo(t *testing.T) {
	t.Parallel()
	n, id := sleeper(t, new(perdure.MemStore), perdure.On{Event: "go"})
	big, err := perdure.DataOf(bytes.Repeat([]byte("x"), 3<<20))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		_, err := n.Tell(t.Context(), id, perdure.Event{Name: "big", Data: big})
		if i < 2 && err != nil || i == 2 && !errors.Is(err, perdure.ErrFull) {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "go", Data: big}); err != nil {
		t.Errorf("what wakes it: %v", err)
	}
}

// One event that alone would leave no room for others is refused, unless it wakes the agent.
func TestOneEventDoesNotFillTheInbox(t *testing.T) {
	t.Parallel()
	n, id := sleeper(t, new(perdure.MemStore), perdure.On{Event: "go"})
	large, err := perdure.DataOf(bytes.Repeat([]byte("x"), 7<<20+1))
	if err != nil {
		t.Fatal(err)
	}
	_, err = n.Tell(t.Context(), id, perdure.Event{Name: "large", Data: large})
	if !errors.Is(err, perdure.ErrInvalid) || errors.Is(err, perdure.ErrFull) {
		t.Errorf("got %v, want ErrInvalid: it never fits", err)
	}
	if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "small"}); err != nil {
		t.Errorf("a small one: %v", err)
	}
	n, id = sleeper(t, new(perdure.MemStore), perdure.On{Event: "go"})
	if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "go", Data: large}); err != nil {
		t.Errorf("what wakes it: %v", err)
	}
}
