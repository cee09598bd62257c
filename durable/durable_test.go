package durable_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/durable"
)

// nodeKey is the key of every node here: a process that is started again has the key it had.
var nodeKey = sync.OnceValues(func() (*perdure.Signer, error) { return perdure.GenerateSigner("node") })

func newNode(t testing.TB, s perdure.Store) *perdure.Node {
	t.Helper()
	key, err := nodeKey()
	if err != nil {
		t.Fatal(err)
	}
	return &perdure.Node{Store: s, Key: key, Policy: perdure.PolicyFunc(
		func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
			return perdure.Verdict{Answer: perdure.Allow}
		})}
}

func start(t *testing.T, n *perdure.Node, name string, in any) perdure.AgentID {
	t.Helper()
	id, err := durable.Start(t.Context(), n, name, in)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func result[Out any](t *testing.T, s perdure.Store, id perdure.AgentID) (Out, error) {
	t.Helper()
	a, err := perdure.Load(t.Context(), s, id)
	if err != nil {
		t.Fatal(err)
	}
	return durable.Result[Out](a)
}

// during runs the node for a while.
func during(t *testing.T, n *perdure.Node, d time.Duration) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- n.Run(ctx) }()
	time.Sleep(d)
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestStepsAreNotDoneAgainAfterARestart(t *testing.T) {
	store := new(perdure.MemStore)
	calls := map[string]int{}
	crash := true
	handle := func(n *perdure.Node, die context.CancelFunc) {
		durable.Handle(n, "sum", func(r *durable.Run, in []int) (int, error) {
			sum := 0
			for i, v := range in {
				got, err := durable.Step(r, "add", func(context.Context) (int, error) {
					calls[fmt.Sprint("add", i)]++
					return v * 2, nil
				})
				if err != nil {
					return 0, err
				}
				sum += got
				if i == 1 && crash {
					crash = false
					die()
				}
			}
			return durable.Once(r, "total", func(context.Context) (int, error) { calls["total"]++; return sum, nil })
		})
	}
	ctx, die := context.WithCancel(t.Context())
	n := newNode(t, store)
	handle(n, die)
	id := start(t, n, "sum", []int{1, 2, 3})
	if _, err := n.RunAgent(ctx, id); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the first process to die", err)
	}
	n = newNode(t, store)
	handle(n, func() {})
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if got, err := result[int](t, store, id); err != nil || got != 12 {
		t.Errorf("got %d, %v, want 12", got, err)
	}
	for step, n := range calls {
		if n != 1 {
			t.Errorf("step %s was done %d times", step, n)
		}
	}
}

func TestCodeMayChangeWhileAgentsAreUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		n := newNode(t, store)
		durable.Handle(n, "job", func(r *durable.Run, _ any) (string, error) {
			if _, err := durable.Step(r, "old", func(context.Context) (string, error) { return "a", nil }); err != nil {
				return "", err
			}
			return "first version", durable.Sleep(r, time.Hour)
		})
		id := start(t, n, "job", nil)
		during(t, n, time.Minute)

		n = newNode(t, store)
		durable.Handle(n, "job", func(r *durable.Run, _ any) (string, error) {
			fresh, err := durable.Step(r, "new", func(context.Context) (string, error) { return "b", nil })
			if err != nil {
				return "", err
			}
			if err := durable.Sleep(r, time.Hour); err != nil {
				return "", err
			}
			old, err := durable.Step(r, "old", func(context.Context) (string, error) { return "done again", nil })
			return fresh + old, err
		})
		during(t, n, 2*time.Hour)
		if got, err := result[string](t, store, id); err != nil || got != "ba" {
			t.Errorf("got %q, %v, want ba", got, err)
		}
	})
}

func TestARecordThatDoesNotFitIsAClearError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		n := newNode(t, store)
		durable.Handle(n, "job", func(r *durable.Run, _ any) (int, error) {
			if _, err := durable.Step(r, "x", func(context.Context) (string, error) {
				return "text", nil
			}); err != nil {
				return 0, err
			}
			return 1, durable.Sleep(r, time.Hour)
		})
		id := start(t, n, "job", nil)
		during(t, n, time.Minute)
		n = newNode(t, store)
		durable.Handle(n, "job", func(r *durable.Run, _ any) (int, error) {
			return durable.Step(r, "x", func(context.Context) (int, error) { return 1, nil })
		})
		during(t, n, 2*time.Hour)
		if _, err := result[int](t, store, id); err == nil ||
			!strings.Contains(err.Error(), "does not fit int, has the code changed?") {
			t.Errorf("got error %v, want one that says the record does not fit", err)
		}
	})
}

func TestAnEventBeforeTheWaitCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		n := newNode(t, store)
		durable.Handle(n, "job", func(r *durable.Run, _ any) (string, error) {
			if err := durable.Sleep(r, time.Hour); err != nil {
				return "", err
			}
			if _, err := durable.Step(r, "between", func(context.Context) (int, error) { return 1, nil }); err != nil {
				return "", err
			}
			first, err := durable.WaitFor[string](r, "go", 0)
			if err != nil {
				return "", err
			}
			if _, err := durable.WaitFor[string](r, "go", time.Minute); !errors.Is(err, durable.ErrTimeout) {
				return "", fmt.Errorf("second wait: %v", err)
			}
			return first, nil
		})
		id := start(t, n, "job", nil)
		during(t, n, time.Minute)
		data, err := perdure.DataOf("early")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "go", Data: data}); err != nil {
			t.Fatal(err)
		}
		during(t, n, 3*time.Hour)
		if got, err := result[string](t, store, id); err != nil || got != "early" {
			t.Errorf("got %q, %v, want early", got, err)
		}
	})
}

func TestChildrenReturnToTheirParent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		n := newNode(t, store)
		durable.Handle(n, "square", func(r *durable.Run, v int) (int, error) {
			if v < 0 {
				return 0, errors.New("negative")
			}
			return durable.Step(r, "multiply", func(context.Context) (int, error) { return v * v, nil })
		})
		durable.Handle(n, "squares", func(r *durable.Run, in []int) (int, error) {
			var children []*durable.Child
			for _, v := range in {
				c, err := durable.Spawn(r, "square", v)
				if err != nil {
					return 0, err
				}
				children = append(children, c)
			}
			sum := 0
			for _, c := range children {
				v, err := durable.Wait[int](r, c)
				var failed *durable.Error
				if errors.As(err, &failed) {
					continue
				}
				sum += v
			}
			return sum, nil
		})
		id := start(t, n, "squares", []int{2, -1, 3})
		during(t, n, time.Hour)
		if got, err := result[int](t, store, id); err != nil || got != 13 {
			t.Errorf("got %d, %v, want 13", got, err)
		}
	})
}

func TestAPersonIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(perdure.MemStore)
		n := newNode(t, store)
		durable.Handle(n, "job", func(r *durable.Run, _ any) (string, error) { return durable.Ask(r, "which colour?") })
		id := start(t, n, "job", nil)
		during(t, n, time.Hour)
		a, err := perdure.Load(t.Context(), store, id)
		if err != nil {
			t.Fatal(err)
		}
		if s := a.Fold().Sleep; s == nil || s.Sleep.Note != "which colour?" {
			t.Fatalf("got sleep %+v, want the question in it", s)
		}
		data, err := perdure.DataOf(map[string]any{"to": "ask#0", "say": "blue"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "answer", Data: data}); err != nil {
			t.Fatal(err)
		}
		during(t, n, time.Hour)
		if got, err := result[string](t, store, id); err != nil || got != "blue" {
			t.Errorf("got %q, %v, want blue", got, err)
		}
	})
}

func TestAStepKeepsItsKeyOverAttempts(t *testing.T) {
	store := new(perdure.MemStore)
	keys := map[string]int{}
	var lives atomic.Int64
	handle := func(n *perdure.Node, die context.CancelFunc) {
		durable.Handle(n, "job", func(r *durable.Run, _ any) (int, error) {
			return durable.Step(r, "call", func(ctx context.Context) (int, error) {
				keys[durable.Key(ctx)]++
				if lives.Add(1) < 3 {
					die() // after the effect, before its record
					return 0, ctx.Err()
				}
				return 7, nil
			})
		})
	}
	var id perdure.AgentID
	for life := range 3 {
		ctx, die := context.WithCancel(t.Context())
		n := newNode(t, store)
		handle(n, die)
		if life == 0 {
			id = start(t, n, "job", nil)
		}
		if _, err := n.RunAgent(ctx, id); err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		die()
	}
	if got, err := result[int](t, store, id); err != nil || got != 7 {
		t.Fatalf("got %d, %v, want 7", got, err)
	}
	if len(keys) != 1 || keys[""] != 0 {
		t.Errorf("got keys %v, want one for every attempt", keys)
	}
}
