package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
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

// checked is what verify found, for people and programs.
type checked struct {
	OK bool `json:"ok"`
	*perdure.Verified
	Depth   string               `json:"depth"`         // how much of the memory there is
	Cut     bool                 `json:"cut,omitempty"` // the file has no end: what is whole of it was verified
	Signers []signer             `json:"signers"`
	Policy  *policy.Verification `json:"policy,omitempty"`
	Lineage *view.Descent        `json:"lineage,omitempty"`

	Manifest *manifestView `json:"manifest,omitempty"`
	Older    *view.Older   `json:"older,omitempty"`

	depth perdure.Depth
}

// manifestView is who signed the heads of a capsule together with those of others.
type manifestView struct {
	Key      perdure.Key  `json:"key"`
	Name     string       `json:"name,omitempty"`
	Trusted  string       `json:"trusted,omitempty"` // the rights and scopes it is trusted with
	Time     perdure.Time `json:"time"`
	Capsules int64        `json:"capsules"` // under one signature
}

// signer is an author, and what this home knows of it.
type signer struct {
	Key     perdure.Key `json:"key"`
	Name    string      `json:"name,omitempty"`
	Entries int64       `json:"entries"`
	Trusted string      `json:"trusted,omitempty"` // the rights and scopes it is trusted with
}

// verify verifies a memory and prints what was found.
func verify(c *cobra.Command, h *homeFlag, out *output, total int64, memory iter.Seq2[*perdure.Entry, error], o verifying) error {
	bar := newProgress(c, "verify", total)
	o.Progress = func(n int64) { bar.to(n) }
	v, err := o.check(c, memory)
	bar.end()
	if err != nil {
		return refusal(out, err)
	}
	var derived *policy.Verification
	if o.policy != nil {
		if derived, err = o.policy.Verify(memory); err != nil {
			return refusal(out, err)
		}
	}
	var from *view.Descent
	if o.parent != nil {
		if from, err = view.Descend(memory, o.parent, o.VerifyOptions); err != nil {
			return refusal(out, err)
		}
	}
	var m *capsule.Manifest
	if o.manifest != nil {
		m = *o.manifest
	}
	return printChecked(h, out, v, derived, from, m, o)
}

// check verifies a memory, or the end of one.
func (o *verifying) check(c *cobra.Command, memory iter.Seq2[*perdure.Entry, error]) (*perdure.Verified, error) {
	if o.policy != nil && o.depth != perdure.Full {
		return nil, perdure.Invalid(errors.New("--policy needs the whole memory; export the agent at depth full"))
	}
	if o.depth.Kind == perdure.DepthLast {
		return perdure.VerifyPart(memory, o.VerifyOptions)
	}
	return perdure.Verify(memory, o.VerifyOptions)
}

// unread is the error of a memory that is damaged, with what to do about it.
func unread(err error) error {
	var hinted *perdure.Hint
	if err == nil || errors.Is(err, perdure.ErrInvalid) || errors.As(err, &hinted) || errors.Is(err, context.Canceled) || errors.Is(err, errOlder) {
		return err
	}
	return perdure.WithHint(err, "perdure doctor --repair, or import a good copy")
}

// errOlder says that a memory lacks what was seen of it.
var errOlder = errors.New("entries are missing")

// printChecked prints what was verified, and what this home knows of the authors; derived and from are nil if that was not asked for.
func printChecked(h *homeFlag, out *output, v *perdure.Verified, derived *policy.Verification, from *view.Descent, m *capsule.Manifest, o verifying) error {
	r := checked{OK: o.older == nil, Older: o.older, Verified: v, Lineage: from, Depth: o.depth.String(), Cut: o.cut, depth: o.depth}
	t, err := h.Trust()
	if err != nil {
		return err
	}
	if m != nil {
		by := signerOf(t, perdure.Origin{Key: m.Key})
		r.Manifest = &manifestView{Key: m.Key, Name: by.Name, Trusted: by.Trusted, Time: m.Time, Capsules: m.Count}
	}
	for _, origin := range v.Origins {
		r.Signers = append(r.Signers, signerOf(t, origin))
	}
	var wrong error
	if derived != nil {
		wrong = r.audit(derived)
	}
	if o.older != nil {
		wrong = errors.Join(wrong, fmt.Errorf("%w: %s", errOlder, o.older))
	}
	if format, _ := out.check(); wrong != nil && format != formatTable {
		wrong = &answered{wrong}
	}
	return errors.Join(wrong, out.print(r, func(w io.Writer) error { return r.write(w) }))
}

// signerOf is what a trust file says of an author.
func signerOf(t *perdure.Trust, o perdure.Origin) signer {
	s := signer{Key: o.Key, Entries: o.Entries}
	var with []string
	for _, who := range t.Trustees() {
		if who.Key != o.Key {
			continue
		}
		if who.Name != "" {
			s.Name = who.Name
		}
		if who.Revoked {
			s.Trusted = ""
			return s
		}
		with = append(with, who.Rights.String()+" "+who.Scope)
	}
	slices.Sort(with)
	s.Trusted = strings.Join(with, "; ")
	return s
}

// write prints what was checked.
func (r *checked) write(w io.Writer) error {
	s := styleOf(w)
	t := table{tint: []func(string) string{s.head}}
	result := s.good("ok")
	if !r.OK {
		result = s.bad("the memory is whole, but not every decision holds")
	}
	if r.Older != nil {
		result = s.bad("what is there is good, but entries are missing")
	}
	t.add("verified", result+": agent "+r.Agent.String())
	t.add("entries", fmt.Sprintf("%d: every link, seq and hash", r.Entries))
	if r.depth != perdure.Full {
		t.add("depth", fmt.Sprintf("%s: %s; what came before is taken on the word of who signed the snapshot", r.depth, r.depth.Words()))
	}
	t.add("bodies", fmt.Sprintf("%d present, %d dropped", r.Bodies, r.Dropped))
	t.add("signatures", fmt.Sprintf("%d: every one, and every entry is covered by its author's", r.Signatures))
	t.add("snapshots", fmt.Sprintf("%d derived again and found the same, %d taken as they stand", r.Snapshots, r.Taken))
	if r.Policy != nil {
		writeAudit(w, &t, r.Policy)
	}
	if r.Lineage != nil {
		t.add("lineage", r.Lineage.String())
	}
	if m := r.Manifest; m != nil {
		t.add("manifest", fmt.Sprintf("signed by %s %s at %s, over %d capsules", cmp.Or(m.Name, "a key not known here"), m.Key, m.Time, m.Capsules))
	}
	for _, by := range r.Signers {
		name, trust := by.Name, by.Trusted
		if name == "" {
			name = "a key not known here"
		}
		if trust == "" {
			trust = s.warn("not trusted here")
		} else {
			trust = "trusted with " + trust
		}
		t.add("signed by", fmt.Sprintf("%s %s: %d entries, %s", name, by.Key, by.Entries, trust))
	}
	for _, d := range r.Diverged {
		t.add("diverged", d)
	}
	t.add("fold", r.Fold.String())
	for _, head := range r.Heads {
		t.add("head", head.String())
	}
	return t.write(w)
}
