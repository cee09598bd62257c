package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/disk"
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
	store perdure.Store
	yes   *bool // do not ask first
	shown bool  // it has been, before a person said yes

	before string // the id of an event that was received before
}

// newTeller adds what such commands share. Their first argument is the agent.
func newTeller(c *cobra.Command) *teller {
	t := &teller{c: c, h: storeFlag(c).acting(), out: outputFlags(c)}
	return t
}

// withNote adds --note.
func (t *teller) withNote(usage string) *teller {
	t.note = t.c.Flags().String("note", "", usage)
	return t
}

// told is what such a command prints.
type told struct {
	Agent    perdure.AgentID `json:"agent"`
	Name     string          `json:"name,omitempty"`
	Entry    perdure.Hash    `json:"entry"`
	Seq      int64           `json:"seq"`
	What     string          `json:"what"`
	Standing string          `json:"standing"`
	About    *view.Wait      `json:"about,omitempty"`  // what was answered, whole
	Before   bool            `json:"before,omitempty"` // it was received before, and nothing changed
}

// tell finds the agent, looks at it, and has a verb of the node tell it something. The event is durable when tell returns.
func (t *teller) tell(arg string, verb func(ctx context.Context, n *perdure.Node, a *perdure.Agent) (*perdure.Entry, error)) error {
	return t.h.useFor(arg, func(ctx context.Context, s perdure.Store, arg string) error {
		id, err := home.Find(ctx, s, arg)
		if err != nil {
			return err
		}
		a, err := t.h.Load(ctx, s, id)
		if err != nil {
			return err
		}
		n, err := t.h.Node(ctx, s)
		if err != nil {
			return err
		}
		t.store = s
		telling := ctx
		if t.trace != nil && *t.trace != "" {
			if telling, err = perdure.WithTraceparent(ctx, *t.trace); err != nil {
				return perdure.Invalid(fmt.Errorf("--trace: %w", err))
			}
		}
		e, err := verb(telling, n, a)
		if err != nil {
			return err
		}
		return t.report(context.WithoutCancel(ctx), s, id, e) // the event is durable: what follows only says so
	})
}

// report says what an agent was told, and how it stands now.
func (t *teller) report(ctx context.Context, s perdure.Store, id perdure.AgentID, e *perdure.Entry) error {
	a, err := t.h.Load(ctx, s, id)
	if err != nil {
		return err
	}
	if err := home.Index(ctx, s, a); err != nil {
		note(t.c, "it is recorded, but perdure ls does not show it yet: %v", err)
	}
	trust, err := t.h.Trust()
	if err != nil {
		return err
	}
	place, err := t.h.PlaceOf(ctx, s)
	if err != nil {
		return err
	}
	if t.about != nil {
		typed(t.about)
	}
	if place, err := t.h.PlaceOf(ctx, s); err == nil && a.Fold().HandedOver(place) {
		note(t.c, "%s was handed over: it goes on where its file was imported, and hears this only when a copy from here is imported there", view.Called(a))
	}
	ev, _ := e.Content().(perdure.Event)
	r := told{id, a.Fold().Intent.Name, e.Name, e.Seq, view.EventText(&ev), a.Standing(trust, place, time.Now()), t.about, t.before != ""}
	return t.out.print(r, func(w io.Writer) error {
		if t.about != nil && !t.shown {
			if err := writeSheet(w, t.about, time.Now()); err != nil {
				return err
			}
		}
		if r.Before {
			_, err := fmt.Fprintf(w, "%s: %s was received before (seq %d); nothing changed\n", view.Called(a), view.OneLine(t.before, 0), r.Seq)
			return err
		}
		_, err := fmt.Fprintf(w, "%s: %s (seq %d), now %s\n", view.Called(a), view.OneLine(r.What, 0), r.Seq, r.Standing)
		return err
	})
}

func sendCommand() *cobra.Command {
	c := command("send", cobra.RangeArgs(2, 3))
	t := newTeller(c)
	c.ValidArgsFunction = agentThen(t.h, awaitedEvents)
	id := c.Flags().String("id", "", "the sender's own id of this event")
	t.trace = c.Flags().String("trace", "", "the W3C traceparent of this event; what the agent does because of it carries its trace id")
	data := c.Flags().String("data", "", "the data: JSON, - for standard input, or @FILE")
	subject := c.Flags().String("subject", "", "seal the data for this person, so that perdure erase can make it unreadable everywhere")
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 3 && c.Flags().Changed("data") {
			return perdure.Invalid(errors.New("data is given twice; use the third argument or --data"))
		}
		if strings.TrimSpace(args[1]) == "" {
			return perdure.Invalid(errors.New("an event needs a NAME"))
		}
		from := *data
		if len(args) == 3 {
			from = args[2]
		}
		value, err := dataArg(c, from)
		if err != nil {
			return err
		}
		if c.Flags().Changed("subject") && (*subject == "" || value == nil) {
			return perdure.Invalid(errors.New("--subject seals data for a person; name them, and give data"))
		}
		return t.tell(args[0], func(ctx context.Context, n *perdure.Node, a *perdure.Agent) (*perdure.Entry, error) {
			ev := perdure.Event{Name: args[1], Data: value, ID: *id, By: n.Key.Name}
			if *subject != "" {
				vault := t.h.Vault()
				if vault == nil {
					return nil, perdure.Invalid(errors.New("a store in memory has no vault to keep the key in; name another with --store"))
				}
				var err error
				if ev.Data, err = perdure.Seal(vault, *subject, value); err != nil {
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

func pauseCommand() *cobra.Command {
	c := command("pause", cobra.ExactArgs(1))
	t := newTeller(c).withNote("why")
	c.RunE = func(_ *cobra.Command, args []string) error {
		return t.tell(args[0], func(ctx context.Context, n *perdure.Node, a *perdure.Agent) (*perdure.Entry, error) {
			return n.Pause(ctx, a.ID(), *t.note)
		})
	}
	return c
}

func resumeCommand() *cobra.Command {
	c := command("resume", cobra.ExactArgs(1))
	t := newTeller(c).withNote("why")
	older := c.Flags().Bool("older", false, "continue from this copy although a newer one was seen here; what was done since may be done again (owner only)")
	c.RunE = func(_ *cobra.Command, args []string) error {
		return t.tell(args[0], func(ctx context.Context, n *perdure.Node, a *perdure.Agent) (*perdure.Entry, error) {
			if a.Fold().Ended != nil {
				return nil, fmt.Errorf("%s: %w", view.Called(a), perdure.ErrTerminated)
			}
			if *older {
				if _, err := n.Accept(ctx, a.ID(), *t.note); err != nil {
					return nil, err
				}
			}
			admitted, err := t.admit(a, n)
			if err != nil {
				return nil, err
			}
			if len(a.Fold().Paused) == 0 && !admitted && !*older {
				return nil, perdure.WithHint(fmt.Errorf("%s is not paused", view.Called(a)), "see perdure show "+view.Callable(a)+" for what it waits for")
			}
			return n.Resume(ctx, a.ID(), *t.note)
		})
	}
	return c
}

// admit makes an agent count here that is held, says what it vouched for, and learns what the agent brings along.
func (t *teller) admit(a *perdure.Agent, n *perdure.Node) (bool, error) {
	ctx := t.c.Context()
	trust, err := t.h.Trust()
	if err != nil {
		return false, err
	}
	why := trust.Counts(a)
	if why == nil {
		return false, nil
	}
	if _, err := n.Admit(ctx, a, *t.note); err != nil {
		return false, err
	}
	f := a.Fold()
	note(t.c, "admitted %s: %s, owner %s, scope %s; %s", view.Called(a), view.Several(f.Count, "entry"), f.Charter.Owner.Short(), f.Charter.Scope, view.HeldText(why))
	if err := t.h.Learn(ctx, n.Store, a.ID()); err != nil {
		note(t.c, "%v; it runs here once the home has it", err)
	}
	return true, nil
}

func endCommand() *cobra.Command {
	c := command("end", cobra.ExactArgs(1))
	t := newTeller(c).withNote("why")
	c.RunE = func(_ *cobra.Command, args []string) error {
		return t.tell(args[0], func(ctx context.Context, n *perdure.Node, a *perdure.Agent) (*perdure.Entry, error) {
			return n.Cancel(ctx, a.ID(), *t.note)
		})
	}
	return c
}

func grantCommand() *cobra.Command {
	c := command("grant", cobra.ExactArgs(1))
	t := newTeller(c).withNote("why")
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
			return perdure.Invalid(errors.New("say how much more it may spend: --cost, --tokens or --calls, above zero"))
		}
		return t.tell(args[0], func(ctx context.Context, n *perdure.Node, a *perdure.Agent) (*perdure.Entry, error) {
			return n.Grant(ctx, a.ID(), amount, *t.note)
		})
	}
	return c
}

func settleCommand() *cobra.Command {
	c := command("settle", cobra.ExactArgs(2))
	t := newTeller(c).withNote("how you found out")
	c.ValidArgsFunction = agentThen(t.h, openDecisions)
	signal := &choice{"", []string{perdure.OK.String(), perdure.Failed.String()}}
	choiceFlag(c, signal, "signal", "ok if it happened, failed if it did not and will not")
	result := c.Flags().String("result", "", "what it returned: JSON, - for standard input, or @FILE")
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
		return t.tell(args[0], func(ctx context.Context, n *perdure.Node, a *perdure.Agent) (*perdure.Entry, error) {
			var open []perdure.Hash
			for _, o := range a.Fold().Open {
				open = append(open, o.Decision)
			}
			for _, o := range a.Fold().Doubles() {
				if !slices.Contains(open, o.Second) {
					open = append(open, o.Second)
				}
			}
			d, err := view.Pick(open, args[1], "open decision", a)
			if err != nil {
				return nil, err
			}
			if i := slices.Index(open, d); i < len(a.Fold().Open) {
				o := a.Fold().Open[i]
				t.about = new(view.DoubtOf(a, &o))
			}
			return n.Settle(ctx, a.ID(), perdure.Settle{Decision: d, Signal: as, Result: data, Note: *t.note})
		})
	}
	return c
}
