package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/view"
)

func lsCommand() *cobra.Command {
	c := remotely(command("ls", cobra.NoArgs))
	h, out := lookFlag(c), outputFlags(c)
	filter := filterFlags(c)
	var standing []string
	wordsFlag(c, &standing, "standing", home.Standings, "only those that stand so, as the list says: "+
		strings.Join(home.Standings, ", ")+"; may be repeated")
	c.RunE = func(c *cobra.Command, _ []string) error {
		f, err := filter(time.Now())
		if err != nil {
			return perdure.Invalid(err)
		}
		agents, err := agentsOf(h)
		if err != nil {
			return err
		}
		lines, err := home.ListStanding(c.Context(), agents, f, standing)
		if err != nil {
			return err
		}
		err = list(out, lines, func(w io.Writer) error {
			if len(lines) == 0 {
				note(c, "%s", home.NoAgents(f, standing))
			}
			return show.Agents(w, lines, time.Now())
		})
		for i := range lines {
			if wrong := lines[i].WrongText(); wrong != "" {
				note(c, "%s", wrong)
			}
		}
		return err
	}
	return c
}

// filterFlags adds the flags that select agents.
func filterFlags(c *cobra.Command) func(now time.Time) (perdure.Filter, error) {
	x, f := new(home.Selection), c.Flags()
	wordsFlag(c, &x.States, "state", phase.State(0).CanonNames()[1:],
		"only those in this state of the runtime; may be repeated")
	f.StringVar(&x.Kind, "kind", "", "only those of this kind")
	f.StringVar(&x.Scope, "scope", "", "only those in this scope or below")
	f.Var((*pairs)(&x.Labels), "label", "only those with this label, name=value; may be repeated")
	f.StringVar(&x.Name, "name", "", "only those with this name; * and ? are wildcards")
	f.StringVar(&x.Since, "since", "", "only those with an entry since this time, or within this duration")
	f.Var((*view.Limit)(&x.Limit), "limit", "at most N of them (default all)")
	return func(now time.Time) (perdure.Filter, error) {
		selected, err := x.Filter(now)
		if err != nil {
			err = fmt.Errorf("--%w", err)
		}
		return selected, err
	}
}
