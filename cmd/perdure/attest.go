package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

// attestedView is what verify prints of a capsule that somebody attests to.
type attestedView struct {
	OK      bool            `json:"ok"`
	Agent   perdure.AgentID `json:"agent"`
	Entries int64           `json:"entries"`
	Digest  perdure.Hash    `json:"digest"`
	By      perdure.Key     `json:"by"`
	Name    string          `json:"name,omitempty"`
	Time    perdure.Time    `json:"time"`
	Shallow bool            `json:"shallow"`
}

// attested attests to a capsule, or verifies one shallowly on the word of somebody who did.
func (f *verifyFlag) attested(c *cobra.Command, h *homeFlag, out *output, name string, o home.Verification) error {
	if o.Trust != nil || o.Policy != nil || o.Heads != nil {
		return perdure.Invalid(errors.New("--attest and --shallow are about the file itself; verify it with the other flags first"))
	}
	is, err := home.IsCapsule(name)
	if errors.Is(err, fs.ErrNotExist) && !view.IsPath(name) {
		return perdure.WithHint(err, "only a capsule is attested to, and an agent of the store is none: write one with perdure export "+name)
	}
	if err != nil {
		return err
	}
	if !is {
		return perdure.Invalid(errors.New("only a capsule is attested to; export the agent"))
	}
	var a *capsule.Attestation
	var entries int64
	if f.shallow {
		a, entries, err = h.Believe(name, o.Identities)
	} else {
		a, entries, err = h.Attest(c.Context(), name, o.Identities)
	}
	if err != nil {
		return refusal(out, err)
	}
	r := attestedView{true, a.Agent, entries, a.Digest, a.Key, h.KeyNames()[a.Key], a.Time, f.shallow}
	return out.print(r, func(w io.Writer) error {
		text := fmt.Sprintf("attested: %s, in %s\n", a.Agent, name+home.AttestExt)
		if f.shallow {
			text = fmt.Sprintf("ok: agent %s, %s well-formed; %s verified exactly this capsule at %s\n", a.Agent, view.Several(entries, "entry"), keyCalled(r.Name, a.Key), a.Time)
		}
		_, err := io.WriteString(w, text)
		return err
	})
}

// keyCalled is what people call a key.
func keyCalled(name string, k perdure.Key) string {
	if name == "" {
		return k.Short()
	}
	return name + " " + k.Short()
}
