package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/forms"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/view"
)

func verifyCommand() *cobra.Command {
	c := remotely(command("verify", cobra.MinimumNArgs(1)))
	h, out := lookFlag(c), outputFlags(c)
	c.ValidArgsFunction = func(c *cobra.Command, args []string, word string) ([]cobra.Completion,
		cobra.ShellCompDirective) {
		names, _ := agentArg(h)(c, args, word)
		return names, cobra.ShellCompDirectiveDefault
	}
	f := verifyFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 1 || !view.IsPath(args[0]) { // a file is here
			r, err := through(c)
			if err != nil {
				return err
			}
			if r != nil {
				return verifyAway(out, r, args, f)
			}
		}
		stream()
		return f.run(c, h, out, args)
	}
	return c
}

// verifyFlag is the flags of verify.
type verifyFlag struct {
	trusted, policy, attest, shallow bool
	heads, ids                       []string
	parent, pass                     string
}

func verifyFlags(c *cobra.Command) *verifyFlag {
	f, fl := new(verifyFlag), c.Flags()
	fl.BoolVar(&f.trusted, "trusted", false, "refuse authors who are not in the trust file")
	fl.StringSliceVar(&f.heads, "head", nil, "a head the memory must have, 64 hex digits; may be repeated")
	fl.StringVar(&f.parent, "parent", "", "the agent or file that its lineage must name")
	fl.BoolVar(&f.policy, "policy", false, "derive every policy decision again")
	fl.StringArrayVar(&f.ids, "identity", nil,
		"decrypt FILE with this file of age identities or SSH private key; may be repeated")
	fl.StringVar(&f.pass, "passphrase-file", "", "decrypt FILE with the passphrase in this file")
	fl.BoolVar(&f.attest, "attest", false, "write FILE"+home.AttestExt+
		": a signed statement that the capsule FILE was verified here")
	fl.BoolVar(&f.shallow, "shallow", false, "skip links and signatures if a key trusted everywhere signed FILE"+
		home.AttestExt+" for exactly this capsule")
	return f
}

// asked is what the flags ask of a memory.
func (f *verifyFlag) asked(h *homeFlag, policies []string) (o home.Verification, err error) {
	if o.Heads, err = home.ParseHeads(f.heads); err != nil {
		return o, perdure.Invalid(fmt.Errorf("--head: %w", err))
	}
	if err := h.Locate(); err != nil {
		return o, err
	}
	if f.trusted {
		if o.Trust, err = h.Trust(); err != nil {
			return o, err
		}
	}
	if f.policy {
		if o.Policy, err = home.AuditPolicies(h.Home, policies); err != nil {
			return o, err
		}
	}
	o.Parent = f.parent
	o.Identities, err = home.Identities(f.ids, f.pass)
	return o, err
}

func (f *verifyFlag) run(c *cobra.Command, h *homeFlag, out *output, args []string) error {
	what, policies, err := auditWords(args, f.policy)
	if err != nil {
		return err
	}
	o, err := f.asked(h, policies)
	if err != nil {
		return err
	}
	if what == "-" {
		if f.attest || f.shallow {
			return perdure.Invalid(errors.New("--attest and --shallow are about two files; standard input is none"))
		}
		spooled, remove, err := spool(c, capsule.DefaultMaxBytes)
		if err != nil {
			return err
		}
		defer remove()
		what = spooled
	}
	if f.attest || f.shallow {
		return f.attested(c, h, out, what, o)
	}
	r, err := h.Verify(c.Context(), what, o)
	if r == nil {
		return refusal(out, err)
	}
	if format, _ := out.check(); err != nil && format != formatTable {
		err = &answered{err}
	}
	return errors.Join(err, out.print(r, func(w io.Writer) error { return show.Checked(w, r.Page(), r.OK) }))
}

// attested attests to a capsule, or verifies one shallowly on the word of somebody who did.
func (f *verifyFlag) attested(c *cobra.Command, h *homeFlag, out *output, name string, o home.Verification) error {
	if o.Trust != nil || o.Policy != nil || o.Heads != nil {
		return perdure.Invalid(errors.New("--attest and --shallow are about the file itself; verify it with the " +
			"other flags first"))
	}
	r, err := h.Attested(c.Context(), name, o.Identities, f.shallow)
	switch {
	case err != nil:
		return refusal(out, err)
	case !f.shallow:
		return out.say(r, "attested: %s, in %s\n", r.Agent, name+home.AttestExt)
	}
	return out.say(r, "ok: agent %s, %s well-formed; %s verified exactly this capsule at %s\n", r.Agent,
		view.Several(r.Entries, "entry"),
		strings.TrimSpace(r.Name+" "+r.By.Short()), r.Time)
}

// auditWords are what verify is asked to look at: an agent or file, and policies.
func auditWords(words []string, byPolicy bool) (what string, policies []string, err error) {
	switch {
	case len(words) > 1 && !byPolicy:
		err = perdure.Invalid(fmt.Errorf("%d words: want one agent or file; policies follow it with --policy",
			len(words)))
	case len(words) > 1 && filepath.Ext(words[0]) == ".cedar":
		err = perdure.Invalid(errors.New("name the agent or file first, then policies"))
	}
	return words[0], words[1:], err
}

// refusal is an error, printed as the result where that is for programs.
func refusal(out *output, err error) error {
	var refused *perdure.Rejection
	if format, _ := out.check(); errors.As(err, &refused) && format != formatTable {
		return errors.Join(&answered{err}, out.print(forms.Verdict{Rejection: refused}, nil))
	}
	return err
}
