package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/view"
)

func policyCommand() *cobra.Command {
	c := command("policy", nil)
	c.AddCommand(policyCheckCommand(), policyExplainCommand(), policyTestCommand(), policySchemaCommand(),
		policyDefaultCommand())
	return c
}

func policyCheckCommand() *cobra.Command {
	c := command("policy check", nil)
	h, out := lookFlag(c), outputFlags(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		if err := h.Locate(); err != nil {
			return err
		}
		set, err := home.LoadPolicy(h.Home, args)
		if faults := policy.Faults(err); len(faults) > 0 {
			v := struct {
				OK     bool            `json:"ok"`
				Faults []*policy.Fault `json:"faults"`
			}{false, faults}
			return errors.Join(&answered{err}, out.print(v, func(w io.Writer) error { return show.Faults(w, faults) }))
		}
		if err != nil {
			return err
		}
		return answer(out, show.Policy)(set.Summary(), nil)
	}
	return c
}

func policySchemaCommand() *cobra.Command {
	c := command("policy schema", cobra.NoArgs)
	c.RunE = func(c *cobra.Command, _ []string) error {
		text := strings.TrimRight(policy.Schema(), "\n") + "\n"
		return say(c, map[string]string{"text": text}, "%s", text)
	}
	return c
}

func policyTestCommand() *cobra.Command {
	c := command("policy test", cobra.ExactArgs(1))
	h, out := lookFlag(c), outputFlags(c)
	p := new(home.Powers)
	policyFlag(c, &p.Policies)
	c.RunE = func(c *cobra.Command, args []string) error {
		if err := h.Locate(); err != nil {
			return err
		}
		set, err := p.Policy(h.Home)
		if err != nil {
			return err
		}
		var results []policy.CaseResult
		err = withInput(c, args[0], func(r io.Reader) (err error) {
			results, err = set.RunTests(r)
			return err
		})
		if err != nil {
			return fmt.Errorf("cases %s: %w", args[0], err)
		}
		reports, wrong := policy.Reports(results)
		if err := answers(out, show.Cases)(reports, nil); err != nil || wrong == 0 {
			return err
		}
		return &answered{fmt.Errorf("%d of %d cases do not hold", wrong, len(results))}
	}
	return c
}

func policyDefaultCommand() *cobra.Command {
	c := command("policy default", cobra.NoArgs)
	c.RunE = func(c *cobra.Command, _ []string) error {
		v := map[string]any{"hash": policy.Default().Hash(), "text": policy.DefaultText()}
		return say(c, v, "%s", policy.DefaultText())
	}
	return c
}

func policyExplainCommand() *cobra.Command {
	c := remotely(command("policy explain", cobra.RangeArgs(1, 2)))
	h, out := lookFlag(c), outputFlags(c)
	f := c.Flags()
	var q home.WhyQuestion
	f.StringVar(&q.Tool, "tool", "", "the tool to be called")
	args := f.String("args", "", "its arguments: JSON, - for standard input, or @FILE")
	f.IntVar(&q.Approvals, "approvals", 0, "how many people have approved it")
	f.BoolVar(&q.Admit, "admit", false, "ask whether the agent may run here when it arrives from elsewhere")
	f.BoolVar(&q.Trusted, "trusted", false, "with --admit: its owner is trusted here")
	f.StringArrayVar(&q.Set, "set", nil, "FACT=VALUE: assume this fact, as in spent.cost=500; may be repeated")
	policyFlag(c, &q.Policies)
	effect := &choice{"", perdure.Effect(0).CanonNames()[1:]}
	choiceFlag(c, effect, "effect", "class of the tool's effect (default: as the tool here has it)")
	c.RunE = func(c *cobra.Command, words []string) (err error) {
		if len(words) > 1 {
			q.Decision = words[1]
		}
		if q.Args, err = dataArg(c, *args); err != nil {
			return err
		}
		if effect.value != "" {
			if q.Effect, err = view.ParseName[perdure.Effect]("--effect", effect.value); err != nil {
				return perdure.Invalid(err)
			}
		}
		agents, err := agentsOf(h, words[0])
		if err != nil {
			return err
		}
		return answer(out, show.Explained)(agents.Explain(c.Context(), words[0], q))
	}
	return c
}
