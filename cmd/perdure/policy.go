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
	"github.com/perdure/perdure/policy"
)

func policyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "policy",
		Short: "Check, test and explain policies",
		Long: `Policies are rules in the Cedar language that permit an action, deny it, or ask a person. Those of a store are the .cedar files in its
folder ` + policyDir + `/; without any the built-in policy holds: reading is permitted, and what changes something outside asks a person.`,
	}
	c.AddCommand(policyCheckCommand(), policyExplainCommand(), policyTestCommand(), policySchemaCommand())
	return c
}

func policyCheckCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "check [flags] [PATH…]",
		Short: "Check policy files",
		Long: `Check loads policy files, or the .cedar files of folders, and type-checks every rule against the facts there are. Everything that is wrong is
listed with file, line and column. Without a PATH it checks the policy of the store.`,
		Example: `  perdure policy check
  perdure policy check policies/ extra.cedar`,
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound),
	}
	h, out := storeFlag(c), outputFlags(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		if _, err := out.check(); err != nil {
			return err
		}
		if err := h.locate(); err != nil {
			return err
		}
		set, err := loadPolicy(h, args)
		if err != nil {
			return err
		}
		r := struct {
			Hash  perdure.Hash `json:"hash"`
			Rules []string     `json:"rules"`
		}{set.Hash(), set.Rules()}
		return out.print(r, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "ok: %d rules, set %s\n%s\n", len(r.Rules), r.Hash, strings.Join(r.Rules, "\n"))
			return err
		})
	}
	return c
}

// loadPolicy loads the policies named, else those of the home.
func loadPolicy(h *home, paths []string) (*policy.Set, error) {
	return (&powers{policies: &paths}).policy(h)
}

func policySchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:         "schema",
		Short:       "Print the facts a rule can ask about",
		Long:        `Schema prints the Cedar schema every policy is checked against.`,
		Example:     `  perdure policy schema`,
		Args:        cobra.NoArgs,
		Annotations: exits(exitOK, exitUsage),
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := io.WriteString(c.OutOrStdout(), strings.TrimRight(policy.Schema(), "\n")+"\n")
			return err
		},
	}
}

func policyTestCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "test [flags] TABLE|-",
		Short: "Run a table of cases against policies",
		Long: `Test runs a table of cases, in YAML or JSON: facts, and what the policy is to answer. Facts that a case leaves out are those of an
unremarkable agent that wants to do something unremarkable. It exits with 1 when a case does not hold.

  - name: a payment asks two people
    resource: bank.pay
    context: {effect: once, args: {cents: 500}}
    want: ask
    rules: [payments-ask]`,
		Example:     `  perdure policy test --policy policies/ cases.yaml`,
		Args:        cobra.ExactArgs(1),
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound),
	}
	h, out := storeFlag(c), outputFlags(c)
	p := &powers{policies: policyFlag(c)}
	c.RunE = func(c *cobra.Command, args []string) error {
		if _, err := out.check(); err != nil {
			return err
		}
		if err := h.locate(); err != nil {
			return err
		}
		set, err := p.policy(h)
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
		return reportCases(out, results)
	}
	return c
}

// reportCases prints what came of each case.
func reportCases(out *output, results []policy.CaseResult) error {
	wrong := 0
	var values []any
	for _, r := range results {
		if r.Wrong != "" {
			wrong++
		}
		values = append(values, struct {
			Name   string   `json:"name"`
			OK     bool     `json:"ok"`
			Want   string   `json:"want"`
			Got    string   `json:"got"`
			Wrong  string   `json:"wrong,omitempty"`
			Rules  []string `json:"rules"`
			Reason string   `json:"reason,omitempty"`
		}{r.Case.Name, r.Wrong == "", r.Case.Want, r.Explanation.Verdict.Answer.String(), r.Wrong, r.Explanation.Verdict.Rules, r.Explanation.Verdict.Reason})
	}
	err := out.list(values, func(w io.Writer) error {
		s := styleOf(w)
		for _, r := range results {
			text := s.good("ok   ") + "  " + r.Case.Name
			if r.Wrong != "" {
				text = s.bad("wrong") + "  " + r.Case.Name + ": " + r.Wrong
			}
			if _, err := fmt.Fprintln(w, text); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(w, "%d cases, %d wrong\n", len(results), wrong)
		return err
	})
	if err == nil && wrong > 0 {
		err = &answered{fmt.Errorf("%d of %d cases do not hold", wrong, len(results))}
	}
	return err
}

func policyExplainCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "explain [flags] AGENT[@REF]",
		Short: "Say what policy would answer an agent, and why",
		Long: `Explain asks policy about an action of an agent as it stands, or as it stood, and says what every rule made of it. Nothing is recorded.

The action is a call of --tool with --args; without them it is what the agent asks a person about now, or would do next.`,
		Example: `  perdure policy explain shop --tool bank.pay --args '{"cents":500}' --effect once
  perdure policy explain shop@12 --json`,
		Args:        cobra.ExactArgs(1),
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound),
	}
	h, out := storeFlag(c), outputFlags(c)
	c.ValidArgsFunction = agentArg(h)
	p := &powers{policies: policyFlag(c)}
	tool := c.Flags().String("tool", "", "the tool to be called")
	args := c.Flags().String("args", "", "its arguments: JSON, - for standard input, or @FILE")
	effect := &choice{perdure.Once.String(), perdure.Effect(0).CanonNames()[1:]}
	choiceFlag(c, effect, "effect", "class of the tool's effect")
	approvals := c.Flags().Int("approvals", 0, "how many people have approved it")
	c.RunE = func(c *cobra.Command, words []string) error {
		if _, err := out.check(); err != nil {
			return err
		}
		if *tool == "" && (c.Flags().Changed("args") || c.Flags().Changed("effect")) {
			return misuse(c, errors.New("--args and --effect are about a tool; name it with --tool"))
		}
		data, err := dataArg(c, *args)
		if err != nil {
			return err
		}
		class, err := parseName[perdure.Effect]("--effect", effect.value)
		if err != nil {
			return misuse(c, err)
		}
		return h.useFor(words[0], func(ctx context.Context, s perdure.Store, arg string) error {
			at, err := findPoint(ctx, c, s, arg)
			if err != nil {
				return err
			}
			set, err := p.policy(h)
			if err != nil {
				return err
			}
			r := perdure.Request{Action: perdure.Execute{Tool: *tool, Args: data}, Effect: class, Approvals: *approvals}
			if *tool == "" {
				if r, err = requestOf(at.agent); err != nil {
					return misuse(c, err)
				}
			}
			return printExplanation(out, r, set.Explain(at.agent, r, time.Now()))
		})
	}
	return c
}

// requestOf is what an agent asks about, or would do next.
func requestOf(a *perdure.Agent) (perdure.Request, error) {
	f := a.Fold()
	if len(f.Asks) > 0 {
		return perdure.Request{Action: f.Asks[0].Action, Effect: perdure.Once}, nil
	}
	if d, ok := perdure.Plan(a, perdure.Capabilities{All: true}, time.Now()).(perdure.Decide); ok {
		return perdure.Request{Action: d.Action, Effect: perdure.Once}, nil
	}
	return perdure.Request{}, fmt.Errorf("%s proposes nothing now; name an action with --tool", called(a))
}

// printExplanation prints why a verdict is what it is.
func printExplanation(out *output, r perdure.Request, x policy.Explanation) error {
	v := struct {
		Action  string              `json:"action"`
		Verdict perdure.Verdict     `json:"verdict"`
		Rules   []policy.RuleReport `json:"rules"`
		Facts   map[string]any      `json:"facts"`
	}{actionText(r.Action), x.Verdict, x.Rules, x.Facts}
	return out.print(v, func(w io.Writer) error {
		s := styleOf(w)
		answer := x.Verdict.Answer.String()
		if x.Verdict.Reason != "" {
			answer += ": " + x.Verdict.Reason
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", oneLine(v.Action, lineWidth), s.head(answer)); err != nil {
			return err
		}
		t := table{}
		for _, rule := range x.Rules {
			word, matched := "forbid", "does not apply"
			if rule.Permit {
				word = "permit"
			}
			if rule.Obligation != nil {
				word = "ask"
			}
			switch {
			case rule.Fault != "":
				matched = "no answer: " + rule.Fault
			case rule.Matched:
				matched = "applies"
			}
			t.add("  "+rule.ID, word, matched, rule.Where)
		}
		return t.write(w)
	})
}
