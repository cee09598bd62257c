package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/home"
)

// spool copies standard input to a file that is gone afterwards: verification reads twice where it refuses, to say what is wrong whatever the order.
func spool(c *cobra.Command) (string, func(), error) {
	f, err := os.CreateTemp("", "perdure-verify-*")
	if err != nil {
		return "", nil, err
	}
	remove := func() { _ = os.Remove(f.Name()) } // a temporary file that stays does no harm
	err = withInput(c, "-", func(r io.Reader) error {
		n, err := io.Copy(f, io.LimitReader(r, capsule.DefaultMaxBytes+1))
		if err == nil && n > capsule.DefaultMaxBytes {
			err = fmt.Errorf("standard input has more than %d bytes; verify a file instead", int64(capsule.DefaultMaxBytes))
		}
		return err
	})
	if err = errors.Join(err, f.Close()); err != nil {
		remove()
		return "", nil, err
	}
	return f.Name(), remove, nil
}

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
func attested(c *cobra.Command, h *homeFlag, out *output, name string, ids []age.Identity, shallow bool, o verifying) error {
	if o.Trust != nil || o.policy != nil || o.Heads != nil {
		return perdure.Invalid(errors.New("--attest and --shallow are about the file itself; verify it with the other flags first"))
	}
	is, err := home.IsCapsule(name)
	if err != nil {
		return err
	}
	if !is {
		return perdure.Invalid(errors.New("only a capsule is attested to; export the agent"))
	}
	var a *capsule.Attestation
	var entries int64
	if shallow {
		a, entries, err = believe(h.Home, name, ids)
	} else {
		a, entries, err = h.attest(c, name, ids)
	}
	if err != nil {
		return refusal(out, err)
	}
	r := attestedView{true, a.Agent, entries, a.Digest, a.Key, h.KeyNames()[a.Key], a.Time, shallow}
	return out.print(r, func(w io.Writer) error {
		text := fmt.Sprintf("attested: %s, in %s\n", a.Agent, name+home.AttestExt)
		if shallow {
			text = fmt.Sprintf("ok: agent %s, %d entries well-formed; %s verified exactly this capsule at %s\n", a.Agent, entries, keyCalled(r.Name, a.Key), a.Time)
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

// attest verifies a capsule deeply, whole with its fold if it holds the whole memory, and writes this home's word for it.
func (h *homeFlag) attest(c *cobra.Command, name string, ids []age.Identity) (*capsule.Attestation, int64, error) {
	key, err := h.Signer(c.Context())
	if err != nil {
		return nil, 0, err
	}
	whole, err := home.WholeCapsule(name, ids)
	if err != nil {
		return nil, 0, err
	}
	if whole {
		_, err = perdure.Verify(capsuleMemory(c, name, ids), perdure.VerifyOptions{})
	} else {
		err = foldCapsule(c, name, ids)
	}
	if err != nil {
		return nil, 0, err
	}
	r, done, err := home.OpenCapsule(name, ids)
	if err != nil {
		return nil, 0, err
	}
	a, err := capsule.Attest(key, r, time.Now())
	if err = errors.Join(err, done()); err != nil {
		return nil, 0, err
	}
	b, err := a.MarshalBinary()
	if err != nil {
		return nil, 0, err
	}
	return a, r.Index().Entries, writeOutput(c, name+home.AttestExt, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}

// foldCapsule folds what a capsule of less than the whole memory holds.
func foldCapsule(c *cobra.Command, name string, ids []age.Identity) error {
	r, done, err := home.OpenCapsule(name, ids)
	if err != nil {
		return err
	}
	_, err = capsule.Fold(r.Head(), capsuleMemory(c, name, ids))
	return errors.Join(err, done())
}

// believe reads a capsule shallowly, on the word in the file beside it of a key this home trusts everywhere.
func believe(h *home.Home, name string, ids []age.Identity) (*capsule.Attestation, int64, error) {
	o := capsule.ReadOptions{Identities: ids}
	if err := home.OnWord(h, name, &o); err != nil {
		return nil, 0, err
	}
	r, done, err := home.OpenWith(name, o)
	if err != nil {
		return nil, 0, err
	}
	for _, err := range r.Entries() {
		if err != nil {
			return nil, 0, errors.Join(err, done())
		}
	}
	return o.Attestation, r.Index().Entries, done()
}
