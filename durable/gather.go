package durable

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure"
)

// Enough says when enough children have ended: All, Any, Quorum or FirstFailure.
type Enough struct{ word string }

// The policies of a fan-in. Each is met as well when what it waits for can no longer happen.
var (
	All          = Enough{"all"}           // every child has ended
	Any          = Enough{"any"}           // one has ended well
	FirstFailure = Enough{"first-failure"} // one has not ended well, or all have ended
)

// Quorum is met when n children have ended well.
func Quorum(n int) Enough { return Enough{fmt.Sprintf("quorum:%d", n)} }

// Ended is how a child stood when enough had ended.
type Ended[Out any] struct {
	Child *Child
	Done  bool  // it had ended
	Value Out   // what it ended with, if Err is nil
	Err   error // an *Error if it did not end well, ErrUnfinished if it had not ended
}

// ErrUnfinished is the Err of a child that had not ended when enough others had.
var ErrUnfinished = errors.New("the child had not ended")

// Gather waits until enough of the children have ended, and returns how each of them stood then, in the order given.
// That is recorded: a child that ends later has not ended, whenever the function runs again. Those that have not ended
// go on; Cancel ends them.
func Gather[Out any](r *Run, enough Enough, children ...*Child) ([]Ended[Out], error) {
	ids := make([]perdure.AgentID, len(children))
	for i, c := range children {
		ids[i] = c.Agent
	}
	if len(ids) == 0 {
		return nil, nil
	}
	t, err := new(perdure.Fold).Gathered(enough.word, ids...)
	if err != nil {
		return nil, err
	}
	if rec := rest(r, "gather", t, ""); rec.denied != nil {
		return nil, rec.denied
	}
	done, err := Step(r, "gathered", func(context.Context) ([]bool, error) {
		done := make([]bool, len(ids))
		for i, id := range ids {
			_, done[i] = r.records.ended[id]
		}
		return done, nil
	})
	if err != nil {
		return nil, err
	}
	if len(done) != len(children) {
		return nil, fmt.Errorf("gather: %d children are recorded and %d were given, has the code changed?", len(done),
			len(children))
	}
	out := make([]Ended[Out], len(children))
	for i, c := range children {
		out[i] = Ended[Out]{Child: c, Done: done[i], Err: ErrUnfinished}
		if done[i] {
			out[i].Value, out[i].Err = ended[Out](r, c)
		}
	}
	return out, nil
}

// ended is what a child that has ended ended with.
func ended[Out any](r *Run, c *Child) (Out, error) {
	var out Out
	end := r.child(c.Agent)
	if end.signal != perdure.OK {
		return out, &Error{Step: c.name, Signal: end.signal, Note: end.note}
	}
	return out, decode(end.data, &out)
}

// Cancel ends children that have not ended, and theirs with them. Those that have are left as they are.
func Cancel(r *Run, note string, children ...*Child) error {
	_, err := Step(r, "cancel", func(ctx context.Context) (int, error) {
		n := 0
		for _, c := range children {
			if a, err := r.node.Load(ctx, c.Agent); err == nil && a.Fold().Ended != nil {
				continue
			}
			_, err := r.node.Tell(ctx, c.Agent, perdure.Event{Name: "cancel", By: r.Agent.String(), ID: "cancelled",
				Notice: perdure.Cancel{Note: note}})
			switch {
			// it has ended, or is elsewhere
			case errors.Is(err, perdure.ErrTerminated) || errors.Is(err, perdure.ErrNotFound):
			case err != nil:
				return n, fmt.Errorf("cancel %s: %w", c.name, err)
			default:
				n++
			}
		}
		return n, nil
	})
	return err
}
