package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/near"
	"github.com/perdure/perdure/policy"
)

// ToolUse is a tool that nodes here have, and what policy says to an agent that calls it.
type ToolUse struct {
	Name   string         `json:"name"`
	About  string         `json:"about,omitempty"`
	Args   []ToolArg      `json:"args,omitempty"`
	Effect perdure.Effect `json:"effect"`
	Source string         `json:"source"` // built in, or what of node.yaml or the flags it comes from
	Answer perdure.Answer `json:"answer"` // of policy, or of the agent's own bounds
	Rules  []string       `json:"rules,omitempty"`
	Why    string         `json:"why,omitempty"`
}

// ToolArg is an argument of a tool.
type ToolArg struct {
	Name     string `json:"name"`
	Type     string `json:"type,omitempty"`
	About    string `json:"about,omitempty"`
	Required bool   `json:"required,omitempty"`
}

// ListTools lists the tools of this home by their names, and whether the agent may call them. MCP servers are started
// for it and ended. Policy is asked about a call without arguments: rules about arguments may answer another call
// otherwise.
func (p *Powers) ListTools(ctx context.Context, h *Home, s perdure.Store, a *perdure.Agent) (found []ToolUse,
	err error) {
	if err := p.Fill(h); err != nil {
		return nil, err
	}
	set, err := p.Policy(h)
	if err != nil {
		return nil, err
	}
	if p.Known, err = readSecrets(p.Secrets); err != nil {
		return nil, err
	}
	var node perdure.Key
	if key, err := h.Key(); err == nil && key != nil {
		node = key.Key()
	}
	trust, err := h.Trust()
	if err != nil {
		return nil, err
	}
	n := &perdure.Node{Store: s}
	err = p.equip(ctx, h, n)
	for _, t := range n.Tools {
		found = append(found, p.use(t.Spec(), set, a, trust.Sees(a, perdure.Request{Node: node})))
	}
	slices.SortFunc(found, func(a, b ToolUse) int { return strings.Compare(a.Name, b.Name) })
	return found, errors.Join(err, p.Close())
}

// ToolsInto is ListTools of the agent that it is called with, which found is set to.
func (p *Powers) ToolsInto(found *[]ToolUse, h *Home) func(context.Context, perdure.Store, *perdure.Agent) error {
	return func(ctx context.Context, s perdure.Store, a *perdure.Agent) (err error) {
		*found, err = p.ListTools(ctx, h, s, a)
		return err
	}
}

// maxToolNames is how many tools are named to who misses one.
const maxToolNames = 20

// ToolsOf are the tools that list lists for an agent; empty: for a new one. Where there is no agent of that name but a
// tool, it is this one, for a new agent.
func ToolsOf(name string, list func(agent string) ([]ToolUse, error)) ([]ToolUse, error) {
	found, err := list(name)
	if name == "" || !errors.Is(err, perdure.ErrNotFound) {
		return found, err
	}
	all, failed := list("")
	if failed != nil {
		return found, err
	}
	names := make([]string, len(all))
	for i := range all {
		if names[i] = all[i].Name; names[i] == name {
			return all[i : i+1], nil
		}
	}
	what := "there are " + strings.Join(names[:min(len(names), maxToolNames)], ", ")
	if meant := near.Words(name, names); len(meant) > 0 {
		what = "did you mean " + strings.Join(meant, " or ") + "?"
	} else if len(names) > maxToolNames {
		what += ", …"
	}
	return nil, perdure.WithHint(perdure.Missing(fmt.Sprintf("%v; there is no such tool, either: %s", err, what)),
		"perdure tools lists the tools, and perdure ls the agents")
}

// Uses lists the tools of a node that was made of these powers, as ListTools does.
func (p *Powers) Uses(h *Home, n *perdure.Node, a *perdure.Agent) ([]ToolUse, error) {
	set, err := p.Policy(h)
	if err != nil {
		return nil, err
	}
	found := []ToolUse{}
	for _, t := range n.Tools {
		found = append(found, p.use(t.Spec(), set, a, n.Trusted().Sees(a, perdure.Request{Node: n.Key.Key()})))
	}
	slices.SortFunc(found, func(a, b ToolUse) int { return strings.Compare(a.Name, b.Name) })
	return found, nil
}

// Newcomer is an agent such as perdure new makes, to ask policy about. It is in no store.
func (h *Home) Newcomer(ctx context.Context) (*perdure.Agent, error) {
	key, err := h.Key()
	if key == nil && err == nil {
		key, err = perdure.GenerateSigner(keyName())
	}
	if err != nil {
		return nil, err
	}
	n := &perdure.Node{Store: new(perdure.MemStore), Key: key}
	g, err := (&IntentFile{Goal: "be asked about"}).Genesis(time.Now())
	if err != nil {
		return nil, err
	}
	return n.Create(ctx, g)
}

// use is what can be said of a tool.
func (p *Powers) use(spec perdure.Spec, set *policy.Set, a *perdure.Agent, r perdure.Request) ToolUse {
	u := ToolUse{Name: spec.Name, About: spec.Description, Args: toolArgs(spec.Args),
		Source: cmp.Or(p.sources[spec.Name], "built in")}
	u.Effect = cmp.Or(spec.Effect, perdure.Once)
	call := perdure.Execute{Tool: spec.Name}
	if why := a.Fold().OutOfBounds(call); why != "" {
		u.Answer, u.Why = perdure.Deny, why
		return u
	}
	r.Action, r.Effect = call, u.Effect
	v := set.Decide(a, r, time.Now())
	u.Answer, u.Rules, u.Why = v.Answer, v.Rules, v.Reason
	return u
}

// toolArgs are the arguments that a JSON Schema names, those that are required first.
func toolArgs(schema perdure.Data) []ToolArg {
	if schema == nil {
		return nil
	}
	top, _ := schema.Value().(map[string]any)
	of, _ := top["properties"].(map[string]any)
	required, _ := top["required"].([]any)
	var args []ToolArg
	for _, name := range slices.Sorted(maps.Keys(of)) {
		one, _ := of[name].(map[string]any)
		about, _ := one["description"].(string)
		args = append(args, ToolArg{name, schemaType(one["type"]), about, slices.Contains(required, any(name))})
	}
	slices.SortStableFunc(args, func(a, b ToolArg) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	return args
}

// schemaType is a type of JSON Schema, in words: one, or several.
func schemaType(v any) string {
	if list, ok := v.([]any); ok {
		var words []string
		for _, one := range list {
			if word, ok := one.(string); ok && word != "null" {
				words = append(words, word)
			}
		}
		return strings.Join(words, " or ")
	}
	word, _ := v.(string)
	return word
}

// UseNew calls f with an agent such as Create would make, and with the store, or an empty one if there is none yet.
func (h *Home) UseNew(ctx context.Context, f func(context.Context, perdure.Store, *perdure.Agent) error) error {
	if err := h.Locate(); err != nil {
		return err
	}
	a, err := h.Newcomer(ctx)
	if err != nil {
		return err
	}
	if h.there() {
		opened := false
		err := h.Use(ctx, false, func(ctx context.Context, s perdure.Store) error {
			opened = true
			return f(ctx, s, a)
		})
		if opened || !errors.Is(err, perdure.ErrNotFound) {
			return err
		}
	}
	return f(ctx, new(perdure.MemStore), a)
}
