package home

import (
	"cmp"
	"fmt"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/policy"
	"github.com/perdure/perdure/view"
)

// The labels of rows that say that something is wrong.
const (
	LabelWrong   = "does not hold"
	LabelUnknown = "not derived"
)

// Page is what was verified, as rows for people. The first says whether all of it is good.
func (r *Checked) Page() (rows []view.PageRow) {
	add := func(label, format string, args ...any) {
		rows = append(rows, view.PageRow{Label: label, Text: fmt.Sprintf(format, args...)})
	}
	result := "ok"
	if !r.OK {
		result = "the memory is whole, but not every decision holds"
	}
	if r.Older != nil {
		result = "what is there is good, but entries are missing"
	}
	add("verified", "%s: agent %s", result, r.Agent)
	add("entries", "%d: every link, seq and hash", r.Entries)
	if r.Holds != perdure.Full {
		add("depth", "%s: %s; what came before is taken on the word of who signed the snapshot", r.Holds,
			r.Holds.Words())
	}
	add("bodies", "%d present, %d dropped", r.Bodies, r.Dropped)
	add("signatures", "%d: every one, and every entry is covered by its author's", r.Signatures)
	add("snapshots", "%d derived again and found the same, %d taken as they stand", r.Snapshots, r.Taken)
	if r.Policy != nil {
		audited(r.Policy, add)
	}
	if r.Lineage != nil {
		add("lineage", "%s", r.Lineage.String())
	}
	const unknown = "a key not known here"
	if m := r.Manifest; m != nil {
		add("manifest", "signed by %s %s at %s, over %d capsules", cmp.Or(m.Name, unknown), m.Key, m.Time, m.Capsules)
	}
	for _, by := range r.Signers {
		trust := "not trusted here"
		if by.Trusted != "" {
			trust = "trusted with " + by.Trusted
		}
		name := cmp.Or(by.Name, unknown)
		if by.Name == "" && by.Trusted != "" {
			name = "a key without a name"
		}
		add("signed by", "%s %s: %s, %s", name, by.Key, view.Several(int64(by.Entries), "entry"),
			trust)
	}
	for _, d := range r.Diverged {
		add("diverged", "%s", d)
	}
	add("fold", "%s", r.Fold)
	for _, head := range r.Heads {
		add("head", "%s", head)
	}
	return rows
}

// audited adds what came of deriving decisions again.
func audited(v *policy.Verification, add func(label, format string, args ...any)) {
	held := v.Decisions - v.Runtime - len(v.Gaps) - len(v.Differences)
	text := fmt.Sprintf("%d: %d derived again and found the same", v.Decisions, max(held, 0))
	if v.Runtime > 0 {
		text += fmt.Sprintf(", %d of the runtime itself", v.Runtime)
	}
	add("decisions", "%s", text)
	const most = 10 // of a kind
	for _, d := range v.Differences[:min(most, len(v.Differences))] {
		add(LabelWrong, "%s", d.String())
	}
	if more := len(v.Differences) - most; more > 0 {
		add("", "and %d more", more)
	}
	for _, g := range v.Gaps[:min(most, len(v.Gaps))] {
		add(LabelUnknown, "%s", g.String())
	}
	if more := len(v.Gaps) - most; more > 0 {
		add("", "and %d more", more)
	}
}
