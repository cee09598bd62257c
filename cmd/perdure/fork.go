package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func forkCommand() *cobra.Command {
	c := remotely(command("fork", cobra.ExactArgs(1)))
	h, out := storeFlag(c).acting(), outputFlags(c)
	var f home.Fork
	c.Flags().StringVar(&f.Goal, "goal", "", "another goal")
	c.Flags().StringVar(&f.Name, "name", "", "what to call it (default: the other's name and a number)")
	file := c.Flags().String("intent", "", "an intent file to put over its intent; - is standard input")
	c.Flags().BoolVar(&f.Live, "live", false, "let it act, not only rehearse")
	c.Flags().BoolVar(&f.Dry, "dry-run", false, "create nothing; list what is not undone")
	c.RunE = func(c *cobra.Command, args []string) error {
		if name, _ := home.SplitRef(args[0]); view.IsPath(name) {
			return perdure.Invalid(fmt.Errorf("a fork is made in a store, and %s is a file; take it in with perdure "+
				"import first", name))
		}
		if *file != "" {
			over, err := readIntent(c, *file)
			if err != nil {
				return err
			}
			f.Over = &over
		}
		agents, err := agentsOf(h)
		if err != nil {
			return err
		}
		r, err := agents.Fork(c.Context(), args[0], f)
		if err != nil {
			return err
		}
		return out.print(r, func(w io.Writer) error { return writeForked(w, r) })
	}
	return c
}

// writeForked prints the new agent, what it may do, and what stays done.
func writeForked(w io.Writer, r *home.Forked) error {
	s := term.StyleOf(w)
	var b strings.Builder
	if r.Agent.IsZero() {
		fmt.Fprintf(&b, "%s would be made\n", view.InLine(r.Name))
	} else {
		fmt.Fprintf(&b, "%s %s\n", view.InLine(r.Name), r.Agent)
	}
	if r.Rehearse {
		fmt.Fprintf(&b, "it rehearses: effects come from the record of %s or are refused; with --live it would act\n",
			r.Of)
	} else {
		fmt.Fprintln(&b, s.Warn("it acts for itself: an effect it proposes again is done again"))
	}
	if r.Paused {
		fmt.Fprintln(&b, here("it is paused, as "+r.Of+" is: perdure resume "+view.CommandName(r.Name, r.Agent)))
	}
	if len(r.Effects) == 0 {
		fmt.Fprintf(&b, "%s has changed nothing outside\n", r.Of)
	} else {
		fmt.Fprintln(&b, s.Warn("not undone, done by "+r.Of+":"))
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
	writePending(&b, r)
	_, err := io.WriteString(w, b.String())
	return err
}

// writePending prints what was open where the fork begins.
func writePending(b *strings.Builder, r *home.Forked) {
	if len(r.Open) > 0 {
		fmt.Fprintf(b, "open in %s there, and not part of the fork: its advisor proposes it again, or another way\n",
			r.Of)
	}
	for _, p := range r.Open {
		state := "no outcome yet"
		if p.Asked {
			state = "a person was asked, and had not answered"
		}
		fmt.Fprintf(b, "  %s (%s)\n", view.OneLine(p.What, view.LineWidth), state)
	}
}
