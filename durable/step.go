package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure"
)

// Error is how a step ended when it did not end well. It is recorded: the function sees the same error whenever it runs again.
type Error struct {
	Step   string
	Signal perdure.Signal
	Note   string
}

func (e *Error) Error() string {
	if e.Note == "" {
		return fmt.Sprintf("step %s: %s", e.Step, e.Signal)
	}
	return fmt.Sprintf("step %s: %s: %s", e.Step, e.Signal, e.Note)
}

// ErrTimeout is what WaitFor returns when nothing came in time.
var ErrTimeout = errors.New("no event came in time")

// Step does fn once and records what it returns. If the process dies between the doing and the record, fn is called again with the same
// Key: it must be repeatable under it. Its error is recorded too; a loop with another occurrence of the step is a retry.
func Step[T any](r *Run, name string, fn func(ctx context.Context) (T, error)) (T, error) {
	return step(r, stepName, name, fn)
}

// Once is Step for what must not be repeated: the decision to do it is durable before it begins, and if the process dies in the middle
// the agent is in doubt until somebody settles it. It costs one more durable write when it is the only thing going on.
func Once[T any](r *Run, name string, fn func(ctx context.Context) (T, error)) (T, error) {
	return step(r, onceName, name, fn)
}

func step[T any](r *Run, tool, name string, fn func(ctx context.Context) (T, error)) (T, error) {
	var v T
	key := r.key(name)
	args, err := perdure.DataOf(map[string]any{"step": key})
	if err != nil {
		return v, err
	}
	rec := r.do(key, perdure.Execute{Tool: tool, Args: args, Call: key}, func(ctx context.Context) (perdure.Data, error) {
		v, err := fn(ctx)
		if err != nil {
			return nil, err
		}
		return encode(v)
	})
	if rec.signal != perdure.OK {
		return v, &Error{Step: key, Signal: rec.signal, Note: rec.note}
	}
	if err := decode(rec.data, &v); err != nil {
		return v, fmt.Errorf("step %s: its record does not fit %T, has the code changed? %w", key, v, err)
	}
	return v, nil
}

// Sleep lets the agent sleep. Nothing of it stays in any process meanwhile.
func Sleep(r *Run, d time.Duration) error {
	return rest(r, "sleep", perdure.After{Millis: d.Milliseconds()}, "").denied
}

// WaitFor waits for an event of this name, which may have come before, and returns its data. Within bounds the wait; zero waits for ever.
func WaitFor[T any](r *Run, event string, within time.Duration) (T, error) {
	var v T
	var t perdure.Trigger = perdure.On{Event: event}
	if within > 0 {
		t = perdure.Any{Of: []perdure.Trigger{t, perdure.After{Millis: within.Milliseconds()}}}
	}
	rec := rest(r, "wait:"+event, t, "")
	if rec.denied != nil {
		return v, rec.denied
	}
	if !rec.event {
		return v, fmt.Errorf("wait for %s: %w", event, ErrTimeout)
	}
	return v, decode(rec.data, &v)
}

// Ask asks a person and waits for the answer: an event called answer whose data has the question's key as `to`, and the answer as `say`.
func Ask(r *Run, question string) (string, error) {
	key := fmt.Sprintf("ask#%d", r.seen["ask"])
	filter := fmt.Sprintf("has(event.data.to) && event.data.to == %q", key)
	rec := rest(r, "ask", perdure.On{Event: "answer", Filter: filter}, question)
	if rec.denied != nil {
		return "", rec.denied
	}
	var a struct{ Say string }
	return a.Say, decode(rec.data, &a)
}

// rest sleeps until a trigger is met.
func rest(r *Run, name string, t perdure.Trigger, note string) record {
	key := r.key(name)
	rec := r.do(key, perdure.Sleep{Trigger: t, Note: note, Call: key}, nil)
	if rec.signal != perdure.OK {
		rec.denied = &Error{Step: key, Signal: rec.signal, Note: rec.note}
	}
	return rec
}

// Child is an agent this one delegated to.
type Child struct {
	Agent perdure.AgentID
	name  string
}

// Bounds are what a child may have of what its parent has. Whatever they say, it gets no more than that.
type Bounds struct {
	Scope    string          // a part of the parent's; none: the same
	Budget   *perdure.Budget // nil: all that is left
	Deadline time.Time       // zero: as the parent
	Depth    int             // how many generations it may have itself; zero: as many as the parent may still have, negative: none
}

// Spawn delegates to a child that runs the function handled under name. It goes on by itself, wherever there is a node for it, whatever
// becomes of this process.
func Spawn(r *Run, name string, in any) (*Child, error) { return SpawnWithin(r, Bounds{}, name, in) }

// SpawnWithin is Spawn for a child with narrower bounds.
func SpawnWithin(r *Run, b Bounds, name string, in any) (*Child, error) {
	inputs, err := encode(in)
	if err != nil {
		return nil, fmt.Errorf("input of %s: %w", name, err)
	}
	key := r.key("spawn:" + name)
	act := perdure.Delegate{Intent: perdure.Intent{Name: name, Goal: "run " + name, Advisor: name, Inputs: inputs, Budget: b.Budget}, Scope: b.Scope, Depth: maxDepth, Call: key}
	if b.Depth != 0 {
		act.Depth = int64(max(b.Depth, 0))
	}
	if !b.Deadline.IsZero() {
		act.Intent.Deadline = perdure.TimeOf(b.Deadline)
	}
	rec := r.do(key, act, nil)
	if rec.signal != perdure.OK {
		return nil, &Error{Step: key, Signal: rec.signal, Note: rec.note}
	}
	return &Child{Agent: rec.child, name: key}, nil
}

// Wait waits for a child to end and returns what it ended with.
func Wait[Out any](r *Run, c *Child) (Out, error) {
	var out Out
	rec := rest(r, "wait:"+c.name, perdure.Done{Child: c.Agent}, "")
	if rec.denied != nil {
		return out, rec.denied
	}
	return ended[Out](r, c)
}

type keyOf struct{}

// Key is the idempotency key of the step that ctx belongs to: the same for every attempt at it. Pass it on to what the step calls.
func Key(ctx context.Context) string {
	k, _ := ctx.Value(keyOf{}).(string)
	return k
}
