package home

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/perdure/perdure"
)

// KeyPath is where the key of this home is.
func (h *Home) KeyPath() (string, error) {
	if err := h.Locate(); err != nil {
		return "", err
	}
	if h.Dir == "" {
		return "", perdure.Invalid(errors.New("a store in memory has no key file; name another store"))
	}
	return filepath.Join(h.Dir, KeyFile), nil
}

// TrusteeOf is one line of a trust file, read from its parts as the file is.
func TrusteeOf(key, rights, scope, comment string, revoke bool) (perdure.Trustee, error) {
	line := key + " " + rights + " " + scope
	if revoke {
		line = "-" + key
	}
	if strings.ContainsAny(comment+key+rights+scope, "\r\n") {
		return perdure.Trustee{}, errors.New("a line of a trust file must not contain line breaks")
	}
	if comment != "" {
		line += " # " + comment
	}
	if !revoke && scope != perdure.AnyScope {
		if err := checkScope(scope); err != nil {
			return perdure.Trustee{}, err
		}
	}
	t, err := perdure.ParseTrust(strings.NewReader(line + "\n"))
	if err != nil {
		err = perdure.Invalid(errors.Unwrap(err)) // there is one line, and people did not write it
		if _, _, bad := perdure.ParseKey(key); bad != nil {
			err = perdure.WithHint(err, "a key is what perdure key show prints")
		}
		return perdure.Trustee{}, err
	}
	lines := t.Trustees()
	if len(lines) != 1 {
		return perdure.Trustee{}, fmt.Errorf("key %q: want one key", key)
	}
	return lines[0], nil
}

// TrustLine is a line of the trust file, as it counts.
type TrustLine struct {
	Key     perdure.Key `json:"key"`
	Name    string      `json:"name,omitempty"`
	Rights  string      `json:"rights,omitempty"`
	Scope   string      `json:"scope,omitempty"`
	Comment string      `json:"comment,omitempty"`
	Revoked bool        `json:"revoked"`
	Text    string      `json:"-"` // as the file has it; what was taken back is a comment
}

// TrustLines are the lines of the trust file. What a key was trusted with before it was revoked is no line of it.
func (h *Home) TrustLines() (lines []TrustLine, err error) {
	t, err := h.ReadTrust()
	if err != nil {
		return nil, err
	}
	gone := map[perdure.Key]bool{}
	for _, who := range t.Trustees() {
		gone[who.Key] = gone[who.Key] || who.Revoked
	}
	for _, who := range t.Trustees() {
		text := perdure.NewTrust(who).String()
		if gone[who.Key] && !who.Revoked {
			text = "# taken back: " + text
		}
		lines = append(lines, TrustLine{who.Key, who.Name, who.Rights.String(), who.Scope, who.Comment, gone[who.Key],
			text})
	}
	return lines, nil
}

// KeyView is the key of a home.
type KeyView struct {
	Name string      `json:"name"`
	Key  perdure.Key `json:"key"`
	Text string      `json:"text"` // as a trust file takes it
	File string      `json:"file"`
}

// ShowKey is the key that signs what is written here. One that was here and is gone is said to be gone.
func (h *Home) ShowKey(ctx context.Context) (*KeyView, error) {
	path, err := h.KeyPath()
	if err != nil {
		return nil, err
	}
	s, err := h.present(ctx, path)
	if err != nil {
		return nil, err
	}
	return &KeyView{s.Name, s.Key(), s.VerifierKey(), path}, nil
}

// NewKey makes the key of a home that has none, and trusts it; without a name it is called as the user is. It never
// replaces a key.
func (h *Home) NewKey(ctx context.Context, name string) (*KeyView, error) {
	path, err := h.KeyPath()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); err == nil {
		return nil, perdure.WithHint(fmt.Errorf("there is a key at %s already", path),
			"move it away first if you mean it; agents made with it answer to it alone")
	}
	before, err := h.hadKey(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := h.makeKey(cmp.Or(name, keyName())); err != nil {
		return nil, err
	}
	if before != "" {
		h.note("this home had another key (%s): agents that belong to it still do; put it back, or fork them", before)
	}
	return h.ShowKey(ctx)
}

// AddTrust adds a line to the trust file of a home that counts, which is made if there is none, and says when two keys
// have one name.
func (h *Home) AddTrust(who perdure.Trustee) error {
	if err := h.Consent(); err != nil {
		return err
	}
	if err := perdure.CheckName("a trusted key", who.Name); err != nil && !who.Revoked {
		return perdure.WithHint(err, "trust it by its 64 hex digits alone: "+who.Key.String())
	}
	if err := h.MakeHome(); err != nil {
		return err
	}
	if who.Revoked {
		if err := h.notOwn(who.Key); err != nil {
			return err
		}
	}
	known, err := h.ReadTrust()
	if err != nil {
		return err
	}
	if other, taken := known.Namesake(who); taken {
		h.note("key %s is also called %s here: a policy that asks %s by name accepts an answer from either",
			other.Short(), who.Name, who.Name)
	}
	return h.TrustKey(who)
}
