package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func newCommand() *cobra.Command {
	c := remotely(command("new", func(_ *cobra.Command, args []string) (err error) {
		if len(args) > 1 {
			err = perdure.WithHint(perdure.ErrInvalid, "put the goal in quotes: perdure new "+
				view.Pasted(strings.Join(args, " ")))
		}
		return err
	}))
	h, out := storeFlag(c).acting().founding(), outputFlags(c)
	file := c.Flags().StringP("file", "f", "", "read the intent from this file; - is standard input")
	flags := newFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		f, err := intentOf(c, *file, args)
		if err != nil {
			return err
		}
		if err := flags.apply(c, &f); err != nil {
			return err
		}
		agents, err := agentsOf(h)
		if err != nil {
			return err
		}
		made, err := agents.Create(c.Context(), &f, *file)
		if err != nil {
			return err
		}
		if _, near := agents.(home.Near); near && f.Advisor == "" && term.IsTerminal(c.ErrOrStderr()) {
			h.NoteAdvisor()
		}
		return out.say(made, "%s %s\n", view.InLine(made.Name), made.Agent)
	}
	return c
}

// intentFlags are the fields of an intent as flags.
type intentFlags struct {
	home.IntentFile
	tokens, calls int64
	inputs        map[string]string
	json          string
}

func newFlags(c *cobra.Command) *intentFlags {
	i, f := new(intentFlags), c.Flags()
	f.StringVar(&i.Name, "name", "", "what to call the agent")
	f.StringVar(&i.Kind, "kind", "", "what kind of agent it is")
	f.StringVar(&i.Advisor, "advisor", "", "the advisor that proposes what it does, by its name in node.yaml")
	f.StringVar(&i.Scope, "scope", "", "where it belongs, a path such as acme/ops (default home)")
	f.StringVar(&i.Deadline, "deadline", "", "when it must have ended: a time, or a duration from now")
	f.StringVar(&i.Budget.Cost, "budget-cost", "", "the most it may spend, in US dollars")
	f.Int64Var(&i.tokens, "budget-tokens", 0, "the most model tokens it may use")
	f.Int64Var(&i.calls, "budget-calls", 0, "the most tool calls it may make")
	f.Int64Var(&i.Depth, "depth", 0, "how many generations it may delegate to")
	f.Var((*pairs)(&i.Labels), "label", "a label, name=value; may be repeated")
	f.Var((*pairs)(&i.inputs), "input", "an input, name=text; may be repeated")
	f.StringVar(&i.json, "input-json", "", "its inputs: JSON, - for standard input, or @FILE")
	f.StringSliceVar(&i.Tools, "tool", nil, "a tool it may use; may be repeated (default: whatever policy permits)")
	f.StringSliceVar(&i.Approvers, "approver", nil,
		"who approves what it does, in the place of its owner: a key, or the name of one trusted here; may be repeated")
	return i
}

// apply puts what was given on the command line over the file.
func (i *intentFlags) apply(c *cobra.Command, f *home.IntentFile) error {
	given := c.Flags().Changed
	if given("budget-tokens") {
		i.Budget.Tokens = &i.tokens
	}
	if given("budget-calls") {
		i.Budget.Calls = &i.calls
	}
	if given("depth") {
		f.Depth = i.Depth
	}
	data, err := dataArg(c, i.json)
	if err != nil {
		return fmt.Errorf("--input-json: %w", err)
	}
	if data != nil {
		i.Inputs = data.Value()
	}
	if err := f.Override(&i.IntentFile); err != nil || len(i.inputs) == 0 {
		return perdure.Invalid(err)
	}
	texts := map[string]any{}
	named, _ := i.Inputs.(map[string]any)
	for name, text := range i.inputs {
		if texts[name] = text; named[name] != nil {
			return perdure.Invalid(fmt.Errorf("input %s is given twice: with --input and in --input-json", name))
		}
	}
	return perdure.Invalid(f.Override(&home.IntentFile{Inputs: texts}))
}

// intentOf is the intent that the argument or the file gives.
func intentOf(c *cobra.Command, file string, args []string) (home.IntentFile, error) {
	if file == "" {
		if len(args) == 0 || strings.TrimSpace(args[0]) == "" {
			return home.IntentFile{}, perdure.Invalid(errors.New(
				`say what the agent is for: perdure new "GOAL", or -f FILE`))
		}
		return home.IntentFile{Goal: args[0]}, nil
	}
	if len(args) > 0 {
		return home.IntentFile{}, perdure.Invalid(errors.New("the goal is in the file; leave the argument out"))
	}
	return readIntent(c, file)
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
