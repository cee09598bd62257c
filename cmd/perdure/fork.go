package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func forkCommand() *cobra.Command {
	c := command("fork", cobra.ExactArgs(1))
	h, out := storeFlag(c).acting(), outputFlags(c)
	f := &forking{h: h, out: out}
	c.Flags().StringVar(&f.goal, "goal", "", "another goal")
	c.Flags().StringVar(&f.name, "name", "", "what to call it (default: the other's name and a number)")
	c.Flags().StringVar(&f.file, "intent", "", "an intent file to put over its intent; - is standard input")
	c.Flags().BoolVar(&f.live, "live", false, "let it act, not only rehearse")
	c.Flags().BoolVar(&f.dry, "dry-run", false, "create nothing; list what is not undone")
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := f.prepare(c, args[0]); err != nil {
			return err
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			p, err := home.FindPoint(ctx, h.Home, s, args[0])
			if err != nil {
				return err
			}
			return f.fork(ctx, s, p)
		})
	}
	return c
}

// forking is one run of fork.
type forking struct {
	h                *homeFlag
	out              *output
	goal, name, file string
	live, dry        bool

	over *home.IntentFile
}

// prepare checks the flags, and reads the intent.
func (f *forking) prepare(c *cobra.Command, arg string) error {
	if name, _ := home.SplitRef(arg); view.IsPath(name) {
		return perdure.Invalid(fmt.Errorf("a fork is made in a store, and %s is a file; take it in with perdure import first", name))
	}
	if f.file == "" {
		return nil
	}
	return withInput(c, f.file, func(r io.Reader) error {
		over, err := home.ReadIntent(r)
		if err != nil {
			return fmt.Errorf("intent %s: %w", f.file, err)
		}
		f.over = &over
		return nil
	})
}

// forked is what fork prints.
type forked struct {
	Agent    perdure.AgentID `json:"agent,omitzero"` // none with --dry-run
	Name     string          `json:"name"`
	From     perdure.AgentID `json:"from"`
	At       perdure.Hash    `json:"at"`
	Rehearse bool            `json:"rehearse"`
	Effects  []view.Undone   `json:"not_undone"`
}

// fork makes the new agent and says what is not undone.
func (f *forking) fork(ctx context.Context, s perdure.Store, p *home.Point) error {
	g, err := f.genesis(ctx, s, p)
	if err != nil {
		return err
	}
	effects, err := view.EffectsOf(ctx, s, p.Agent)
	if err != nil {
		return err
	}
	r := forked{Name: g.Intent.Name, From: g.Lineage.Parent, At: g.Lineage.Cause, Rehearse: g.Lineage.Rehearse, Effects: effects}
	if !f.dry {
		if r.Agent, err = f.create(ctx, s, g, p.Agent); err != nil {
			return err
		}
	}
	return f.out.print(r, func(w io.Writer) error { return r.write(w, view.Called(p.Agent)) })
}

// genesis is what the new agent begins with.
func (f *forking) genesis(ctx context.Context, s perdure.Store, p *home.Point) (g perdure.Genesis, err error) {
	at := p.Agent.Heads()[0]
	if p.Entry != nil {
		at = p.Entry.Name
	}
	g = p.Agent.Fold().ForkGenesis(at, f.live)
	if f.over != nil {
		if err := f.over.PutOver(&g, time.Now()); err != nil {
			return g, perdure.Invalid(fmt.Errorf("intent %s: %w", f.file, err))
		}
	}
	if d := g.Intent.Deadline; d != 0 && !d.Go().After(time.Now()) {
		return g, perdure.Invalid(fmt.Errorf("the deadline of %s, %s, has passed, and a fork would end at once; "+
			"name another one in a file for --intent", view.Called(p.Agent), d))

	}
	if f.goal != "" {
		g.Intent.Goal = f.goal
	}
	if f.name != "" {
		g.Intent.Name = f.name
	}
	if g.Intent.Name == "" {
		g.Intent.Name, err = home.FreeName(ctx, s, view.Called(p.Agent))
	}
	return g, err
}

// create makes the new agent.
func (f *forking) create(ctx context.Context, s perdure.Store, g perdure.Genesis, from *perdure.Agent) (perdure.AgentID, error) {
	n, err := f.h.Maker(ctx, s, &g)
	if err != nil {
		return perdure.AgentID{}, err
	}
	a, err := n.Fork(ctx, from, g)
	if err != nil {
		return perdure.AgentID{}, err
	}
	return a.ID(), nil
}

// write prints the new agent, what it may do, and what stays done.
func (r *forked) write(w io.Writer, from string) error {
	s := term.StyleOf(w)
	var b strings.Builder
	if r.Agent.IsZero() {
		fmt.Fprintf(&b, "%s would be made\n", view.InLine(r.Name))
	} else {
		fmt.Fprintf(&b, "%s %s\n", view.InLine(r.Name), r.Agent)
	}
	if r.Rehearse {
		fmt.Fprintf(&b, "it rehearses: effects come from the record of %s or are refused; with --live it would act\n", from)
	} else {
		fmt.Fprintln(&b, s.Warn("it acts for itself: an effect it proposes again is done again"))
	}
	if len(r.Effects) == 0 {
		fmt.Fprintf(&b, "%s has changed nothing outside\n", from)
	} else {
		fmt.Fprintln(&b, s.Warn("not undone, done by "+from+":"))
	}
	for _, e := range r.Effects {
		signal, when := "outcome not known", "before the fork"
		if e.Signal != 0 {
			signal = e.Signal.String()
		}
		if e.After {
			when = "after it"
		}
		fmt.Fprintf(&b, "  %d  %s (%s, %s, %s)\n", e.Seq, view.OneLine(e.What, view.LineWidth), e.Effect, signal, when)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
