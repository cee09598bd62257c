package durable

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/perdure/perdure"
)

const (
	// firstWait and longestWait are between the attempts of a step whose Try does not say.
	firstWait, longestWait = time.Second, 10 * time.Minute
	// overtime is how much longer than its Timeout a step of class idempotent may take before the runtime gives it up:
	// by then it has ended by itself, and its Try says whether it is tried again.
	overtime = time.Minute
	// maxTogether is how many steps are proposed at once; more go in several rounds.
	maxTogether = 256
)

// Pending is a step that Go or GoOnce has begun.
type Pending[T any] struct {
	r *Run
	t task
}

// Go begins a step to be done beside others. The steps begun are done side by side, as many at once as Node.Parallel
// says, as soon as the function waits for anything; it goes on when all of them have ended. So it sees the same
// whatever order they ended in.
func Go[T any](r *Run, name string, fn func(ctx context.Context) (T, error), try ...Try) *Pending[T] {
	return begin(r, stepName, name, fn, try)
}

// GoOnce is Go for what must not be repeated, as Once is.
func GoOnce[T any](r *Run, name string, fn func(ctx context.Context) (T, error), try ...Try) *Pending[T] {
	return begin(r, onceName, name, fn, try)
}

// Wait waits for the steps begun so far, and returns what this one returned.
func (p *Pending[T]) Wait() (T, error) {
	p.r.settle()
	var v T
	rec := &p.t.rec
	if rec.signal != perdure.OK {
		return v, &Error{Step: p.t.key, Signal: rec.signal, Note: rec.note}
	}
	if err := decode(rec.data, &v); err != nil {
		return v, fmt.Errorf("step %s: its record does not fit %T, has the code changed? %w", p.t.key, v, err)
	}
	return v, nil
}

// task is a step the function has begun.
type task struct {
	key     string
	tool    string
	try     Try
	attempt int    // under way, from 1
	rec     record // of the last attempt
	do      func(ctx context.Context) (perdure.Data, error)
}

// begin begins a step.
func begin[T any](r *Run, tool, name string, fn func(ctx context.Context) (T, error), try []Try) *Pending[T] {
	p := &Pending[T]{r: r, t: task{key: r.key(name), tool: tool, attempt: 1}}
	t := &p.t
	if len(try) > 0 {
		t.try = try[len(try)-1]
	}
	t.do = func(ctx context.Context) (perdure.Data, error) {
		v, err := fn(&stepContext{ctx, r.Agent, t.key})
		if err != nil {
			return nil, err
		}
		return encode(v)
	}
	r.begun = append(r.begun, t)
	return p
}

// settle waits until the steps begun have ended for good.
func (r *Run) settle() {
	tasks := r.begun
	r.begun = nil
	for len(tasks) > 0 {
		n := min(len(tasks), maxTogether)
		again := r.attempt(tasks[:n])
		if len(again) > 0 {
			r.pause(again)
		}
		tasks = append(again, tasks[n:]...)
	}
}

// attempt makes one attempt at each step, and returns those to be tried again.
func (r *Run) attempt(tasks []*task) []*task {
	ops := make([]op, len(tasks))
	for i, t := range tasks {
		ops[i] = t.op()
	}
	var again []*task
	for i, rec := range r.doAll(ops) {
		t := tasks[i]
		if t.rec = rec; t.again() {
			t.attempt++
			again = append(again, t)
		}
	}
	return again
}

// pause lets the agent sleep until all of the steps may be tried again.
func (r *Run) pause(tasks []*task) {
	var longest time.Duration
	for _, t := range tasks {
		longest = max(longest, t.wait())
	}
	if longest < time.Millisecond {
		return
	}
	t := tasks[0]
	note := fmt.Sprintf("attempt %d of %d at %s: %s", t.attempt, t.try.Times, t.key, t.rec.note)
	rest(r, "retry:"+t.key, perdure.After{Millis: longest.Milliseconds()}, note)
}

// op is the attempt under way as something to be done.
func (t *task) op() op {
	key := t.key
	if t.attempt > 1 {
		key += "~" + strconv.Itoa(t.attempt)
	}
	x := perdure.Execute{Tool: t.tool, Call: key}
	x.Args, _ = stepArgs(key) // a map of text always goes
	if limit := t.try.Timeout; limit > 0 {
		if t.tool == stepName {
			limit += overtime
		}
		x.Deadline = max(limit.Milliseconds(), 1)
	}
	return op{key: key, action: x, step: t}
}

// call makes the attempt. An error says whether it is worth another one, as the error itself will not be there when its
// record is read.
func (t *task) call(ctx context.Context) (perdure.Result, error) {
	given := ctx
	limit := t.try.Timeout
	if limit > 0 && t.tool == stepName { // else the runtime ends it: then nobody knows whether it happened
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %v: %w", limit,
			context.DeadlineExceeded))
		defer cancel()
	}
	data, err := t.do(ctx)
	switch {
	case err == nil:
		return perdure.Result{Data: data}, nil
	case given.Err() != nil || errors.Is(err, perdure.ErrIncapable) || errors.Is(err, perdure.ErrInDoubt):
		return perdure.Result{}, err // it was cut off, this node cannot, or nobody knows: the runtime deals with it
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	if t.attempt >= t.try.Times || t.try.If != nil && !t.try.If(err) {
		return perdure.Result{}, err
	}
	return perdure.Result{Signal: perdure.Failed, Note: err.Error(), Data: worthAnother}, nil
}

// worthAnother is the data of an attempt that failed and is to be followed by another.
var worthAnother = func() perdure.Data {
	d, err := perdure.DataOf(map[string]any{"again": true})
	if err != nil {
		panic(err)
	}
	return d
}()

// again reports whether the last attempt is to be followed by another.
func (t *task) again() bool {
	return t.rec.signal == perdure.Failed && string(t.rec.data) == string(worthAnother)
}

// wait is how long to wait before the attempt to come.
func (t *task) wait() time.Duration {
	wait, longest := t.try.Wait, t.try.MaxWait
	if wait == 0 {
		wait = firstWait
	}
	if longest == 0 {
		longest = longestWait
	}
	for range t.attempt - 2 {
		if wait *= 2; wait >= longest {
			break
		}
	}
	return min(max(wait, 0), longest)
}

type keyOf struct{}

// stepContext is the context of a step, with what its key is made of.
type stepContext struct {
	context.Context
	agent perdure.AgentID
	step  string
}

// Value is the step itself for who asks for its key.
func (c *stepContext) Value(key any) any {
	if _, ok := key.(keyOf); ok {
		return c
	}
	return c.Context.Value(key)
}

// Key is the idempotency key of the step that ctx belongs to: the same for every attempt at it, in every process, and
// no other step has it. Pass it on to what the step calls.
func Key(ctx context.Context) string {
	k, ok := ctx.Value(keyOf{}).(*stepContext)
	if !ok {
		return ""
	}
	return perdure.HashOf(append(k.agent[:len(k.agent):len(k.agent)], k.step...)).String()
}
