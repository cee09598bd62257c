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
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

func newCommand() *cobra.Command {
	c := command("new", cobra.MaximumNArgs(1))
	h, out := storeFlag(c).acting(), outputFlags(c)
	file := c.Flags().StringP("file", "f", "", "read the intent from this file; - is standard input")
	flags := newFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		f, err := intentOf(c, *file, args)
		if err != nil {
			return err
		}
		if err := flags.apply(c, &f); err != nil {
			return perdure.Invalid(err)
		}
		g, err := f.Genesis(time.Now())
		if err != nil {
			return perdure.Invalid(err)
		}
		return h.use(true, func(ctx context.Context, s perdure.Store) error {
			if err := f.Refer(h.Home, *file, &g); err != nil {
				return err
			}
			return create(ctx, h, out, s, g)
		})
	}
	return c
}

// intentFlags are the fields of an intent as flags.
type intentFlags struct {
	name, kind, cost, deadline, advisor, scope *string
	tokens, calls, depth                       *int64
	labels                                     *map[string]string
	tools                                      *[]string
}

func newFlags(c *cobra.Command) *intentFlags {
	f := c.Flags()
	return &intentFlags{
		name:     f.String("name", "", "what to call the agent"),
		kind:     f.String("kind", "", "what kind of agent it is"),
		advisor:  f.String("advisor", "", "the advisor that proposes what it does"),
		scope:    f.String("scope", "", "where it belongs, a path such as acme/ops (default home)"),
		deadline: f.String("deadline", "", "when it must have ended: a time, or a duration from now"),
		cost:     f.String("budget-cost", "", "the most it may spend, in US dollars"),
		tokens:   f.Int64("budget-tokens", 0, "the most model tokens it may use"),
		calls:    f.Int64("budget-calls", 0, "the most tool calls it may make"),
		depth:    f.Int64("depth", 0, "how many generations it may delegate to"),
		labels:   f.StringToString("label", nil, "a label, name=value; may be repeated"),
		tools:    f.StringSlice("tool", nil, "a tool it may use; may be repeated (default: whatever policy permits)"),
	}
}

// apply puts what was given on the command line over the file.
func (i *intentFlags) apply(c *cobra.Command, f *home.IntentFile) error {
	given := c.Flags().Changed
	for name, to := range map[string]struct{ from, to *string }{
		"name": {i.name, &f.Name}, "kind": {i.kind, &f.Kind}, "advisor": {i.advisor, &f.Advisor}, "scope": {i.scope, &f.Scope},
		"deadline": {i.deadline, &f.Deadline}, "budget-cost": {i.cost, &f.Budget.Cost},
	} {
		if given(name) {
			*to.to = *to.from
		}
	}
	if given("budget-tokens") {
		f.Budget.Tokens = i.tokens
	}
	if given("budget-calls") {
		f.Budget.Calls = i.calls
	}
	if given("depth") {
		f.Depth = *i.depth
	}
	if given("tool") {
		f.Tools = *i.tools
	}
	for k, v := range *i.labels {
		if k == "" {
			return fmt.Errorf("--label =%s has no name; write name=value", v)
		}
		if f.Labels == nil {
			f.Labels = map[string]string{}
		}
		f.Labels[k] = v
	}
	return nil
}

// intentOf is the intent that the argument or the file gives.
func intentOf(c *cobra.Command, file string, args []string) (home.IntentFile, error) {
	if file == "" {
		if len(args) == 0 || strings.TrimSpace(args[0]) == "" {
			return home.IntentFile{}, perdure.Invalid(errors.New(`say what the agent is for: perdure new "GOAL", or -f FILE`))
		}
		return home.IntentFile{Goal: args[0]}, nil
	}
	if len(args) > 0 {
		return home.IntentFile{}, perdure.Invalid(errors.New("the goal is in the file; leave the argument out"))
	}
	f, err := readIntent(c, file)
	if err == nil && strings.TrimSpace(f.Goal) == "" {
		err = perdure.Invalid(fmt.Errorf("intent %s has no goal; write `goal: …`", file))
	}
	return f, err
}

// readIntent reads an intent file.
func readIntent(c *cobra.Command, file string) (f home.IntentFile, err error) {
	err = withInput(c, file, func(r io.Reader) (err error) {
		if f, err = home.ReadIntent(r); err != nil {
			return fmt.Errorf("intent %s: %w", file, err)
		}
		return nil
	})
	return f, err
}

// made is what a command that makes an agent prints.
type made struct {
	Agent perdure.AgentID `json:"agent"`
	Name  string          `json:"name,omitempty"`
}

// create stores a new agent and prints it.
func create(ctx context.Context, h *homeFlag, out *output, s perdure.Store, g perdure.Genesis) error {
	a, err := h.Create(ctx, s, g)
	if err != nil {
		return err
	}
	noAdvisor(ctx, h, &g)
	name := a.Fold().Intent.Name
	return out.say(made{a.ID(), name}, "%s %s\n", view.InLine(name), a.ID())
}
