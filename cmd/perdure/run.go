package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func runCommand() *cobra.Command {
	c := command("run", cobra.ExactArgs(1))
	h, out := storeFlag(c).acting(), outputFlags(c)
	p := powerFlags(c)
	listen := liveFlag(c)
	quiet := c.Flags().BoolP("quiet", "q", false, "do not show entries as they are written")
	tries := c.Flags().Int("tries", 5, "how many times to ask an advisor that does not answer, with growing pauses")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *tries < 1 {
			return perdure.Invalid(errors.New("--tries: want at least 1"))
		}
		format, err := out.check()
		if err != nil {
			return err
		}
		if !c.Flags().Changed("quiet") { // a program reads standard error for what went wrong
			*quiet = format != formatTable
		}
		return h.alone(args[0], func(ctx context.Context, s perdure.Store, id perdure.AgentID) error {
			listen(p, *quiet)
			return (&running{c, h, out, *quiet, *tries}).agent(ctx, p, s, id)
		})
	}
	return c
}

// running is how an agent is run for a person.
type running struct {
	c     *cobra.Command
	h     *homeFlag
	out   *output
	quiet bool
	tries int
}

// agent works on an agent and says where it stands.
func (r *running) agent(ctx context.Context, p *home.Powers, s perdure.Store, id perdure.AgentID) error {
	n, err := p.Node(ctx, r.h.Home, s, slog.New(term.NewLog(r.c.ErrOrStderr(), slog.LevelWarn)))
	if err != nil {
		return err
	}
	idle, err := r.asking(ctx, n, id)
	if err = errors.Join(err, p.Close()); errors.Is(err, perdure.ErrConflict) {
		return perdure.WithHint(home.Busy(home.NameOf(ctx, s, id)+" is being run by another node"),
			"watch it with perdure tail "+id.Short()+", or run it when that node has stopped")
	} else if err != nil {
		return err
	}
	now := time.Now()
	ran, err := r.h.Ran(context.WithoutCancel(ctx), s, id, idle, now)
	if err != nil {
		return err
	}
	err = r.out.print(ran, func(w io.Writer) error {
		text, result := ran.Text(now)
		if ran.Held() {
			text = here(text)
		}
		text = term.Folded("", 2, text, term.WidthOf(w)) // its name and note are the agent's words, too
		if result != "" {
			text += term.SaidText(result, term.WidthOf(w)) + "\n"
		}
		_, err := io.WriteString(w, text)
		return err
	})
	if err != nil {
		return err
	}
	return ranError(ran)
}

// ranError is how a command ends that left an agent where it stands; nil: well.
func ranError(ran *home.Ran) error {
	err := ran.Err()
	if errors.Is(err, home.ErrUnwell) {
		return &answered{err}
	}
	return err
}

// asking runs an agent until it rests. On a terminal, what policy asks about is asked in place, and the agent goes on
// after it.
func (r *running) asking(ctx context.Context, n *perdure.Node, id perdure.AgentID) (perdure.Idle, error) {
	format, err := r.out.check()
	if err != nil {
		return perdure.Idle{}, err
	}
	person := format == formatTable && term.IsTerminal(r.c.InOrStdin()) && term.IsTerminal(r.c.ErrOrStderr())
	for {
		idle, err := r.once(ctx, n, id)
		if err != nil || !person || !idle.Person || ctx.Err() != nil {
			return idle, err
		}
		a, err := r.h.Load(ctx, n.Store, id)
		if err != nil {
			return idle, err
		}
		q := askerOf(r.c)
		answered, err := q.Approvals(ctx, n, a)
		if q.Close(); !answered || err != nil {
			return idle, err
		}
	}
}

// once runs an agent until it rests, and shows what it does.
func (r *running) once(ctx context.Context, n *perdure.Node, id perdure.AgentID) (perdure.Idle, error) {
	now := func() error { return nil }
	end := now
	if beside := r.c.ErrOrStderr(); !r.quiet {
		style, err := term.StyleOf(beside), error(nil)
		now, end, err = view.Stream(ctx, n.Store, id, func(one view.Line) {
			_, _ = fmt.Fprintln(beside, term.Line(one, style)) // the run does not depend on it
		})
		if err != nil {
			return perdure.Idle{}, err
		}
	}
	idle, err := home.RunPatiently(ctx, n, id, r.tries, func(next home.Attempt) {
		if _ = now(); !r.quiet { // what it is about stands before it
			note(r.c, "trying again in %s, attempt %d of %d: %s", next.In.Round(100*time.Millisecond), next.Number,
				next.Of, next.Why)
		}
	})
	return idle, errors.Join(err, end())
}
