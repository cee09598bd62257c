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
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/view"
)

// explaining is what policy explain is asked.
type explaining struct {
	tool, args      *string
	effect          *choice
	approvals       *int
	admit, trusted  *bool
	set             *[]string
	powers          *home.Powers
	decision, agent string
}

func policyExplainCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "explain [flags] AGENT[@REF] [DECISION]",
		Short: "Explain a policy decision, past or hypothetical",
		Long: `Explain shows how every rule applied to a decision in an agent's memory, named by its seq or by at least 4
digits of its hash. It uses the facts and the rules of that time.

Without a DECISION it asks policy about an action of the agent as it stands, or as it stood at REF. The action
is a call of --tool with --args; with --admit, its arrival from elsewhere; without either, what it asks a person
about now, or would do next.

--set changes a fact and shows what policy would answer then. Nothing is recorded.`,
		Example: `  perdure policy explain shop 12
  perdure policy explain shop --tool bank.pay --args '{"cents":500}' --set tainted=true
  perdure policy explain shop 12 --set args.cents=90 --set agent.scope=acme/test
  perdure policy explain ./shop.agent --admit --trusted --json`,
		Args:        cobra.RangeArgs(1, 2),
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound),
	}
	h, out := lookFlag(c), outputFlags(c)
	c.ValidArgsFunction = agentArg(h)
	flags := c.Flags()
	x := &explaining{
		tool:      flags.String("tool", "", "the tool to be called"),
		args:      flags.String("args", "", "its arguments: JSON, - for standard input, or @FILE"),
		effect:    &choice{perdure.Once.String(), perdure.Effect(0).CanonNames()[1:]},
		approvals: flags.Int("approvals", 0, "how many people have approved it"),
		admit:     flags.Bool("admit", false, "ask whether the agent may run here when it arrives from elsewhere"),
		trusted:   flags.Bool("trusted", false, "with --admit: its owner is trusted here"),
		set:       flags.StringArray("set", nil, "FACT=VALUE: assume this fact, as in spent.cost=500; may be repeated"),
		powers:    new(home.Powers),
	}
	policyFlag(c, &x.powers.Policies)
	choiceFlag(c, x.effect, "effect", "class of the tool's effect")
	c.RunE = func(c *cobra.Command, words []string) error {
		if _, err := out.check(); err != nil {
			return err
		}
		if x.agent = words[0]; len(words) > 1 {
			x.decision = words[1]
		}
		if err := x.check(c); err != nil {
			return perdure.Invalid(err)
		}
		return h.useFor(x.agent, func(ctx context.Context, s perdure.Store, arg string) error {
			e, err := x.explain(ctx, c, h, s, arg)
			if err != nil {
				return err
			}
			return out.print(e, e.write)
		})
	}
	return c
}

// check refuses flags that do not go together.
func (x *explaining) check(c *cobra.Command) error {
	given := c.Flags().Changed
	switch {
	case x.decision != "" && (given("tool") || given("admit") || given("approvals")):
		return errors.New("a decision has its own action; leave --tool, --admit and --approvals out, or change a fact with --set")
	case *x.admit && (given("tool") || given("approvals")):
		return errors.New("--admit is about the agent as a whole; leave --tool and --approvals out")
	case *x.trusted && !*x.admit:
		return errors.New("--trusted is about an agent that arrives; add --admit")
	case *x.tool == "" && (given("args") || given("effect")):
		return errors.New("--args and --effect are about a tool; name it with --tool")
	}
	return nil
}

// explain finds the facts, changes those that are to be changed, and asks.
func (x *explaining) explain(ctx context.Context, c *cobra.Command, h *homeFlag, s perdure.Store, arg string) (*explained, error) {
	set, err := x.powers.Policy(h.Home)
	if err != nil {
		return nil, err
	}
	e := &explained{}
	var facts policy.Facts
	if x.decision != "" {
		set, facts, err = x.decided(ctx, c, h, s, arg, e)
	} else {
		facts, err = x.proposed(ctx, c, h, s, arg, e)
	}
	if err != nil {
		return nil, err
	}
	for _, text := range *x.set {
		fact, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, perdure.Invalid(fmt.Errorf("--set %s: want FACT=VALUE, as in tainted=true", text))
		}
		if err := facts.Set(fact, value); err != nil {
			return nil, perdure.Invalid(fmt.Errorf("--set %w", err))
		}
	}
	if set != nil {
		answer := set.ExplainFacts(facts)
		e.Verdict, e.Rules = &answer.Verdict, answer.Rules
	}
	e.Facts = facts
	return e, nil
}

// proposed is the facts of something that has not been decided.
func (x *explaining) proposed(ctx context.Context, c *cobra.Command, h *homeFlag, s perdure.Store, arg string, e *explained) (policy.Facts, error) {
	at, err := home.FindPoint(ctx, h.Home, s, arg)
	if err != nil {
		return nil, err
	}
	node := nodeKey(h.Home)
	if *x.admit {
		e.Action = "admit " + view.Called(at.Agent)
		return policy.AdmitFacts(at.Agent, node, *x.trusted, time.Now()), nil
	}
	data, err := dataArg(c, *x.args)
	if err != nil {
		return nil, err
	}
	class, err := view.ParseName[perdure.Effect]("--effect", x.effect.value)
	if err != nil {
		return nil, perdure.Invalid(err)
	}
	r := perdure.Request{Action: perdure.Execute{Tool: *x.tool, Args: data}, Effect: class}
	if *x.tool == "" {
		if r, err = requestOf(at.Agent); err != nil {
			return nil, perdure.Invalid(err)
		}
	}
	r.Node, r.Approvals = node, *x.approvals
	e.Action = view.ActionText(r.Action)
	return policy.FactsOf(at.Agent, r, time.Now())
}

// nodeKey is the key of this home, if it has one already.
func nodeKey(h *home.Home) perdure.Key {
	if s, err := h.Key(); err == nil && s != nil {
		return s.Key()
	}
	return perdure.Key{}
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
	return perdure.Request{}, fmt.Errorf("%s proposes nothing now; name an action with --tool, or one of its decisions", view.Called(a))
}

// decided is the facts of a decision, and the policy it was made under; nil if the runtime made it without policy.
func (x *explaining) decided(ctx context.Context, c *cobra.Command, h *homeFlag, s perdure.Store, arg string, e *explained) (*policy.Set, policy.Facts, error) {
	name, ref := home.SplitRef(arg)
	if ref != "" {
		return nil, nil, perdure.Invalid(errors.New("a decision is a point in memory itself; leave the @ out"))
	}
	id, err := home.Find(ctx, s, name)
	if err != nil {
		return nil, nil, err
	}
	entry, err := home.FindEntry(perdure.Memory(ctx, s, id), x.decision, time.Now())
	if err != nil {
		return nil, nil, err
	}
	if entry.Kind != perdure.KindDecision {
		return nil, nil, perdure.Invalid(fmt.Errorf("entry %s at seq %d is no decision but an %s; see perdure log --kind decision", entry.Name.Short(), entry.Seq, entry.Kind))
	}
	audit, err := home.AuditPolicies(h.Home, x.powers.Policies)
	if err != nil {
		return nil, nil, err
	}
	for m, err := range perdure.Replay(perdure.Memory(ctx, s, id)) {
		if err != nil {
			return nil, nil, err
		}
		audit = audit.Learn(m.Entry)
		if m.Entry.Name != entry.Name {
			continue
		}
		facts, err := policy.FactsOfDecision(m)
		if err != nil {
			return nil, nil, err
		}
		d, _ := m.Entry.Content().(perdure.Decision)
		e.Recorded = &recorded{Entry: entry.Name, Seq: entry.Seq, Time: entry.Time, Verdict: d.Verdict}
		if r, ok := policy.RequestOf(m); ok {
			e.Action = view.ActionText(r.Action)
		}
		if byRuntime(&d.Verdict) {
			return nil, facts, nil
		}
		set := audit.Under(d.Verdict.Policy)
		switch {
		case d.Verdict.Policy.IsZero():
			return nil, nil, perdure.Missing(fmt.Sprintf("decision %s names no policy: a program made it by rules of its own (%s)", entry.Name.Short(), strings.Join(d.Verdict.Rules, ", ")))
		case set == nil:
			lacks := perdure.Missing(fmt.Sprintf("decision %s was made under policy %s, which is not at hand", entry.Name.Short(), d.Verdict.Policy))
			return nil, nil, perdure.WithHint(lacks, "name its files with --policy")
		}
		return set, facts, nil
	}
	return nil, nil, perdure.Missing("there is no decision " + x.decision)
}

// byRuntime reports whether the runtime decided without asking policy.
func byRuntime(v *perdure.Verdict) bool {
	return len(v.Rules) > 0 && strings.HasPrefix(v.Rules[0], "runtime.")
}

// explained is why a verdict is what it is, for people and programs.
type explained struct {
	Action   string              `json:"action"`
	Recorded *recorded           `json:"recorded,omitempty"`
	Verdict  *perdure.Verdict    `json:"verdict,omitempty"` // none: policy was not asked
	Rules    []policy.RuleReport `json:"rules,omitempty"`
	Facts    map[string]any      `json:"facts"`
}

// recorded is a decision as it stands in memory.
type recorded struct {
	Entry   perdure.Hash    `json:"entry"`
	Seq     int64           `json:"seq"`
	Time    perdure.Time    `json:"time"`
	Verdict perdure.Verdict `json:"verdict"`
}

func (e *explained) write(w io.Writer) error {
	s := styleOf(w)
	t := table{}
	if r := e.Recorded; r != nil {
		rules := strings.Join(r.Verdict.Rules, ", ")
		if _, err := fmt.Fprintf(w, "decision %s at seq %d, %s: %s by %s\n", r.Entry.Short(), r.Seq, r.Time, s.head(view.InLine(answerText(&r.Verdict))), view.InLine(rules)); err != nil {
			return err
		}
	}
	if e.Verdict == nil {
		_, err := fmt.Fprintf(w, "%s: the runtime itself, without policy\n", view.InLine(e.Action))
		return err
	}
	if _, err := fmt.Fprintf(w, "%s: %s\n", view.InLine(e.Action), s.head(view.InLine(answerText(e.Verdict)))); err != nil {
		return err
	}
	for _, rule := range e.Rules {
		word, matched, why := "forbid", "does not apply", rule.Reason
		if rule.Permit {
			word = "permit"
		}
		if rule.Obligation != nil {
			word = "ask"
		}
		switch {
		case rule.Fault != "":
			matched, why = "no answer", rule.Fault
		case rule.Matched:
			matched = "applies"
			if rule.Obligation != nil {
				why = strings.Trim(why+"; "+rule.Obligation.String(), "; ")
			}
		}
		t.add("  "+rule.ID, word, matched, rule.Where, why)
	}
	return t.write(w)
}

// answerText is a verdict in words.
func answerText(v *perdure.Verdict) string {
	if v.Reason == "" {
		return v.Answer.String()
	}
	return v.Answer.String() + ": " + v.Reason
}
