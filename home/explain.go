package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/view"
)

// WhyQuestion is what policy is asked: about a decision that was made, a call of a tool, the arrival of the agent, or
// whatever it would do next.
type WhyQuestion struct {
	Decision  string // a seq, or the beginning of the hash of one that was made
	Tool      string // to be called, with Args, of class Effect; zero: the class it has here
	Args      perdure.Data
	Effect    perdure.Effect
	Approvals int      // how many people have approved it
	Admit     bool     // whether the agent may run here when it arrives from elsewhere
	Trusted   bool     // and its owner is trusted
	Set       []string // FACT=VALUE: what if this fact were so
	Policies  []string // instead of those of the home

	tools []perdure.Tool // that are known to whoever asks, besides those that node.yaml gives
}

// check refuses what does not go together.
func (x *WhyQuestion) check() error {
	switch {
	case x.Decision != "" && (x.Tool != "" || x.Admit || x.Approvals != 0):
		return errors.New("a decision has its own action; leave --tool, --admit and --approvals out, or change a " +
			"fact with --set")
	case x.Admit && (x.Tool != "" || x.Approvals != 0):
		return errors.New("--admit is about the agent as a whole; leave --tool and --approvals out")
	case x.Trusted && !x.Admit:
		return errors.New("--trusted is about an agent that arrives; add --admit")
	case x.Tool == "" && (x.Args != nil || x.Effect != 0):
		return errors.New("--args and --effect are about a tool; name it with --tool")
	}
	return nil
}

// Explain says why policy decided so, or what it would answer, of AGENT or AGENT@REF: it finds the facts, changes those
// that are to be changed, and asks.
func (h *Home) Explain(ctx context.Context, s perdure.Store, arg string, x WhyQuestion) (*Explained, error) {
	if err := x.check(); err != nil {
		return nil, perdure.Invalid(err)
	}
	set, err := LoadPolicy(h, x.Policies)
	if err != nil {
		return nil, err
	}
	e := &Explained{}
	var facts policy.Facts
	if x.Decision != "" {
		set, facts, err = h.decided(ctx, s, arg, x, e)
	} else {
		facts, err = h.proposed(ctx, s, arg, x, e)
	}
	if err != nil {
		return nil, err
	}
	for _, text := range x.Set {
		fact, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, perdure.Invalid(fmt.Errorf("%s: want FACT=VALUE, as in tainted=true", text))
		}
		if err := facts.Set(fact, value); err != nil {
			return nil, perdure.Invalid(err)
		}
	}
	if set != nil {
		answer := set.ExplainFacts(facts)
		e.Verdict, e.Rules = &answer.Verdict, answer.Rules
		slices.SortStableFunc(e.Rules, func(a, b policy.RuleReport) int { return rank(a) - rank(b) })
	}
	if e.Runtime != nil {
		e.Runtime.Policy, e.Verdict = e.Verdict, &e.Runtime.Verdict
	}
	e.Facts = facts
	return e, nil
}

// rank orders rules: those that apply come first, or have no answer, which denies.
func rank(r policy.RuleReport) int {
	if r.Matched || r.Fault != "" {
		return 0
	}
	return 1
}

// proposed is the facts of something that has not been decided.
func (h *Home) proposed(ctx context.Context, s perdure.Store, arg string, x WhyQuestion, e *Explained) (policy.Facts,
	error) {
	at, err := FindPoint(ctx, h, s, arg)
	if err != nil {
		return nil, err
	}
	node := h.nodeKey()
	if x.Admit {
		e.Action = "admit " + view.Called(at.Agent)
		return policy.AdmitFacts(at.Agent, node, x.Trusted, time.Now()), nil
	}
	r := perdure.Request{Action: perdure.Execute{Tool: x.Tool, Args: x.Args}, Effect: x.Effect}
	if x.Tool != "" && x.Effect == 0 {
		r.Effect, e.Note = h.classOf(ctx, s, x.Tool, x.tools)
	}
	if x.Tool == "" {
		if r, err = requestOf(at.Agent); err != nil {
			return nil, perdure.Invalid(err)
		}
		if do, ok := r.Action.(perdure.Execute); ok {
			if r.Effect, err = askedAs(ctx, s, at.Agent); err != nil {
				return nil, err
			}
			if r.Effect == 0 {
				r.Effect, e.Note = h.classOf(ctx, s, do.Tool, x.tools)
			}
		}
	}
	trust, err := h.Trust()
	if err != nil {
		return nil, err
	}
	r = trust.Sees(at.Agent, r)
	r.Node, r.Approvals = node, x.Approvals
	e.Action = view.ActionText(r.Action)
	if e.Runtime, err = h.forbids(ctx, s, at.Agent, r.Action); err != nil {
		return nil, err
	}
	return policy.FactsOf(at.Agent, r, time.Now())
}

// forbids is what the runtime says of an action by itself, as a node with the tools of this home would; nil: it asks
// policy. Tools of MCP servers are not known here, and their arguments are not looked at.
func (h *Home) forbids(ctx context.Context, s perdure.Store, a *perdure.Agent, act perdure.Action) (*ByRuntime, error) {
	key, err := h.Key()
	if key == nil && err == nil {
		key, err = perdure.GenerateSigner(keyName())
	}
	if err != nil {
		return nil, err
	}
	n, p := &perdure.Node{Store: s, Key: key}, new(Powers)
	if p.Fill(h) == nil { // what is wrong with the tools here is said by classOf
		p.Servers, p.ownServers, p.Effects, p.Trusted = nil, nil, nil, nil
		_ = p.equip(ctx, h, n)
		defer func() { _ = p.Close() }() // nothing was begun with them
	}
	v, forbidden, err := n.Forbids(a, act)
	if err != nil || !forbidden {
		return nil, err
	}
	return &ByRuntime{Verdict: v}, nil
}

// classOf is the class of a tool that nodes here have. Where that cannot be told it is once, and the note says so: what
// MCP servers offer is not known until a node starts them, but for the classes that node.yaml gives. Running are the
// tools of a node that runs, if whoever asks has one.
func (h *Home) classOf(ctx context.Context, s perdure.Store, name string, running []perdure.Tool) (
	class perdure.Effect, note string) {
	if class, ok := classIn(running, name); ok {
		return class, ""
	}
	const assumed = "its class is taken to be once; say another with --effect"
	p := new(Powers)
	if err := p.Fill(h); err != nil {
		return perdure.Once, "node.yaml cannot be read: " + assumed
	}
	if server, own, ok := strings.Cut(name, "."); ok {
		classes, _, err := p.effectsOf(server)
		if class, given := classes[own]; given && err == nil {
			return class, ""
		}
		all, err := p.mcpServers()
		if err == nil && slices.ContainsFunc(all, func(m mcpServer) bool { return m.name == server }) {
			return perdure.Once, "only MCP server " + server + " knows this tool: " + assumed
		}
	}
	p.Servers, p.ownServers, p.Effects, p.Trusted = nil, nil, nil, nil
	n := &perdure.Node{Store: s}
	err := errors.Join(p.equip(ctx, h, n), p.Close())
	if class, ok := classIn(n.Tools, name); ok {
		return class, ""
	}
	if err != nil {
		return perdure.Once, "the tools here cannot be listed: " + assumed
	}
	return perdure.Once, "no tool here is called " + name + " (see perdure tools): " + assumed
}

// classIn is the class of one of several tools.
func classIn(tools []perdure.Tool, name string) (perdure.Effect, bool) {
	for _, t := range tools {
		if spec := t.Spec(); spec.Name == name {
			return cmp.Or(spec.Effect, perdure.Once), true
		}
	}
	return 0, false
}

// nodeKey is the key of this home, if it has one already.
func (h *Home) nodeKey() perdure.Key {
	if s, err := h.Key(); err == nil && s != nil {
		return s.Key()
	}
	return perdure.Key{}
}

// askedAs is the class that what an agent asks about has, as the node knew that asks; zero: it asks nothing.
func askedAs(ctx context.Context, s perdure.Store, a *perdure.Agent) (perdure.Effect, error) {
	asks := a.Fold().Asks
	if len(asks) == 0 {
		return 0, nil
	}
	waits := []view.Wait{{Decision: asks[0].Decision}}
	err := view.DescribeAll(ctx, s, a, waits)
	return waits[0].Effect, err
}

// requestOf is what an agent asks about, or would do next.
func requestOf(a *perdure.Agent) (perdure.Request, error) {
	f := a.Fold()
	if len(f.Asks) > 0 {
		return perdure.Request{Action: f.Asks[0].Action, Effect: perdure.Once}, nil
	}
	if d := perdure.Plan(a, perdure.Capabilities{All: true}, time.Now()).Doing(); d.What == phase.StepDecide {
		return perdure.Request{Action: d.Action, Effect: perdure.Once}, nil
	}
	return perdure.Request{}, fmt.Errorf("%s proposes nothing now; name a tool, or one of its decisions",
		view.Called(a))
}

// decided is the facts of a decision, and the policy it was made under; nil if the runtime made it without policy.
func (h *Home) decided(ctx context.Context, s perdure.Store, arg string, x WhyQuestion, e *Explained) (*policy.Set,
	policy.Facts, error) {
	name, ref := SplitRef(arg)
	if ref != "" {
		return nil, nil, perdure.Invalid(errors.New("a decision is a point in memory itself; leave the @ out"))
	}
	id, err := h.FindAgent(ctx, s, name)
	if err != nil {
		return nil, nil, err
	}
	entry, err := FindEntry(perdure.Memory(ctx, s, id), x.Decision, time.Now())
	if err != nil {
		return nil, nil, err
	}
	if entry.Kind != perdure.KindDecision {
		return nil, nil, perdure.Invalid(fmt.Errorf("entry %s at seq %d is not a decision; its kind is %s; see "+
			"perdure log --kind decision", entry.Name.Short(), entry.Seq, entry.Kind))
	}
	audit, err := AuditPolicies(h, x.Policies)
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
		e.Recorded = &Recorded{Entry: entry.Name, Seq: entry.Seq, Time: entry.Time, Verdict: d.Verdict}
		if r, ok := policy.RequestOf(m); ok {
			e.Action = view.ActionText(r.Action)
		}
		if byRuntime(&d.Verdict) {
			return nil, facts, nil
		}
		set := audit.Under(d.Verdict.Policy)
		switch {
		case d.Verdict.Policy.IsZero():
			return nil, nil, perdure.Missing(fmt.Sprintf("decision %s names no policy: a program made it by rules of "+
				"its own (%s)", entry.Name.Short(), strings.Join(d.Verdict.Rules, ", ")))
		case set == nil:
			lacks := perdure.Missing(fmt.Sprintf("decision %s was made under policy %s, which is not at hand",
				entry.Name.Short(), d.Verdict.Policy))
			return nil, nil, perdure.WithHint(lacks, "name the files of that policy")
		}
		return set, facts, nil
	}
	return nil, nil, perdure.Missing("there is no decision " + x.Decision)
}

// byRuntime reports whether the runtime decided without asking policy.
func byRuntime(v *perdure.Verdict) bool {
	return len(v.Rules) > 0 && strings.HasPrefix(v.Rules[0], "runtime.")
}

// Explained is why a verdict is what it is, for people and programs.
type Explained struct {
	view.Sent
	Action   string              `json:"action"`
	Note     string              `json:"note,omitempty"` // what is assumed
	Recorded *Recorded           `json:"recorded,omitempty"`
	Runtime  *ByRuntime          `json:"runtime,omitempty"` // the runtime denies it and asks no policy
	Verdict  *perdure.Verdict    `json:"verdict,omitempty"` // none: policy was not asked
	Rules    []policy.RuleReport `json:"rules,omitempty"`
	Facts    map[string]any      `json:"facts"`

	page [][]string // as a server puts it; nil: it was made here
}

// Page is the same for people: lines of text, which are rows of one cell, and the rules as rows of four.
func (e *Explained) Page() [][]string {
	if e.page != nil {
		return e.page
	}
	var rows [][]string
	line := func(text string) { rows = append(rows, []string{text}) }
	if r := e.Recorded; r != nil {
		line(fmt.Sprintf("decision %s at seq %d, %s: %s by %s", r.Entry.Short(), r.Seq, r.Time, answerText(&r.Verdict),
			strings.Join(r.Verdict.Rules, ", ")))
	}
	if e.Verdict == nil {
		line(e.Action + ": the runtime itself, without policy")
	} else {
		line(e.Action + ": " + answerText(e.Verdict))
	}
	if e.Note != "" {
		line("  " + e.Note)
	}
	if r := e.Runtime; r != nil {
		line("  the runtime denies it by " + strings.Join(r.Verdict.Rules, ", ") + " and does not ask policy")
		if r.Policy != nil {
			line("  policy alone would say " + answerText(r.Policy))
		}
	}
	if e.Verdict == nil {
		return rows
	}
	for _, rule := range e.Rules {
		does, applies, why := rule.Words()
		rows = append(rows, []string{"  " + rule.ID, does, applies, strings.TrimSpace(rule.Where + "  " + why)})
	}
	return rows
}

// answerText is a verdict in words.
func answerText(v *perdure.Verdict) string {
	if v.Reason == "" {
		return v.Answer.String()
	}
	return v.Answer.String() + ": " + v.Reason
}

// ByRuntime is a denial by the runtime itself.
type ByRuntime struct {
	Verdict perdure.Verdict  `json:"verdict"`
	Policy  *perdure.Verdict `json:"policy,omitempty"` // what policy would say if it were asked
}

// Recorded is a decision as it stands in memory.
type Recorded struct {
	Entry   perdure.Hash    `json:"entry"`
	Seq     int64           `json:"seq"`
	Time    perdure.Time    `json:"time"`
	Verdict perdure.Verdict `json:"verdict"`
}
