package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
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
	quiet := c.Flags().Bool("quiet", false, "do not show entries as they are written")
	c.RunE = func(c *cobra.Command, args []string) error {
		return h.useFor(args[0], func(ctx context.Context, s perdure.Store, arg string) error {
			id, err := home.Find(ctx, s, arg)
			if err != nil {
				return err
			}
			done, err := h.Alone(ctx, id)
			if err != nil {
				return err
			}
			listen(p, *quiet)
			err = runAgent(ctx, c, h, out, p, s, id, *quiet)
			h.CloseWitness()
			return errors.Join(err, done())
		})
	}
	return c
}

// ran is what run prints.
type ran struct {
	Agent    perdure.AgentID `json:"agent"`
	Name     string          `json:"name,omitempty"`
	Standing string          `json:"standing"`
	Why      string          `json:"why"`
	Until    perdure.Time    `json:"until,omitempty"`
	Person   bool            `json:"person"`           // a person must act first
	Cannot   string          `json:"cannot,omitempty"` // what this node lacks
	Ended    *perdure.Ending `json:"ended,omitempty"`

	Reasons []perdure.Reason `json:"reasons,omitempty"` // why, for programs
}

// runAgent works on an agent and says where it stands.
func runAgent(ctx context.Context, c *cobra.Command, h *homeFlag, out *output, p *home.Powers, s perdure.Store, id perdure.AgentID, quiet bool) error {
	n, err := p.Node(ctx, h.Home, s, slog.New(term.NewLog(c.ErrOrStderr(), slog.LevelWarn)))
	if err != nil {
		return err
	}
	idle, err := runAsking(ctx, c, h, out, n, id, quiet)
	if err = errors.Join(err, p.Close()); errors.Is(err, perdure.ErrConflict) {
		return perdure.WithHint(home.Busy(home.NameOf(ctx, s, id)+" is being run by another node"), "watch it with perdure tail "+id.Short()+", or run it when that node has stopped")
	} else if err != nil {
		return err
	}
	a, err := h.Load(context.WithoutCancel(ctx), s, id)
	if err != nil {
		return err
	}
	now := time.Now()
	f := a.Fold()
	r := ran{id, f.Intent.Name, "", view.Why(idle), idle.Until, idle.Person, idle.Needs, f.Ended, idle.Reasons}
	if q, asks := f.Question(now); asks {
		r.Person, r.Why, r.Reasons = true, "asks: "+q.Text, nil
	}
	at, err := view.AttendanceOf(ctx, s)
	if err != nil {
		return err
	}
	if strays := at.Strays(a, now); len(strays) > 0 && !r.Person {
		r.Person, r.Why = true, strays[0].Why+", so nobody can tell whether it happened: "+view.ActionText(strays[0].Action)
	}
	l := a.Listing(now)
	if l.Waiting = r.Person; idle.Needs == "" && idle.Until.Go().After(now) {
		l.Due = idle.Until // policy may know better than the plan
	}
	r.Standing = l.Standing(now)
	err = out.print(r, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, r.text(view.Called(a), now, term.WidthOf(w)))
		return err
	})
	switch {
	case err != nil:
		return err
	case idle.Is(perdure.RestOlder):
		return perdure.WithHint(fmt.Errorf("%s %w", view.Called(a), errPerson), "import the newer copy; or, if you mean this one to go on, perdure resume "+view.Callable(a)+" --older")
	case idle.Is(perdure.RestHeld):
		return perdure.WithHint(fmt.Errorf("%s %w", view.Called(a), errPerson), "look at it with perdure show; then perdure resume admits it, or perdure key trust makes its authors count")
	case idle.Is(perdure.RestShallow):
		return perdure.WithHint(fmt.Errorf("%s %w", view.Called(a), errPerson), "import the whole memory: perdure import FILE, of a capsule exported at depth full")
	case idle.Is(perdure.RestGiven, perdure.RestDisputed, perdure.RestElsewhere):
		hint := "hand the seat over where it is, with export --move; or, if that store is lost, "
		if f.Seats[0].Given {
			hint = "import the file where it is to go on; or take the seat back: "
		}
		return perdure.WithHint(fmt.Errorf("%s %w", view.Called(a), errPerson), hint+"perdure seat take "+view.Callable(a)+" --why TEXT")
	case r.Person:
		return perdure.WithHint(fmt.Errorf("%s %w", view.Called(a), errPerson), "see perdure inbox")
	case idle.Needs == "advisor:":
		return perdure.WithHint(fmt.Errorf("%s: no advisor configured", view.Called(a)), view.AddAdvisor)
	case idle.Needs != "":
		return perdure.WithHint(fmt.Errorf("%s needs a node with %s", view.Called(a), view.Capability(idle.Needs)), "run it where that is set up; see perdure run --help")
	}
	return nil
}

// runAsking runs an agent until it rests. On a terminal, what policy asks about is asked in place, and the agent goes on after it.
func runAsking(ctx context.Context, c *cobra.Command, h *homeFlag, out *output, n *perdure.Node, id perdure.AgentID, quiet bool) (perdure.Idle, error) {
	format, err := out.check()
	if err != nil {
		return perdure.Idle{}, err
	}
	var person *term.Typist
	if format == formatTable && term.IsTerminal(c.InOrStdin()) && term.IsTerminal(c.ErrOrStderr()) {
		person = term.NewTypist(c.InOrStdin(), nil)
	}
	for {
		show := func() error { return nil }
		if !quiet {
			if show, err = streamEntries(ctx, c, n.Store, id); err != nil {
				return perdure.Idle{}, err
			}
		}
		idle, err := n.RunAgent(ctx, id)
		if err = errors.Join(err, show()); err != nil || person == nil || !idle.Person || ctx.Err() != nil {
			return idle, err
		}
		a, err := h.Load(ctx, n.Store, id)
		if err != nil {
			return idle, err
		}
		if answered, err := askAll(ctx, person, c.ErrOrStderr(), n, a); !answered || err != nil {
			return idle, err
		}
	}
}

// text is where the agent stands, for people.
func (r *ran) text(name string, now time.Time, width int) string {
	if r.Ended != nil {
		text := name + " has ended: " + r.Ended.Signal.String() + view.Noted(view.OneLine(r.Ended.Note, view.LineWidth))
		if r.Ended.Result != nil {
			text += "\n" + term.Paragraphs("  ", view.AnswerText(r.Ended.Result), width)
		}
		return text
	}
	why, timed := r.Why, false
	if len(r.Reasons) > 0 {
		why, timed = view.WhyNow(perdure.Idle{Reasons: r.Reasons}, now)
	}
	text := fmt.Sprintf("%s is %s: %s", name, r.Standing, view.OneLine(why, 0))
	if r.Until != 0 && !r.Person && r.Cannot == "" && !timed {
		text += "; next look at " + view.Moment(r.Until, now)
	}
	return term.Hang(strings.TrimSuffix(text, ": "), 2, width)
}

// streamEntries shows the entries of an agent on standard error as they arrive. What it returns ends that, after the last.
func streamEntries(ctx context.Context, c *cobra.Command, s perdure.Store, id perdure.AgentID) (func() error, error) {
	w, _, err := view.FollowRecent(ctx, s, id, 0, view.Fitting(func(view.Line) bool { return false }))
	if err != nil {
		return nil, err
	}
	style := term.StyleOf(c.ErrOrStderr())
	show := func(ctx context.Context) error {
		return w.Next(ctx, func(one view.Line) error {
			_, _ = fmt.Fprintln(c.ErrOrStderr(), lineText(one, style)) // the run does not depend on it
			return nil
		})
	}
	ctx, stop := context.WithCancel(ctx)
	changed := view.Watch(ctx, s)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed.Signal:
				if show(ctx) != nil {
					return
				}
			}
		}
	}()
	return func() error {
		stop()
		<-done
		return show(context.Background())
	}, nil
}

func nodeCommand() *cobra.Command {
	c := command("node", cobra.NoArgs)
	h := storeFlag(c)
	p := powerFlags(c)
	concurrency := c.Flags().Int("concurrency", 0, "agents run at once (default 64)")
	grace := c.Flags().Duration("grace", 10*time.Second, "how long effects under way may continue after a stop")
	logger := logFlags(c)
	accept := c.Flags().Bool("accept", false, "show and accept the home found here, and run nothing")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *accept {
			return h.accept(c.OutOrStdout())
		}
		if *concurrency < 0 || c.Flags().Changed("concurrency") && *concurrency == 0 {
			return perdure.Invalid(errors.New("--concurrency: want at least 1"))
		}
		if *grace <= 0 {
			return perdure.Invalid(errors.New("--grace: want more than zero"))
		}
		if err := h.acting().Locate(); err != nil {
			return err
		}
		if h.Scheme == "mem" {
			return perdure.Invalid(errors.New("a store in memory has no agents and is gone when the command ends; name another with --store"))
		}
		log, err := logger()
		if err != nil {
			return err
		}
		h.Patient = true
		return h.use(!h.Fresh, func(ctx context.Context, s perdure.Store) error {
			n, err := p.Node(ctx, h.Home, s, log)
			if err != nil {
				return err
			}
			n.Concurrency, n.Grace = *concurrency, *grace
			advisors, tools := home.Describe(n)
			log.Info("running", "store", h.Where(), "key", n.Key.Key().Short(), "advisors", advisors, "tools", tools, "policy", n.PolicyHash.Short())
			unobserved, err := h.Observed(n, version, log)
			if err != nil {
				return errors.Join(err, p.Close())
			}
			told, err := h.Notifying(ctx, n, log)
			if err != nil {
				return errors.Join(err, p.Close())
			}
			stop := h.FollowTrust(ctx, n, log)
			err = n.Run(ctx)
			stop()
			told()
			unobserved()
			if err := errors.Join(err, p.Close()); err != nil {
				return err
			}
			log.Info("stopped")
			if errors.Is(context.Cause(ctx), errTerminated) {
				return nil // whoever sent SIGTERM wanted it to end, and it did
			}
			return ctx.Err()
		})
	}
	return c
}
