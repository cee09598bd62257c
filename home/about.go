package home

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/phase"
)

// About is what a node says of itself to others: what it can do, and for which agents.
type About struct {
	Name     string       `json:"name"`
	Key      perdure.Key  `json:"key"`
	Place    perdure.Hash `json:"place,omitzero"` // the id of its store
	Runs     bool         `json:"runs"`           // it runs agents
	Advisors []string     `json:"advisors,omitempty"`
	Tools    []string     `json:"tools,omitempty"`
	Scopes   []string     `json:"scopes,omitempty"` // of the agents it runs; none: any
}

// About is what a server says of the node it has.
func (p *Peer) About(ctx context.Context) (*About, error) {
	if p.server == nil {
		return nil, nil
	}
	n, err := p.server.Nodes(ctx)
	if err != nil || len(n.Nodes) == 0 {
		return nil, err
	}
	one := &n.Nodes[0]
	about := &About{one.Name, one.Key, one.Place, one.Runs, one.Capable.Advisors, one.Capable.Tools, one.Capable.Scopes}
	if text, err := json.Marshal(about); err != nil || len(text) > maxAbout {
		return nil, errors.Join(err, fmt.Errorf("%w: what it says of its node has %d KiB", client.ErrExcess,
			len(text)>>10))
	}
	return about, nil
}

// maxAbout bounds what a home keeps of what a node says of itself: thousands of tools.
const maxAbout = 256 << 10

// Has reports whether the node has what an agent needs, as perdure.Node.Needs says it.
func (a *About) Has(needs string) bool {
	if name, advisor := phase.AdvisorIn(needs); advisor {
		return slices.Contains(a.Advisors, name)
	}
	if scope, outside := phase.ScopeIn(needs); outside {
		return a.Serves(scope)
	}
	return slices.Contains(a.Tools, needs)
}

// Serves reports whether the node runs agents of a scope.
func (a *About) Serves(scope string) bool {
	return (&perdure.Capabilities{Scopes: a.Scopes}).Serves(scope)
}

// equipped is what a node here has by node.yaml, as far as that can be told without starting anything: the tools of an
// MCP server are NAME.*. What is wrong with the file is said where it is used.
func (h *Home) equipped(ctx context.Context, d *Desk) (advisors, tools []string) {
	p := new(Powers)
	if p.Fill(h) != nil {
		return nil, nil
	}
	for _, text := range p.Advisors {
		name, _ := splitAdvisor(text)
		advisors = append(advisors, name)
	}
	for name := range p.ownServers {
		tools = append(tools, name+".*")
	}
	p.ownServers, p.Trusted = nil, nil
	n := &perdure.Node{Store: d.Store, Key: d.Node.Key}
	if p.equip(ctx, h, n) == nil {
		for _, t := range n.Tools {
			tools = append(tools, t.Spec().Name)
		}
	}
	_ = p.Close() // nothing was started
	slices.Sort(advisors)
	slices.Sort(tools)
	return advisors, tools
}

// Capable is what a node can do, and for agents of which scopes, as it says so to others.
func Capable(n *perdure.Node, runs bool) *client.Capable {
	c := &client.Capable{Advisors: []string{}, Tools: []string{}, Scopes: n.Scopes}
	if !runs {
		return c
	}
	for name := range n.Advisors {
		c.Advisors = append(c.Advisors, name)
	}
	for _, t := range n.Tools {
		c.Tools = append(c.Tools, t.Spec().Name)
	}
	slices.Sort(c.Advisors)
	slices.Sort(c.Tools)
	return c
}
