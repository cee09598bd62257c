package home

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/view"
)

// Lacks says what of an intent this home does not provide, for people: its advisor, its tools. Whoever runs the agent
// may still name them. MCP servers are not started for it: what they may have counts as there.
func (h *Home) Lacks(ctx context.Context, f *IntentFile) (found []string) {
	n, err := readNodeFile(h)
	if err != nil {
		return nil // whoever runs it is told
	}
	switch {
	case f.Advisor == "" && n.Advisor == "":
		found = append(found, "no advisor is configured here: "+h.addAdvisor())
	case f.Advisor != "" && n.Advisors[f.Advisor] == "":
		there := "and none has a name"
		named := slices.DeleteFunc(slices.Sorted(maps.Keys(n.Advisors)), func(s string) bool { return s == "" })
		if len(named) > 0 {
			there = "there are " + strings.Join(named, ", ")
		}
		found = append(found, fmt.Sprintf("no advisor %s is configured here, %s: add it under advisors in node.yaml, "+
			"or run the agent with --advisor %s=SOURCE", view.InLine(f.Advisor), there, view.InLine(f.Advisor)))
	}
	return append(found, h.lacksTools(ctx, &n, f.Tools)...)
}

// lacksTools says which of some tools this home does not provide, for people.
func (h *Home) lacksTools(ctx context.Context, n *NodeFile, tools []string) (found []string) {
	p, node := new(Powers), &perdure.Node{Store: new(perdure.MemStore)}
	if len(tools) == 0 || n.Demo != "" || p.Fill(h) != nil {
		return nil
	}
	p.ownServers = nil
	if err := p.equip(ctx, h, node); err != nil {
		return nil
	}
	defer func() { _ = p.Close() }() // nothing was started
	for _, name := range tools {
		server, _, _ := strings.Cut(name, ".")
		_, served := n.MCP[server]
		if !served && !slices.ContainsFunc(node.Tools, func(t perdure.Tool) bool { return t.Spec().Name == name }) {
			found = append(found, fmt.Sprintf("nothing here has a tool %s: perdure tools lists those there are",
				view.InLine(name)))
		}
	}
	return found
}

// short says which rules of a policy ask for more people than can answer for an agent, and what to do about it.
func short(set *policy.Set, t *perdure.Trust, f *perdure.Fold) (found []string) {
	rules := map[string][]string{}
	var all []string
	for rule, o := range set.Obligations() {
		asked := slices.Clone(o.Asked)
		for _, stage := range o.Escalate {
			asked = append(asked, stage.Asked...)
		}
		q := &perdure.Asking{Verdict: perdure.Verdict{Answer: perdure.Ask, Asked: asked, Quorum: o.Quorum}}
		if text := view.Lacking(f, q, t); text != "" {
			if rules[text] == nil {
				all = append(all, text)
			}
			rules[text] = append(rules[text], view.InLine(rule))
		}
	}
	for _, text := range all {
		found = append(found, "by "+strings.Join(rules[text], ", ")+" "+text)
	}
	return found
}
