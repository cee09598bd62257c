package main

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

const (
	// chatPatience is how long a turn waits by itself for an advisor that has no time, until it is tried again.
	chatPatience = 2 * time.Minute
	// chatLook is how often an agent that is at work elsewhere is looked at, if nothing says that it has changed.
	chatLook = time.Second
)

// turn has the agent work until it rests, and shows what it does. An interrupt ends it.
func (t *chat) turn(ctx context.Context, in chatInput) error {
	turn, stop := context.WithCancel(ctx)
	defer stop()
	shown := t.watch(turn)
	over := make(chan error, 1)
	go func() { over <- t.work(turn, in) }()
	var err error
	select {
	case err = <-over:
		select {
		case <-t.interrupt: // it came too late for this turn, and is not for the next
		default:
		}
	case <-t.interrupt:
		stop()
		err = <-over
		t.face.tell("%s", t.interrupted())
	}
	stop()
	<-shown
	t.hear(t.id, "")
	t.mu.Lock()
	t.heard = nil // of what was cut off
	t.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.Canceled):
		return nil
	case err != nil:
		t.problem(err)
	}
	return nil
}

// interrupted says what an interrupt came to.
func (t *chat) interrupted() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.away {
		return "not followed any more; the other process goes on with it: to stop it, perdure pause " + t.id.Short()
	}
	return "interrupted"
}

// again reports whether what kept the advisor from answering passes by itself.
func (t *chat) again() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failed == perdure.Throttled || t.failed == perdure.TimedOut || t.failed == perdure.Silent
}

// begin forgets how the last turn went.
func (t *chat) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failed, t.away, t.cannot = 0, t.follows, ""
}

// watch shows what is added to memory until ctx ends; then what it returns is closed.
func (t *chat) watch(ctx context.Context) <-chan struct{} {
	changed := view.Watch(ctx, t.store)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed.Signal:
				if ids, all := changed.Take(); !all {
					if _, is := ids[t.id]; !is {
						continue
					}
				}
				_ = t.catchUp(ctx) // whoever looks next finds what is wrong
			}
		}
	}()
	return done
}

// work runs the agent until it rests, here or elsewhere.
func (t *chat) work(ctx context.Context, in chatInput) error {
	t.begin()
	patience := time.Now().Add(chatPatience)
	goes := in.say == "" && in.digest.IsZero() // it was told to go on: it waits as long as it takes
	for {
		idle, err := t.run(ctx)
		if errors.Is(err, perdure.ErrConflict) {
			if rests, err := t.elsewhere(ctx); rests || err != nil {
				return err
			}
			continue
		}
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if err := t.catchUp(ctx); err != nil {
			return err
		}
		wait := time.Until(idle.Until.Go())
		if idle.Until == 0 || idle.Person || idle.Needs != "" {
			t.cannot = idle.Needs
			return nil
		}
		if !goes && (!t.again() || time.Now().Add(wait).After(patience)) {
			return nil
		}
		goes = false
		if wait > chatLook {
			t.face.tell("waiting until %s; Ctrl-C stops waiting", view.Moment(idle.Until, time.Now()))
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// run runs the agent here, unless that is for another process to do.
func (t *chat) run(ctx context.Context) (perdure.Idle, error) {
	if t.follows {
		return perdure.Idle{}, perdure.ErrConflict
	}
	return t.node.RunAgent(ctx, t.id)
}

// elsewhere waits a while for an agent that is at work in another process, and says whether it rests.
func (t *chat) elsewhere(ctx context.Context) (bool, error) {
	t.mu.Lock()
	first := !t.away
	t.away = true
	t.mu.Unlock()
	if first {
		t.face.tell("another process is at work on it: what it does is shown here")
	}
	select {
	case <-time.After(chatLook / 4):
	case <-ctx.Done():
		return false, ctx.Err()
	}
	if err := t.catchUp(ctx); err != nil {
		return false, err
	}
	a, err := t.h.Load(ctx, t.store, t.id)
	if err != nil {
		return false, err
	}
	_, idle := perdure.Plan(a, perdure.Capabilities{All: true, Trust: t.trust}, time.Now()).(perdure.Idle)
	return idle && len(a.Fold().Open) == 0, nil
}
