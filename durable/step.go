package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure"
)

// Error is how a step ended when it did not end well. It is recorded: the function sees the same error whenever it runs
// again.
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

// Try says how often and how long a step is tried. The zero Try is one attempt of at most five minutes.
type Try struct {
	Times   int              // attempts in all; zero: one
	Wait    time.Duration    // before the second attempt, doubled for each further one; zero: a second, negative: none
	MaxWait time.Duration    // the longest of these; zero: ten minutes
	If      func(error) bool // which errors are worth another attempt; nil: all
	Timeout time.Duration    // of an attempt; zero: five minutes
}

// Step does fn once and records what it returns. If the process dies between the doing and the record, fn is called
// again with the same Key: it must be repeatable under it. Its error is recorded too.
//
// With a Try an attempt that fails or takes too long is followed by another, with the same Key, also in another
// process: the agent sleeps in between, and attempts made are recorded. Of several Trys the last counts.
func Step[T any](r *Run, name string, fn func(ctx context.Context) (T, error), try ...Try) (T, error) {
	return begin(r, stepName, name, fn, try).Wait()
}

// Once is Step for what must not be repeated: the decision to do it is durable before it begins, and if the process
// dies in the middle, or it takes longer than its Timeout, the agent is in doubt until somebody settles it. Only an
// error fn returned in time can lead to another attempt. It costs one more durable write when it is the only thing
// going on.
func Once[T any](r *Run, name string, fn func(ctx context.Context) (T, error), try ...Try) (T, error) {
	return begin(r, onceName, name, fn, try).Wait()
}

// rest sleeps until a trigger is met.
func rest(r *Run, name string, t perdure.Trigger, note string) record {
	key := r.key(name)
	rec := r.do(op{key: key, action: perdure.Sleep{Trigger: t, Note: note, Call: key}})
	if rec.signal != perdure.OK {
		rec.denied = &Error{Step: key, Signal: rec.signal, Note: rec.note}
	}
	return rec
}

// Sleep lets the agent sleep. Nothing of it stays in any process meanwhile.
func Sleep(r *Run, d time.Duration) error {
	return rest(r, "sleep", perdure.After{Millis: d.Milliseconds()}, "").denied
}

// WaitFor waits for an event of this name, which may have come before, and returns its data. Within bounds the wait;
// zero waits for ever.
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

// Ask asks a person and waits for the answer: an event called answer whose data has the question's key as `to`, and the
// answer as `say`.
func Ask(r *Run, question string) (string, error) {
	r.settle()
	key := fmt.Sprintf("ask#%d", r.seen["ask"])
	filter := fmt.Sprintf("has(event.data.to) && event.data.to == %q", key)
	rec := rest(r, "ask", perdure.On{Event: "answer", Filter: filter}, question)
	if rec.denied != nil {
		return "", rec.denied
	}
	var a struct{ Say string }
	return a.Say, decode(rec.data, &a)
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
	// how many generations it may have itself; zero: as many as the parent may still have, negative: none
	Depth int
}

// Spawn delegates to a child that runs the function handled under name. It goes on by itself, wherever there is a node
// for it, whatever becomes of this process.
func Spawn(r *Run, name string, in any) (*Child, error) { return SpawnWithin(r, Bounds{}, name, in) }

// SpawnWithin is Spawn for a child with narrower bounds.
func SpawnWithin(r *Run, b Bounds, name string, in any) (*Child, error) {
	inputs, err := encode(in)
	if err != nil {
		return nil, fmt.Errorf("input of %s: %w", name, err)
	}
	key := r.key("spawn:" + name)
	intent := perdure.Intent{Name: name, Goal: "run " + name, Advisor: name, Inputs: inputs, Budget: b.Budget}
	act := perdure.Delegate{Intent: intent, Scope: b.Scope, Depth: maxDepth, Call: key}
	if b.Depth != 0 {
		act.Depth = int64(max(b.Depth, 0))
	}
	if !b.Deadline.IsZero() {
		act.Intent.Deadline = perdure.TimeOf(b.Deadline)
	}
	rec := r.do(op{key: key, action: act})
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
