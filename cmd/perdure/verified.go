package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/view"
)

// refusal is an error, printed as the result where that is for programs.
func refusal(out *output, err error) error {
	var refused *perdure.Rejection
	if format, _ := out.check(); errors.As(err, &refused) && format != formatTable {
		return errors.Join(&answered{err}, out.print(verdict{Rejection: refused}, nil))
	}
	return err
}

// writeChecked prints what was verified.
func writeChecked(w io.Writer, r *home.Checked) error {
	s := term.StyleOf(w)
	t := term.Table{Tint: []func(string) string{s.Head}}
	result := s.Good("ok")
	if !r.OK {
		result = s.Bad("the memory is whole, but not every decision holds")
	}
	if r.Older != nil {
		result = s.Bad("what is there is good, but entries are missing")
	}
	t.Add("verified", result+": agent "+r.Agent.String())
	t.Add("entries", fmt.Sprintf("%d: every link, seq and hash", r.Entries))
	if r.Holds != perdure.Full {
		t.Add("depth", fmt.Sprintf("%s: %s; what came before is taken on the word of who signed the snapshot", r.Holds, r.Holds.Words()))
	}
	t.Add("bodies", fmt.Sprintf("%d present, %d dropped", r.Bodies, r.Dropped))
	t.Add("signatures", fmt.Sprintf("%d: every one, and every entry is covered by its author's", r.Signatures))
	t.Add("snapshots", fmt.Sprintf("%d derived again and found the same, %d taken as they stand", r.Snapshots, r.Taken))
	if r.Policy != nil {
		writeAudit(w, &t, r.Policy)
	}
	if r.Lineage != nil {
		t.Add("lineage", r.Lineage.String())
	}
	if m := r.Manifest; m != nil {
		t.Add("manifest", fmt.Sprintf("signed by %s %s at %s, over %d capsules", cmp.Or(m.Name, "a key not known here"), m.Key, m.Time, m.Capsules))
	}
	for _, by := range r.Signers {
		name, trust := by.Name, by.Trusted
		if name == "" {
			name = "a key not known here"
		}
		if trust == "" {
			trust = s.Warn("not trusted here")
		} else {
			trust = "trusted with " + trust
		}
		t.Add("signed by", fmt.Sprintf("%s %s: %s, %s", name, by.Key, view.Several(int64(by.Entries), "entry"), trust))
	}
	for _, d := range r.Diverged {
		t.Add("diverged", d)
	}
	t.Add("fold", r.Fold.String())
	for _, head := range r.Heads {
		t.Add("head", head.String())
	}
	return t.Write(w)
}

// writeAudit prints what came of deriving decisions again.
func writeAudit(w io.Writer, t *term.Table, v *policy.Verification) {
	s := term.StyleOf(w)
	held := v.Decisions - v.Runtime - len(v.Gaps) - len(v.Differences)
	text := fmt.Sprintf("%d: %d derived again and found the same", v.Decisions, max(held, 0))
	if v.Runtime > 0 {
		text += fmt.Sprintf(", %d of the runtime itself", v.Runtime)
	}
	t.Add("decisions", text)
	const most = 10 // of a kind
	for i, d := range v.Differences {
		if i == most {
			t.Add("", fmt.Sprintf("and %d more", len(v.Differences)-most))
			break
		}
		t.Add(s.Bad("does not hold"), d.String())
	}
	for i, g := range v.Gaps {
		if i == most {
			t.Add("", fmt.Sprintf("and %d more", len(v.Gaps)-most))
			break
		}
		t.Add(s.Warn("not derived"), g.String())
	}
}
