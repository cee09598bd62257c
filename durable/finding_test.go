package durable

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure"
)

// After a crash functions begin again when one of their steps is to be done. One that does not come to its step does
// not keep those of other agents from theirs.
func TestAFunctionThatStandsHoldsNoOtherUp(t *testing.T) {
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{Store: new(perdure.MemStore), Key: key, Policy: AllowAll}
	var stands atomic.Bool
	gate, entered := make(chan struct{}), make(chan struct{})
	Handle(n, "job", func(r *Run, slow bool) (int, error) {
		if slow && stands.Load() {
			close(entered)
			<-gate
		}
		return Step(r, "add", func(context.Context) (int, error) { return 1, nil })
	})
	f := n.Advisors["job"].(*flow)
	args, folds := map[bool]perdure.Data{}, map[bool]*perdure.Fold{}
	for _, slow := range []bool{true, false} {
		id, err := Start(t.Context(), n, "job", slow)
		if err != nil {
			t.Fatal(err)
		}
		a, err := perdure.Load(t.Context(), n.Store, id)
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.advance(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		args[slow], folds[slow] = r.waiting[0].action.(perdure.Execute).Args, a.Fold()
	}
	f.Release() // as the end of the process does
	stands.Store(true)
	found := make(chan error, 2)
	go func() {
		_, err := f.step(t.Context(), folds[true], args[true])
		found <- err
	}()
	<-entered
	quick := make(chan error, 1)
	go func() {
		_, err := f.step(t.Context(), folds[false], args[false])
		quick <- err
	}()
	select {
	case err := <-quick:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the step of another agent waits for a function that stands")
	}
	close(gate)
	if err := <-found; err != nil {
		t.Error(err)
	}
	f.Release()
}

// Steps done side by side whose function is not under way, as where too many others were, begin it again once.
func TestStepsSideBySideBeginTheirFunctionOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key, err := perdure.GenerateSigner("node")
		if err != nil {
			t.Fatal(err)
		}
		n := &perdure.Node{Store: new(perdure.MemStore), Key: key, Policy: AllowAll}
		begun := 0
		Handle(n, "job", func(r *Run, _ any) (int, error) {
			begun++
			time.Sleep(time.Minute) // so that the other steps have come meanwhile
			Go(r, "a", func(context.Context) (int, error) { return 1, nil })
			Go(r, "b", func(context.Context) (int, error) { return 2, nil })
			return 3, nil
		})
		f := n.Advisors["job"].(*flow)
		id, err := Start(t.Context(), n, "job", nil)
		if err != nil {
			t.Fatal(err)
		}
		a, err := perdure.Load(t.Context(), n.Store, id)
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.advance(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		f.Release()
		found := make(chan error)
		for _, o := range r.waiting {
			go func() {
				_, err := f.step(t.Context(), a.Fold(), o.action.(perdure.Execute).Args)
				found <- err
			}()
		}
		for range r.waiting {
			if err := <-found; err != nil {
				t.Error(err)
			}
		}
		if len(r.waiting) != 2 || begun != 2 {
			t.Errorf("for %d steps the function was begun %d times, want once for the advice and once more",
				len(r.waiting), begun)
		}
		f.Release()
	})
}
