package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
)

func forkCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "fork [flags] AGENT[@REF]",
		Short: "Make a new agent from a point in another's memory",
		Long: `Fork makes a new agent that begins where another one was: with its intent as of that point, what was left of its budget, and its
state. Its lineage names the agent and the entry it was forked at. The new agent has its own memory and its own owner: this store's key.

The world cannot be forked. What the other agent did outside, up to that point and after it, is not undone; fork lists it.`,
		Example: `  perdure fork news@12 --goal "the same, but for sports"
  perdure fork shop@10m --name shop-again --json`,
		Args:        cobra.ExactArgs(1),
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitRejected, exitInterrupted),
	}
	h, out := storeFlag(c), outputFlags(c)
	c.ValidArgsFunction = agentArg(h)
	goal := c.Flags().String("goal", "", "another goal")
	name := c.Flags().String("name", "", "what to call it (default: the other's name and a number)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if _, err := out.check(); err != nil {
			return err
		}
		if c.Flags().Changed("goal") && strings.TrimSpace(*goal) == "" {
			return misuse(c, errors.New("--goal is empty; leave it out to keep the goal"))
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			p, err := findPoint(ctx, c, s, args[0])
			if err != nil {
				return err
			}
			return fork(ctx, h, out, s, p, *goal, *name)
		})
	}
	return c
}

// forked is what fork prints.
type forked struct {
	made
	From    perdure.AgentID `json:"from"`
	At      perdure.Hash    `json:"at"`
	Effects []undone        `json:"not_undone"`
}

// undone is something the forked agent did to the world.
type undone struct {
	Seq    int64          `json:"seq"`
	Tool   string         `json:"tool"`
	Effect perdure.Effect `json:"effect"`
	Signal perdure.Signal `json:"signal,omitempty"` // absent: not known yet
	What   string         `json:"what"`
	After  bool           `json:"after"` // after the point of the fork
}

// fork makes the new agent and says what is not undone.
func fork(ctx context.Context, h *home, out *output, s perdure.Store, p *pointIn, goal, name string) error {
	f := p.agent.Fold()
	g := perdure.Genesis{Intent: f.Intent, Charter: f.Charter}
	g.Charter.Owner = perdure.Key{} // whoever forks it
	g.Intent.Budget = f.Left()
	at := p.agent.Heads()[0]
	if p.entry != nil {
		at = p.entry.Name
	}
	g.Lineage = &perdure.Lineage{Parent: f.Agent, Cause: at, Relation: perdure.Fork}
	if goal != "" {
		g.Intent.Goal = goal
	}
	var err error
	if g.Intent.Name = name; name == "" {
		if g.Intent.Name, err = freeName(ctx, s, called(p.agent)); err != nil {
			return err
		}
	}
	effects, err := effectsOf(ctx, s, p)
	if err != nil {
		return err
	}
	n, err := h.node(s)
	if err != nil {
		return err
	}
	a, err := n.Create(ctx, g)
	if err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // it is there: it gets its state, too
	from, err := perdure.DataOf(map[string]any{"agent": f.Agent.String(), "entry": at.String(), "seq": f.Seq})
	if err != nil {
		return err
	}
	if _, err := n.Tell(ctx, a.ID(), perdure.Event{Name: "forked", By: n.Key.Name, ID: "forked", Data: from, Set: f.Vars}); err != nil {
		return err
	}
	if a, err = perdure.Load(ctx, s, a.ID()); err != nil {
		return err
	}
	if err := index(ctx, s, a); err != nil {
		return err
	}
	r := forked{made{a.ID(), g.Intent.Name}, f.Agent, at, effects}
	return out.print(r, func(w io.Writer) error { return r.write(w, called(p.agent)) })
}

// effectsOf is what the agent did outside, in its whole memory.
func effectsOf(ctx context.Context, s perdure.Store, p *pointIn) ([]undone, error) {
	var found []undone
	open := map[perdure.Hash]int{} // where in found
	told := newNarrator()
	past := p.agent.Fold().Seq
	for e, err := range perdure.Memory(ctx, s, p.agent.ID()) {
		if err != nil {
			return nil, err
		}
		l := told.line(e)
		switch b := e.Content().(type) {
		case perdure.Decision:
			if b.Verdict.Answer == perdure.Allow && b.Effect != 0 && b.Effect != perdure.Read && l.Tool != "" {
				open[e.Name] = len(found)
				found = append(found, undone{Seq: e.Seq, Tool: l.Tool, Effect: b.Effect, What: actionText(told.decided[e.Name]), After: e.Seq > past})
			}
		case perdure.Outcome:
			if i, ok := open[b.Decision]; ok {
				found[i].Signal = b.Signal
			}
		case perdure.Event:
			if n, ok := b.Notice.(perdure.Settle); ok {
				if i, ok := open[n.Decision]; ok {
					found[i].Signal = n.Signal
				}
			}
		}
	}
	return found, nil
}

// write prints the new agent, and what stays done.
func (r *forked) write(w io.Writer, from string) error {
	if _, err := fmt.Fprintf(w, "%s %s\n", r.Name, r.Agent); err != nil {
		return err
	}
	if len(r.Effects) == 0 {
		return nil
	}
	s := styleOf(w)
	if _, err := fmt.Fprintln(w, s.warn("not undone, done by "+from+":")); err != nil {
		return err
	}
	for _, e := range r.Effects {
		signal, when := "outcome not known", "before the fork"
		if e.Signal != 0 {
			signal = e.Signal.String()
		}
		if e.After {
			when = "after it"
		}
		if _, err := fmt.Fprintf(w, "  %d  %s (%s, %s, %s)\n", e.Seq, oneLine(e.What, lineWidth), e.Effect, signal, when); err != nil {
			return err
		}
	}
	return nil
}
