package home

import (
	"context"
	"errors"
	"os"

	"github.com/perdure/perdure/view"
)

// Talker is who talks to an agent: people at a terminal, or a program.
type Talker interface {
	Listener
	Past(said []view.Spoken) // what was said before they came
	Begin()                  // they may say something from now on, until
	Close()                  // the end
	Resting(r *Rest) error   // a turn is over
	// Next is what they want; leave says that they go, and ErrMoved that the conversation does not rest there any more.
	Next(ctx context.Context, r *Rest) (in Input, leave bool, err error)
}

// Leaving is the signal of who wants to leave. It is no interrupt: what is at work here goes on until it rests, and
// only waiting ends. Elsewhere says that waiting for another process that is at work ends as well.
type Leaving interface {
	os.Signal
	Elsewhere() bool
}

// ErrMoved says that a conversation rests elsewhere than it did: there may be something else to ask.
var ErrMoved = errors.New("the conversation has gone on")

// historyTurns is how many turns are shown to who comes back.
const historyTurns = 3

// Talk has the whole conversation with who talks, whom it must tell, too: it begins it, shows what was said last, and
// takes turns until they leave or the agent has ended. An interrupt ends the turn, and not the agent. What goes wrong
// in a turn is told, and the conversation goes on; failed is what the last one came to.
func (t *Conversation) Talk(ctx context.Context, who Talker, interrupt <-chan os.Signal) (failed, err error) {
	said, err := t.Begin(ctx, historyTurns)
	if err != nil {
		return nil, err
	}
	who.Past(said)
	who.Begin()
	defer who.Close()
	for {
		r, ended, err := t.Rest(ctx)
		if err != nil || ended {
			return failed, err
		}
		if err := who.Resting(r); err != nil {
			return nil, err
		}
		in, leave, err := who.Next(ctx, r)
		if errors.Is(err, ErrMoved) {
			continue
		}
		if err != nil || leave {
			return failed, err
		}
		if err = t.Do(ctx, in); err == nil {
			err = t.turnUntil(ctx, in, interrupt)
		}
		if failed = nil; ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			who.Tell(Trouble(err))
			failed = err
		}
	}
}

// turnUntil is a turn that an interrupt ends, and its waiting a signal that leaves.
func (t *Conversation) turnUntil(ctx context.Context, in Input, interrupt <-chan os.Signal) error {
	turn, stop := context.WithCancel(ctx)
	defer stop()
	t.leaves.Store(false)
	t.waits.Store(false)
	over := make(chan error, 1)
	go func() { over <- t.Turn(turn, in) }()
	leaves := false
	for stopped := false; !stopped; {
		select {
		case err := <-over:
			select {
			case <-interrupt: // it came too late for this turn, and is not for the next
			default:
			}
			return err
		case sig := <-interrupt:
			leaving, is := sig.(Leaving)
			leaves = is
			t.leaves.Store(leaves)
			stopped = !leaves || t.waits.Load() || t.attended() && leaving.Elsewhere()
		}
	}
	stop()
	err := <-over
	if leaves {
		return err
	}
	if t.attended() {
		t.To.Tell("not followed any more; the other process goes on with it: to stop it, perdure pause " +
			t.Agent.Short())
	} else {
		t.To.Tell("interrupted")
	}
	return err
}

// Trouble says what went wrong in a conversation, and what to do about it.
func Trouble(err error) string {
	text, hint := view.Explain(err, "perdure chat")
	if hint != "" {
		text += "; " + hint
	}
	return text
}
