package main

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
)

// policyDir is the folder of a home whose .cedar files are its policy.
const policyDir = "policies"

// powers are the flags that say what a node can do: who advises, what is permitted, which tools there are. It is the one place where
// they are put together.
type powers struct {
	policies *[]string
}

func powerFlags(c *cobra.Command) *powers {
	return &powers{policies: c.Flags().StringSlice("policy", nil, "a policy file, or a folder of .cedar files; may be repeated (default: "+policyDir+"/ beside the store, else the built-in policy)")}
}

// node is a node over a store with these powers.
func (p *powers) node(h *home, s perdure.Store, log *slog.Logger) (*perdure.Node, error) {
	key, err := h.signer()
	if err != nil {
		return nil, err
	}
	set, err := p.policy(h)
	if err != nil {
		return nil, err
	}
	return &perdure.Node{Store: s, Key: key, Policy: set, PolicyHash: set.Hash(), Advisors: map[string]perdure.Advisor{}, Log: log}, nil
}

// policy is what the flags name, else the policies beside the store, else the built-in one.
func (p *powers) policy(h *home) (*policy.Set, error) {
	paths := *p.policies
	if len(paths) == 0 && h.dir != "" {
		found, err := filepath.Glob(filepath.Join(h.dir, policyDir, "*.cedar"))
		if err != nil {
			return nil, fmt.Errorf("look for policies: %w", err)
		}
		paths = found
	}
	if len(paths) == 0 {
		return policy.Default(), nil
	}
	set, err := policy.LoadPaths(paths...)
	if err != nil {
		return nil, &advised{fmt.Errorf("load policies: %w", err), "nothing runs under a policy that does not load; correct it"}
	}
	return set, nil
}

// describe says what a node can do.
func describe(n *perdure.Node) (advisors, tools string) {
	var a, t []string
	for name := range n.Advisors {
		a = append(a, name)
	}
	for _, tool := range n.Tools {
		t = append(t, tool.Spec().Name)
	}
	slices.Sort(a)
	slices.Sort(t)
	or := func(words []string) string {
		if len(words) == 0 {
			return "none"
		}
		return strings.Join(words, " ")
	}
	return or(a), or(t)
}
