package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// teller is a command that tells an agent something.
type teller struct {
	c    *cobra.Command
	h    *homeFlag
	out  *output
	note *string

	about *view.Wait // what the event answers, to be shown whole
	trace *string    // the traceparent the event belongs to
	yes   *bool      // do not ask first
	shown bool       // it has been, before a person said yes

	before string // the id of an event that was received before
}

// verb tells an agent something by a node.
type verb = func(ctx context.Context, n *perdure.Node, a *perdure.Agent) (*perdure.Entry, error)

// newTeller adds what such commands share. Their first argument is the agent. With a usage they have --note.
func newTeller(c *cobra.Command, usage string) *teller {
	t := &teller{c: remotely(c), h: storeFlag(c).acting(), out: outputFlags(c)}
	if usage != "" {
		t.note = c.Flags().String("note", "", usage)
	}
	return t
}

// tell finds the agent, looks at it, has a verb tell it something, and says how it stands then.
func (t *teller) tell(arg string, do verb) error {
	return t.h.agent(arg, func(ctx context.Context, s perdure.Store, a *perdure.Agent) error {
		n, err := t.h.Node(ctx, s)
		if err != nil {
			return err
		}
		telling := ctx
		if t.trace != nil && *t.trace != "" {
			if telling, err = perdure.WithTraceparent(ctx, *t.trace); err != nil {
				return perdure.Invalid(fmt.Errorf("--trace: %w", err))
			}
		}
		e, err := do(telling, n, a)
		if err != nil {
			return err
		}
		r := t.h.Told(context.WithoutCancel(ctx), s, e) // the event is durable: what follows only says so
		if r.Before, r.About = t.before != "", t.about; r.About != nil {
			typed(r.About)
		}
		if inForce.file != "" && r.SendBack {
			note(t.c, "your answer is in the file, and counts where the agent runs: send %s back, to be imported there",
				view.InLine(inForce.file))
		}
		return t.out.print(r, func(w io.Writer) error { return t.write(w, r) })
	})
}

// write says what an agent was told, for people.
func (t *teller) write(w io.Writer, r *home.Told) error {
	if r.About != nil && !t.shown {
		if err := term.WriteSheet(w, r.About, time.Now()); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%s (seq %d)", view.OneLine(r.What, 0), r.Seq)
	if r.Standing != "" {
		text += ", now " + r.Standing
	}
	if r.Before {
		text = fmt.Sprintf("%s was received before (seq %d); nothing changed", view.OneLine(t.before, 0), r.Seq)
	}
	_, err := fmt.Fprintf(w, "%s: %s\n", r.Called(), text)
	return err
}

func sendCommand() *cobra.Command {
	c := command("send", cobra.RangeArgs(2, 3))
	t := newTeller(c, "")
	c.ValidArgsFunction = agentThen(t.h, awaitedEvents)
	id := c.Flags().String("id", "", "the sender's own id of this event")
	t.trace = c.Flags().String("trace", "",
		"the W3C traceparent of this event; what the agent does because of it carries its trace id")
	data := c.Flags().String("data", "", "the data: JSON, - for standard input, or @FILE")
	subject := c.Flags().String("subject", "",
		"seal the data for this person, so that perdure erase can make it unreadable everywhere")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 3 && c.Flags().Changed("data") {
			return perdure.Invalid(errors.New("data is given twice; use the third argument or --data"))
		}
		if strings.TrimSpace(args[1]) == "" {
			return perdure.Invalid(errors.New("an event needs a NAME"))
		}
		value, err := dataArg(c, append(args, *data)[2])
		if err != nil {
			return err
		}
		if *subject != "" && value == nil {
			return perdure.Invalid(errors.New("--subject seals data for a person; name them, and give data"))
		}
		if r, on, err := through(t.c, t.out); on {
			if err == nil && *subject != "" {
				err = perdure.Invalid(
					errors.New("data is sealed with the vault of a home, not through a server; leave --subject out"),
				)
			}
			if err != nil {
				return err
			}
			ev := client.Event{Name: args[1], ID: *id}
			if value != nil {
				ev.Data = value.JSON()
			}
			return r.send(args[0], ev, *t.trace)
		}
		return t.tell(args[0], func(ctx context.Context, n *perdure.Node, a *perdure.Agent) (*perdure.Entry, error) {
			ev := perdure.Event{Name: args[1], Data: value, ID: *id, By: n.Key.Name}
			if *subject != "" {
				var err error
				if ev.Data, err = t.h.Sealed(*subject, value); err != nil {
					return nil, err
				}
			}
			if a.Fold().Received(&ev) {
				t.before = ev.ID
			}
			return n.Tell(ctx, a.ID(), ev)
		})
	}
	return c
}

// dataArg reads data from an argument: JSON, - for standard input, @FILE, or nothing.
func dataArg(c *cobra.Command, arg string) (perdure.Data, error) {
	var text []byte
	var err error
	switch name, isFile := strings.CutPrefix(arg, "@"); {
	case arg == "":
		return nil, nil
	case arg == "-":
		text, err = readWhole(c, "-", perdure.Limits{Bytes: perdure.MaxBody})
	case isFile:
		text, err = disk.ReadFile(name, perdure.MaxBody)
	default:
		text = []byte(arg)
	}
	if err != nil {
		return nil, err
	}
	d, err := perdure.DataFromJSON(text)
	if err != nil {
		return nil, perdure.Invalid(fmt.Errorf(`data is not JSON (text is written "so", in quotes): %w`, err))
	}
	return d, nil
}

func pauseCommand() *cobra.Command { return notedCommand("pause", (*perdure.Node).Pause) }

func endCommand() *cobra.Command { return notedCommand("end", (*perdure.Node).Cancel) }

// notedCommand is the command of a verb that takes a note and nothing else.
func notedCommand(words string, do func(*perdure.Node, context.Context, perdure.AgentID, string) (*perdure.Entry,
	error)) *cobra.Command {
	c := command(words, cobra.ExactArgs(1))
	t := newTeller(c, "why")
	c.RunE = func(_ *cobra.Command, args []string) error {
		if r, on, err := through(t.c, t.out); on {
			if err != nil {
				return err
			}
			return r.tell(args[0], words, client.Note{Note: *t.note})
		}
		return t.tell(args[0], func(ctx context.Context, n *perdure.Node, a *perdure.Agent) (*perdure.Entry, error) {
			return do(n, ctx, a.ID(), *t.note)
		})
	}
	return c
}

func resumeCommand() *cobra.Command {
	c := command("resume", cobra.ExactArgs(1))
	t := newTeller(c, "why")
	older := c.Flags().Bool("older", false,
		"continue from this copy although a newer one was seen here; what was done since may be done again (owner "+
			"only)")
	c.RunE = func(_ *cobra.Command, args []string) error {
		if r, on, err := through(t.c, t.out); on {
			if err == nil && *older {
				err = perdure.Invalid(
					errors.New("an older copy is accepted where it is, not through a server; leave --older out"),
				)
			}
			if err != nil {
				return err
			}
			return r.tell(args[0], "resume", client.Note{Note: *t.note})
		}
		return t.tell(args[0], func(ctx context.Context, n *perdure.Node, a *perdure.Agent) (*perdure.Entry, error) {
			return t.h.Resume(ctx, n, a, *t.note, *older)
		})
	}
	return c
}

func grantCommand() *cobra.Command {
	c := command("grant", cobra.ExactArgs(1))
	t := newTeller(c, "why")
	cost := c.Flags().String("cost", "", "US dollars, such as 1.50")
	tokens := c.Flags().Int64("tokens", 0, "model tokens")
	calls := c.Flags().Int64("calls", 0, "tool calls")
	c.RunE = func(c *cobra.Command, args []string) error {
		amount := perdure.Spend{Tokens: *tokens, Calls: *calls}
		if *cost != "" {
			n, err := home.ParseDollars(*cost)
			if err != nil {
				return perdure.Invalid(fmt.Errorf("--cost: %w", err))
			}
			amount.Cost = n
		}
		if amount.Tokens < 0 || amount.Calls < 0 || amount == (perdure.Spend{}) {
			return perdure.Invalid(errors.New(
				"say how much more it may spend: --cost, --tokens or --calls, above zero"))
		}
		if r, on, err := through(t.c, t.out); on {
			if err != nil {
				return err
			}
			return r.tell(args[0], "grant", client.Grant{Cost: *cost, Tokens: *tokens, Calls: *calls, Note: *t.note})
		}
		return t.tell(args[0], func(ctx context.Context, n *perdure.Node, a *perdure.Agent) (*perdure.Entry, error) {
			return n.Grant(ctx, a.ID(), amount, *t.note)
		})
	}
	return c
}

func settleCommand() *cobra.Command {
	c := command("settle", cobra.ExactArgs(2))
	t := newTeller(c, "how you found out")
	c.ValidArgsFunction = agentThen(t.h, openDecisions)
	signal := &choice{"", []string{perdure.OK.String(), perdure.Failed.String()}}
	choiceFlag(c, signal, "signal", "ok if it happened, failed if it did not and will not")
	result := c.Flags().String("result", "", "what it returned: JSON, - for standard input, or @FILE")
	running := c.Flags().Bool("still-running", false, "settle although processes are still at work on the effect")
	c.RunE = func(c *cobra.Command, args []string) error {
		if signal.value == "" {
			return perdure.Invalid(errors.New("say whether it happened: --signal ok, or --signal failed"))
		}
		data, err := dataArg(c, *result)
		if err != nil {
			return err
		}
		as, err := view.ParseName[perdure.Signal]("--signal", signal.value)
		if err != nil {
			return perdure.Invalid(err)
		}
		if r, on, err := through(t.c, t.out); on {
			if err != nil {
				return err
			}
			in := client.Settle{Decision: args[1], Signal: signal.value, Note: *t.note}
			if data != nil {
				in.Result = data.JSON()
			}
			return r.tell(args[0], "settle", in)
		}
		return t.tell(args[0], func(ctx context.Context, n *perdure.Node, a *perdure.Agent) (_ *perdure.Entry,
			err error) {
			v := perdure.Settle{Signal: as, Result: data, Note: *t.note}
			if v.Decision, t.about, err = view.Unsettled(a, args[1]); err != nil {
				return nil, err
			}
			if *running {
				n.Survivors = nil
			}
			return n.Settle(ctx, a.ID(), v)
		})
	}
	return c
}
