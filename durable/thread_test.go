package durable_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/durable"
)

// A program's main goroutine may be locked to its thread (a window system asks for it), and so is whoever C calls.
func TestALockedThreadMayRunAFunction(t *testing.T) {
	store := new(perdure.MemStore)
	n := newNode(t, store)
	durable.Handle(n, "job", func(r *durable.Run, _ any) (string, error) {
		for range 3 {
			_, err := durable.Step(r, "x", func(context.Context) (int, error) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				return 1, nil
			})
			if err != nil {
				return "", err
			}
		}
		return "done", nil
	})
	one, two := start(t, n, "job", nil), start(t, n, "job", nil)
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the thread ends with its goroutine
		_, err := n.RunAgent(t.Context(), one)
		for a := perdure.Step(nil); err == nil; {
			if a, err = n.Cycle(t.Context(), two); err == nil {
				if _, idle := a.(perdure.Idle); idle {
					break
				}
			}
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for _, id := range []perdure.AgentID{one, two} {
		if got, err := result[string](t, store, id); err != nil || got != "done" {
			t.Errorf("got %q, %v, want done", got, err)
		}
	}
}
