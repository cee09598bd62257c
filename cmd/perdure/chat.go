package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/internal/term"
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
				return t.open(ctx, s, func() (string, error) { t.Agent = id; return "", nil })
			})
		}
		if err := h.Locate(); err != nil {
			return err
		}
		if err := t.powers.Think(h.Home); err != nil && !t.Follow {
			return err
		}
		return h.use(true, func(ctx context.Context, s perdure.Store) error {
			return t.open(ctx, s, func() (which string, err error) { return t.own(ctx, s, *another) })
		})
	}
	return c
}

// untilTerminated is a context that an interrupt does not end: it is for the turn. SIGTERM and SIGHUP still do.
func untilTerminated(ctx context.Context) (context.Context, func()) {
	ctx, stop := signal.NotifyContext(context.WithoutCancel(ctx), terminations()...)
	context.AfterFunc(ctx, stop) // a second one ends the process
	return ctx, stop
}

// chat is a conversation at a terminal or with a program.
type chat struct {
	home.Conversation
	c      *cobra.Command
	powers *home.Powers
}

// own finds or makes the chat of this home, and says which agent it is.
func (t *chat) own(ctx context.Context, s perdure.Store, another bool) (which string, err error) {
	if !t.Follow {
		if err := home.Advised(t.Node, ""); err != nil {
			return "", err // nothing is made for nothing
		}
	}
	made := false
	if t.Agent, made, err = t.Home.Chat(ctx, s, another, term.Mute(t.c.InOrStdin())); err != nil {
		return "", err
	}
	name := home.NameOf(ctx, s, t.Agent)
	if !made {
		return "this is " + name + ", the last you talked to; for another: perdure chat AGENT, or --new", nil
	}
	return "a new agent, " + name + "; Ctrl-D leaves, and perdure chat comes back to it; /help says more", nil
}

// open has the conversation with an agent that is found once it is known what this node can do.
func (t *chat) open(ctx context.Context, s perdure.Store, find func() (which string, err error)) (err error) {
	interrupt := make(chan os.Signal, 1)
	who, people := home.Talker(nil), new(show.People)
	if t.Twice = jsonFlag(t.c); t.Twice {
		who = show.NewProgram(&t.Conversation, t.c.InOrStdin(), t.c.OutOrStdout(), interrupt, here)
	} else {
		out := term.NewScreen(t.c.OutOrStdout())
		if term.IsTerminal(t.c.ErrOrStderr()) && term.IsTerminal(out) {
			t.c.SetErr(out) // a line begins where one begins, whoever wrote last
		}
		people = show.NewPeople(&t.Conversation, t.c.InOrStdin(), out, interrupt, here)
		who = people
	}
	t.To, t.powers.Say = who, t.Hear
	log := nodeLog(t.c, "text", slog.LevelError) // what fails is said where it happens
	signal.Notify(interrupt, os.Interrupt)
	defer signal.Stop(interrupt)
	starting, ready := term.Interrupted(ctx, interrupt)
	if t.Node, err = t.powers.Node(starting, t.Home, s, log); err != nil {
		return err
	}
	ready()
	defer func() { err = errors.Join(err, t.powers.Close()) }()
	if people.Which, err = find(); err != nil {
		return err
	}
	failed, err := t.Talk(ctx, who, interrupt)
	if err != nil {
		return err
	}
	person := !t.Twice && term.IsTerminal(t.c.InOrStdin()) // who has seen how things stand
	if failed != nil && !person {
		return &answered{failed}
	}
	switch ran, err := t.Left(ctx); {
	case person:
		people.Leave(ran)
		return nil
	case err != nil || ran == nil:
		return err
	default:
		return ranError(ran)
	}
}
