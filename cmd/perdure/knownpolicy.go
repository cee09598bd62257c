package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
)

// knownDir is the folder beside a home's policy with further sets, each a .cedar file or a folder of them: those that charters name by
// their hash, and those that were in force before.
const knownDir = "known"

// knownPolicies are the further sets of a home.
func knownPolicies(h *home) ([]*policy.Set, error) {
	if h.dir == "" {
		return nil, nil
	}
	dir := filepath.Join(h.dir, policyDir, knownDir)
	found, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for policies: %w", err)
	}
	var sets []*policy.Set
	for _, f := range found {
		if !f.IsDir() && filepath.Ext(f.Name()) != ".cedar" {
			continue
		}
		set, err := policy.LoadPaths(filepath.Join(dir, f.Name()))
		if err != nil {
			return nil, perdure.WithHint(fmt.Errorf("load policies: %w", err), "correct it, or take it out of "+dir)
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// auditPolicies is the policy of a home with every set that decisions may have been made under: each of the paths by itself, all of them
// together, those the home knows, and the built-in one.
func auditPolicies(h *home, paths []string) (*policy.Set, error) {
	var sets []*policy.Set
	for _, path := range paths {
		set, err := policy.LoadPaths(path)
		if err != nil {
			return nil, perdure.WithHint(fmt.Errorf("load policies: %w", err), "name .cedar files, or folders of them")
		}
		sets = append(sets, set)
	}
	if len(paths) > 1 {
		if together, err := policy.LoadPaths(paths...); err == nil { // sets of one home at different times do not go together
			sets = append(sets, together)
		}
	}
	set, err := loadPolicy(h, nil)
	if err != nil {
		return nil, err
	}
	return set.Know(append(sets, policy.Default())...), nil
}

// auditWords are what verify is asked to look at: an agent or file, and policies.
func auditWords(c *cobra.Command, words []string, byPolicy bool) (what string, policies []string, err error) {
	switch {
	case len(words) > 1 && !byPolicy:
		err = perdure.Invalid(fmt.Errorf("%d words: want one agent or file; policies follow it with --policy", len(words)))
	case len(words) > 1 && filepath.Ext(words[0]) == ".cedar":
		err = perdure.Invalid(errors.New("name the agent or file first, then policies"))
	}
	return words[0], words[1:], err
}

// audit adds what came of deriving the decisions of a memory again; a decision that does not hold is an error.
func (r *checked) audit(v *policy.Verification) error {
	r.Policy = v
	unknown := slices.IndexFunc(v.Gaps, func(g policy.Gap) bool { return !g.Policy.IsZero() })
	switch {
	case len(v.Differences) > 0:
		r.OK = false
		return perdure.WithHint(fmt.Errorf("%s: %w", v.Differences[0], perdure.ErrRejected), "see perdure policy explain")
	case unknown >= 0:
		r.OK = false
		hint := "name its files after --policy, or keep them in the folder " + filepath.Join(policyDir, knownDir) + " of the home"
		return perdure.WithHint(fmt.Errorf("%s: %w", v.Gaps[unknown], perdure.ErrRejected), hint)
	}
	return nil
}

// writeAudit prints what came of deriving decisions again.
func writeAudit(w io.Writer, t *table, v *policy.Verification) {
	s := styleOf(w)
	held := v.Decisions - v.Runtime - len(v.Gaps) - len(v.Differences)
	text := fmt.Sprintf("%d: %d derived again and found the same", v.Decisions, max(held, 0))
	if v.Runtime > 0 {
		text += fmt.Sprintf(", %d of the runtime itself", v.Runtime)
	}
	t.add("decisions", text)
	const most = 10 // of a kind
	for i, d := range v.Differences {
		if i == most {
			t.add("", fmt.Sprintf("and %d more", len(v.Differences)-most))
			break
		}
		t.add(s.bad("does not hold"), d.String())
	}
	for i, g := range v.Gaps {
		if i == most {
			t.add("", fmt.Sprintf("and %d more", len(v.Gaps)-most))
			break
		}
		t.add(s.warn("not derived"), g.String())
	}
}
