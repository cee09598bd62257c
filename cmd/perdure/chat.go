package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func chatCommand() *cobra.Command {
	c := command("chat", cobra.MaximumNArgs(1))
	h := storeFlag(c).acting()
	t := &chat{c: c, powers: powerFlags(c)}
	t.Home = h.Home
	another := c.Flags().Bool("new", false, "make another agent to talk to")
	c.Flags().BoolVar(&t.Follow, "follow", false,
		"do not run the agent here: only tell it what you say, and follow what it does elsewhere")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *another && len(args) > 0 {
			return perdure.Invalid(errors.New("--new makes another agent; leave AGENT out"))
		}
		ctx, stop := untilTerminated(c.Context())
		defer stop()
		c.SetContext(ctx)
		if len(args) == 1 {
			return h.alone(args[0], func(ctx context.Context, s perdure.Store, id perdure.AgentID) error {
				return t.open(ctx, s, func() (perdure.AgentID, error) { return id, nil })
			})
		}
		return h.use(true, func(ctx context.Context, s perdure.Store) error {
			return t.open(ctx, s, func() (id perdure.AgentID, err error) {
				if !t.Follow {
					err = home.Advised(t.Node, "") // nothing is made for nothing
				}
				if t.unnamed = true; err == nil {
					id, t.made, err = h.Chat(ctx, s, *another)
				}
				return id, err
			})
		})
	}
	return c
}

// untilTerminated is a context that an interrupt does not end: it is for the turn. SIGTERM still does.
func untilTerminated(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	stop := context.AfterFunc(ctx, func() { signal.Stop(term) })
	go func() {
		select {
		case <-term:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); stop() }
}

// chat is a conversation at a terminal or with a program.
type chat struct {
	home.Conversation
	c         *cobra.Command
	powers    *home.Powers
	unnamed   bool // no agent was named
	made      bool // it was made just now
	name      string
	face      chatFace
	interrupt chan os.Signal
	failed    error // what the last turn came to
}

// chatFace is who talks: people at a terminal, or a program.
type chatFace interface {
	home.Listener
	past(of []view.Spoken)   // what was said before
	begin()                  // they may say something from now on, until
	close()                  // the end
	rest(r *home.Rest) error // a turn is over
	// next is what they want; leave says that they go, and errMoved that the conversation does not rest there any more.
	next(ctx context.Context, r *home.Rest) (in home.Input, leave bool, err error)
}

// errMoved says that a conversation rests elsewhere than it did: there may be something else to ask.
var errMoved = errors.New("the conversation has gone on")

// historyTurns is how many turns are shown to who comes back.
const historyTurns = 3

// open begins the conversation with an agent, once it is known what this node can do, and has it.
func (t *chat) open(ctx context.Context, s perdure.Store, find func() (perdure.AgentID, error)) (err error) {
	if t.Twice = jsonFlag(t.c); t.Twice {
		t.face = &programFace{t: t}
	} else {
		t.face = newPeopleFace(t)
	}
	t.To, t.powers.Say = t.face, t.Hear
	level := &slog.HandlerOptions{Level: slog.LevelError} // what fails is said where it happens
	log := slog.New(slog.NewTextHandler(t.c.ErrOrStderr(), level))
	if t.Node, err = t.powers.Node(ctx, t.Home, s, log); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.powers.Close()) }()
	if t.Agent, err = find(); err != nil {
		return err
	}
	t.name = home.NameOf(ctx, s, t.Agent)
	said, err := t.Begin(ctx, historyTurns)
	if err != nil {
		return err
	}
	t.face.past(said)
	t.interrupt = make(chan os.Signal, 1)
	signal.Notify(t.interrupt, os.Interrupt)
	defer signal.Stop(t.interrupt)
	t.face.begin()
	defer t.face.close()
	return t.talk(ctx)
}

// which says which agent it is that they talk to, if they did not name one.
func (t *chat) which() string {
	switch {
	case t.made:
		return "a new agent, " + t.name + "; Ctrl-D leaves, and perdure chat comes back to it"
	case t.unnamed:
		return "this is " + t.name + ", the last you talked to; for another: perdure chat AGENT, or --new"
	}
	return ""
}

// talk takes turns until whoever talks leaves, or the agent has ended.
func (t *chat) talk(ctx context.Context) error {
	for {
		r, ended, err := t.Rest(ctx)
		if err == nil && ended {
			err = t.left(ctx)
		}
		if err != nil || ended {
			return err
		}
		for i := range r.Waits {
			typed(&r.Waits[i])
		}
		if err := t.face.rest(r); err != nil {
			return err
		}
		in, leave, err := t.face.next(ctx, r)
		if errors.Is(err, errMoved) {
			continue
		}
		if err == nil && leave {
			err = t.left(ctx)
		}
		if err != nil || leave {
			return err
		}
		if err = t.Do(ctx, in); err == nil {
			err = t.turn(ctx, in)
		}
		if t.failed = nil; ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.problem(err)
			t.failed = &answered{err}
		}
	}
}

// left is how the command ends. A person at a terminal has seen how things stand; a program reads it from the exit
// code, which is that of perdure run.
func (t *chat) left(ctx context.Context) error {
	if !t.Twice && term.IsTerminal(t.c.InOrStdin()) {
		return nil
	}
	if t.failed != nil {
		return t.failed
	}
	ran, err := t.Left(ctx)
	if err != nil || ran == nil {
		return err
	}
	return ranError(ran)
}

// turn is a turn that an interrupt ends.
func (t *chat) turn(ctx context.Context, in home.Input) error {
	turn, stop := context.WithCancel(ctx)
	defer stop()
	over := make(chan error, 1)
	go func() { over <- t.Turn(turn, in) }()
	select {
	case err := <-over:
		select {
		case <-t.interrupt: // it came too late for this turn, and is not for the next
		default:
		}
		return err
	case <-t.interrupt:
	}
	stop()
	err := <-over
	if t.Attended() {
		t.face.Tell("not followed any more; the other process goes on with it: to stop it, perdure pause " +
			t.Agent.Short())
	} else {
		t.face.Tell("interrupted")
	}
	return err
}

// problem says what went wrong, and what to do about it. The conversation goes on.
func (t *chat) problem(err error) {
	text, hint := view.Explain(err, t.c.CommandPath())
	if hint != "" {
		text += "; " + hint
	}
	t.face.Tell(text)
}
