package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/policy"
)

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
		hint := "name its files after --policy, or keep them in the folder " + filepath.Join(home.PolicyDir, home.KnownDir) + " of the home"
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
