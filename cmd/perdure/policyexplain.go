package main

import (
	"context"
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

// explainFlag is the flags of policy explain.
type explainFlag struct {
	tool, args      *string
	effect          *choice
	approvals       *int
	admit, trusted  *bool
	set             *[]string
	policies        []string
	decision, agent string
}

func policyExplainCommand() *cobra.Command {
	c := command("policy explain", cobra.RangeArgs(1, 2))
	h, out := lookFlag(c), outputFlags(c)
	flags := c.Flags()
	x := &explainFlag{
		tool:      flags.String("tool", "", "the tool to be called"),
		args:      flags.String("args", "", "its arguments: JSON, - for standard input, or @FILE"),
		effect:    &choice{perdure.Once.String(), perdure.Effect(0).CanonNames()[1:]},
		approvals: flags.Int("approvals", 0, "how many people have approved it"),
		admit:     flags.Bool("admit", false, "ask whether the agent may run here when it arrives from elsewhere"),
		trusted:   flags.Bool("trusted", false, "with --admit: its owner is trusted here"),
		set:       flags.StringArray("set", nil, "FACT=VALUE: assume this fact, as in spent.cost=500; may be repeated"),
	}
	policyFlag(c, &x.policies)
	choiceFlag(c, x.effect, "effect", "class of the tool's effect")
	c.RunE = func(c *cobra.Command, words []string) error {
		if x.agent = words[0]; len(words) > 1 {
			x.decision = words[1]
		}
		if err := x.check(c); err != nil {
			return perdure.Invalid(err)
		}
		return h.useFor(x.agent, func(ctx context.Context, s perdure.Store, arg string) error {
			q, err := x.question(c)
			if err != nil {
				return err
			}
			e, err := h.Explain(ctx, s, arg, q)
			if err != nil {
				return err
			}
			return out.print(e, func(w io.Writer) error { return writeExplained(w, e) })
		})
	}
	return c
}

// check refuses flags that do not go together.
func (x *explainFlag) check(c *cobra.Command) error {
	given := c.Flags().Changed
	switch {
	case x.decision != "" && (given("tool") || given("admit") || given("approvals")):
		return errors.New("a decision has its own action; leave --tool, --admit and --approvals out, or change a " +
			"fact with --set")
	case *x.admit && (given("tool") || given("approvals")):
		return errors.New("--admit is about the agent as a whole; leave --tool and --approvals out")
	case *x.trusted && !*x.admit:
		return errors.New("--trusted is about an agent that arrives; add --admit")
	case *x.tool == "" && (given("args") || given("effect")):
		return errors.New("--args and --effect are about a tool; name it with --tool")
	}
	return nil
}

// question is what the flags ask policy.
func (x *explainFlag) question(c *cobra.Command) (q home.WhyQuestion, err error) {
	q = home.WhyQuestion{Decision: x.decision, Tool: *x.tool, Approvals: *x.approvals, Admit: *x.admit,
		Trusted: *x.trusted, Set: *x.set, Policies: x.policies}
	if q.Args, err = dataArg(c, *x.args); err != nil {
		return q, err
	}
	q.Effect, err = view.ParseName[perdure.Effect]("--effect", x.effect.value)
	return q, perdure.Invalid(err)
}

// writeExplained prints why a verdict is what it is.
func writeExplained(w io.Writer, e *home.Explained) error {
	s := term.StyleOf(w)
	var b strings.Builder
	line := func(text string) { b.WriteString(term.Hang(view.InLine(text), 4, s.Width) + "\n") }
	if r := e.Recorded; r != nil {
		line(fmt.Sprintf("decision %s at seq %d, %s: %s by %s", r.Entry.Short(), r.Seq, r.Time, answerText(&r.Verdict),
			strings.Join(r.Verdict.Rules, ", ")))
	}
	if e.Verdict == nil {
		line(e.Action + ": the runtime itself, without policy")
	} else {
		line(e.Action + ": " + answerText(e.Verdict))
	}
	if _, err := io.WriteString(w, b.String()); err != nil || e.Verdict == nil {
		return err
	}
	t := term.Table{Fold: true}
	for _, rule := range e.Rules {
		does, applies, why := rule.Words()
		t.Add("  "+rule.ID, does, applies, strings.TrimSpace(rule.Where+"  "+why))
	}
	return t.Write(w)
}

// answerText is a verdict in words.
func answerText(v *perdure.Verdict) string {
	if v.Reason == "" {
		return v.Answer.String()
	}
	return v.Answer.String() + ": " + v.Reason
}
