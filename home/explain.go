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
}

// Explain says why policy decided so, or what it would answer, of AGENT or AGENT@REF: it finds the facts, changes those
// that are to be changed, and asks.
func (h *Home) Explain(ctx context.Context, s perdure.Store, arg string, x WhyQuestion) (*Explained, error) {
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
		r.Effect, e.Note = h.classOf(ctx, s, x.Tool)
	}
	if x.Tool == "" {
		if r, err = requestOf(at.Agent); err != nil {
			return nil, perdure.Invalid(err)
		}
		if do, ok := r.Action.(perdure.Execute); ok {
			if r.Effect, err = askedAs(ctx, s, at.Agent); err != nil {
				return nil, err
			}
			if r.Effect = cmp.Or(x.Effect, r.Effect); r.Effect == 0 {
				r.Effect, e.Note = h.classOf(ctx, s, do.Tool)
			}
		}
	}
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
// MCP servers offer is not known until a node starts them, but for the classes that node.yaml gives.
func (h *Home) classOf(ctx context.Context, s perdure.Store, name string) (class perdure.Effect, note string) {
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
	for _, t := range n.Tools {
		if spec := t.Spec(); spec.Name == name {
			return cmp.Or(spec.Effect, perdure.Once), ""
		}
	}
	if err != nil {
		return perdure.Once, "the tools here cannot be listed: " + assumed
	}
	return perdure.Once, "no tool here is called " + name + " (see perdure tools): " + assumed
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
	id, err := Find(ctx, s, name)
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
	Action   string              `json:"action"`
	Note     string              `json:"note,omitempty"` // what is assumed
	Recorded *Recorded           `json:"recorded,omitempty"`
	Runtime  *ByRuntime          `json:"runtime,omitempty"` // the runtime denies it and asks no policy
	Verdict  *perdure.Verdict    `json:"verdict,omitempty"` // none: policy was not asked
	Rules    []policy.RuleReport `json:"rules,omitempty"`
	Facts    map[string]any      `json:"facts"`
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
