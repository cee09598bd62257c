package perdure

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/trace"
)

// TestCallsEndAsContextsDo holds the context of a call against what package context makes of the same, for who looks
// before it is over and for who looks only then.
func TestCallsEndAsContextsDo(t *testing.T) {
	reason := errors.New("a person said so")
	type end struct {
		name       string
		deadline   time.Duration
		do         func(stop, cut context.CancelCauseFunc)
		err, cause error
	}
	ends := []end{
		{name: "under way", deadline: time.Minute, do: func(_, _ context.CancelCauseFunc) {}},
		{name: "cut off", deadline: time.Minute, do: func(_, cut context.CancelCauseFunc) {
			cut(reason)
			cut(nil)
		}, err: context.Canceled, cause: reason},
		{name: "over", do: func(_, cut context.CancelCauseFunc) {
			cut(nil)
		}, err: context.Canceled, cause: context.Canceled},
		{name: "given up", deadline: time.Minute, do: func(stop, _ context.CancelCauseFunc) {
			stop(errStopping)
		}, err: context.Canceled, cause: errStopping},
		{name: "cut off, then given up", do: func(stop, cut context.CancelCauseFunc) {
			cut(reason)
			stop(errStopping)
		}, err: context.Canceled, cause: reason},
		{name: "late", deadline: time.Second, do: func(_, _ context.CancelCauseFunc) {
			time.Sleep(2 * time.Second)
		}, err: context.DeadlineExceeded, cause: errLate},
	}
	for _, e := range ends {
		for _, early := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				node, stop := context.WithCancelCause(t.Context())
				defer stop(nil)
				c := newCall(node)
				if e.deadline > 0 {
					c.deadline = time.Now().Add(e.deadline)
				}
				defer c.cancel(nil)
				var sub context.Context
				if early {
					var cancel context.CancelFunc
					sub, cancel = context.WithTimeout(c, time.Hour)
					defer cancel()
				}
				e.do(stop, c.cancel)
				if !early {
					if c.made != nil {
						t.Errorf("%s: a context was made that nobody looked at", e.name)
					}
					var cancel context.CancelFunc
					sub, cancel = context.WithTimeout(c, time.Hour)
					defer cancel()
				}
				synctest.Wait()
				for name, ctx := range map[string]context.Context{"it": c, "a part of it": sub} {
					if err := ctx.Err(); !errors.Is(err, e.err) || (err == nil) != (e.err == nil) {
						t.Errorf("%s, early %v: %s says %v, want %v", e.name, early, name, err, e.err)
					}
					if cause := context.Cause(ctx); cause != e.cause {
						t.Errorf("%s, early %v: the cause of %s is %v, want %v", e.name, early, name, cause, e.cause)
					}
				}
				select {
				case <-sub.Done():
					if e.err == nil {
						t.Errorf("%s, early %v: a part of it is over", e.name, early)
					}
				default:
					if e.err != nil {
						t.Errorf("%s, early %v: a part of it goes on", e.name, early)
					}
				}
			})
		}
	}
}

func TestCallsHaveTheEarlierDeadline(t *testing.T) {
	soon, later := time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	for _, c := range []struct{ node, call, want time.Time }{
		{want: time.Time{}}, {call: soon, want: soon}, {node: soon, want: soon}, {node: soon, call: later, want: soon},
		{node: later, call: soon, want: soon},
	} {
		node := t.Context()
		if !c.node.IsZero() {
			var cancel context.CancelFunc
			node, cancel = context.WithDeadline(node, c.node)
			defer cancel()
		}
		call := newCall(node)
		call.deadline = c.call
		if got, ok := call.Deadline(); !got.Equal(c.want) || ok == c.want.IsZero() {
			t.Errorf("deadline of a call until %v on a node until %v: got %v, %v, want %v", c.call, c.node, got, ok,
				c.want)
		}
	}
}

func TestCallsArePartOfTheirTrace(t *testing.T) {
	outer, err := trace.With(t.Context(), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	if err != nil {
		t.Fatal(err)
	}
	c := newCall(outer)
	if got, want := trace.Parent(c), trace.Parent(outer); got != want {
		t.Errorf("a call without a trace of its own is in %s, want that of its node, %s", got, want)
	}
	c = newCall(outer)
	c.trace(trace.ID{1}, Hash{2})
	sub, cancel := context.WithCancel(c)
	defer cancel()
	if got, want := trace.Parent(sub), "00-01000000000000000000000000000000-0200000000000000-01"; got != want {
		t.Errorf("a call in a trace is in %s, want %s", got, want)
	}
}
