package home

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/view"
)

// NoteAdvisor says what to do if no advisor is configured for agents that name none.
func (h *Home) NoteAdvisor() {
	if n, err := readNodeFile(h); err == nil && n.Advisor == "" { // whoever runs an agent is told what is wrong with it
		h.note("no advisor is configured here: %s", h.addAdvisor())
	}
}

// noteLacks tells whoever asks for an advisor and tools which of them neither a node nor this home provides. Whoever
// runs the agent may still name them. MCP servers are not started for it: what they may have counts as there.
func (h *Home) noteLacks(ctx context.Context, n *perdure.Node, advisor string, tools []string) {
	lacks := advisor != "" && n.Advisors[advisor] == nil
	tools = slices.DeleteFunc(slices.Clone(tools), func(name string) bool { return hasTool(n, name) })
	if !lacks && len(tools) == 0 {
		return
	}
	file, err := readNodeFile(h)
	if err != nil {
		return // whoever runs it is told
	}
	if lacks && file.Advisors[advisor] == "" {
		there := ", and none has a name"
		named := slices.DeleteFunc(slices.Sorted(maps.Keys(file.Advisors)), func(s string) bool { return s == "" })
		if len(named) > 0 {
			there = ", there are " + strings.Join(named, ", ")
		}
		if away(ctx) { // what node.yaml names is not theirs to know
			there = ""
		}
		h.noteFor(ctx, "no advisor %s is configured here%s: add it under advisors in node.yaml, or run the agent "+
			"with --advisor %s=SOURCE", view.InLine(advisor), there, view.InLine(advisor))
	}
	for _, name := range h.lacksTools(ctx, &file, tools) {
		h.noteFor(ctx, "nothing here has a tool %s: perdure tools lists those there are", view.InLine(name))
	}
}

func hasTool(n *perdure.Node, name string) bool {
	return slices.ContainsFunc(n.Tools, func(t perdure.Tool) bool { return t.Spec().Name == name })
}

// lacksTools is which of some tools this home does not provide.
func (h *Home) lacksTools(ctx context.Context, n *NodeFile, tools []string) []string {
	p, node := new(Powers), &perdure.Node{Store: new(perdure.MemStore)}
	if len(tools) == 0 || n.Demo != "" || p.Fill(h) != nil {
		return nil
	}
	p.ownServers = nil
	if err := p.equip(ctx, h, node); err != nil {
		return nil
	}
	defer func() { _ = p.Close() }() // nothing was started
	return slices.DeleteFunc(tools, func(name string) bool {
		server, _, _ := strings.Cut(name, ".")
		_, served := n.MCP[server]
		return served || hasTool(node, name)
	})
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
