package show

import (
	"fmt"
	"io"
	"strings"

	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// Forked prints the new agent, what it may do, and what stays done. Typed is a command as it is to be typed.
func Forked(w io.Writer, r *home.Forked, typed func(string) string) error {
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
		fmt.Fprintln(&b, typed("it is paused, as "+r.Of+" is: perdure resume "+view.CommandName(r.Name, r.Agent)))
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
	pending(&b, r)
	return term.Say(w, b.String())
}

// pending prints what was open where the fork begins.
func pending(b *strings.Builder, r *home.Forked) {
	if len(r.Open) > 0 {
		fmt.Fprintf(b, "open in %s there, and not part of the fork: its advisor proposes it again, or another way\n",
			r.Of)
	}
	for _, p := range r.Open {
		state := "no outcome yet"
		switch {
		case p.Asked:
			state = "a person was asked, and had not answered"
		case p.Slept:
			state = "it slept; the fork begins awake"
		}
		fmt.Fprintf(b, "  %s (%s)\n", view.OneLine(p.What, view.LineWidth), state)
	}
}
