package durable_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/durable"
)

// echo handles a function that returns its input after a step.
func echo(n *perdure.Node, done *atomic.Int64) {
	durable.Handle(n, "echo", func(r *durable.Run, in string) (string, error) {
		return durable.Step(r, "say", func(context.Context) (string, error) { done.Add(1); return in, nil })
	})
}

// running runs a node until the test ends.
func running(t *testing.T, n *perdure.Node) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestARunUnderOneIDExistsOnce(t *testing.T) {
	store := new(perdure.MemStore)
	var done atomic.Int64
	var ids sync.Map
	var wg sync.WaitGroup
	for range 8 { // processes
		n := newNode(t, store)
		echo(n, &done)
		wg.Go(func() {
			id, err := durable.StartAs(t.Context(), n, "echo", "order-17", "hello")
			if err != nil {
				t.Error(err)
			}
			ids.Store(id, true)
		})
	}
	wg.Wait()
	var id perdure.AgentID
	count := 0
	ids.Range(func(k, _ any) bool { id, _ = k.(perdure.AgentID); count++; return true })
	if count != 1 {
		t.Fatalf("got %d runs, want one", count)
	}
	n := newNode(t, store)
	echo(n, &done)
	running(t, n)
	if got, err := durable.Await[string](t.Context(), n, id); err != nil || got != "hello" {
		t.Errorf("got %q, %v, want hello", got, err)
	}
	again, err := durable.StartAs(t.Context(), n, "echo", "order-17", "another input")
	if err != nil || again != id {
		t.Errorf("got %v, %v, want the run that has ended, %v", again, err, id)
	}
	if got, err := durable.Await[string](t.Context(), n, again); err != nil || got != "hello" {
		t.Errorf("got %q, %v, want what it ended with", got, err)
	}
	if other := start2(t, n, "order-18"); other == id {
		t.Error("another id is the same run")
	}
	if got := done.Load(); got > 2 {
		t.Errorf("its step was done %d times", got)
	}
	a, err := n.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if age := time.Since(a.Fold().Created.Go()); age < 0 || age > time.Hour {
		t.Errorf("it was created %v ago", age)
	}
	if got := a.Fold().Intent.Name; got != "order-17" {
		t.Errorf("it is called %q", got)
	}
}

func start2(t *testing.T, n *perdure.Node, id string) perdure.AgentID {
	t.Helper()
	got, err := durable.StartAs(t.Context(), n, "echo", id, "x")
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestAnIDIsNeeded(t *testing.T) {
	if _, err := durable.StartAs(t.Context(), newNode(t, new(perdure.MemStore)), "echo", "", nil); err == nil {
		t.Error("an empty id was taken")
	}
}

func TestAwaitSeesTheEndInAnotherProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		var done atomic.Int64
		here, there := newNode(t, store), newNode(t, store)
		echo(here, &done)
		echo(there, &done)
		id := start(t, here, "echo", "hello")
		got := make(chan string, 1)
		go func() {
			s, err := durable.Await[string](t.Context(), here, id)
			if err != nil {
				t.Error(err)
			}
			got <- s
		}()
		synctest.Wait()
		select {
		case s := <-got:
			t.Fatalf("got %q before anybody ran it", s)
		default:
		}
		if _, err := there.RunAgent(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if s := <-got; s != "hello" {
			t.Errorf("got %q", s)
		}
	})
}

func TestAwaitDoesNotReadBackWhatEndedHere(t *testing.T) {
	store := &countingStore{Store: new(perdure.MemStore)}
	n := newNode(t, store)
	var done atomic.Int64
	echo(n, &done)
	id := start(t, n, "echo", "hello")
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	before := store.reads.Load()
	if got, err := durable.Await[string](t.Context(), n, id); err != nil || got != "hello" {
		t.Fatalf("got %q, %v", got, err)
	}
	if got := store.reads.Load() - before; got != 0 {
		t.Errorf("the memory was read %d times, want none", got)
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	n := newNode(t, new(perdure.MemStore))
	var done atomic.Int64
	echo(n, &done)
	id := start(t, n, "echo", "hello")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := durable.Await[string](ctx, n, id); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the time is over", err)
	}
	if _, err := durable.Await[string](t.Context(), n, perdure.AgentID{1}); !errors.Is(err, perdure.ErrNotFound) {
		t.Errorf("got %v, want that there is no such agent", err)
	}
}
