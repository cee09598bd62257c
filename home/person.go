package home

import (
	"fmt"

	"github.com/perdure/perdure"
)

// personKey is the key of a person whose answers are to count in a scope. Somebody has one key here: two would be two
// voters. Without a key one is made for somebody who is new; of somebody who is known, it must be given.
func (h *Home) personKey(name string, key *perdure.Signer) (*perdure.Signer, error) {
	if err := h.Consent(); err != nil {
		return nil, err
	}
	t, err := h.ReadTrust()
	if err != nil {
		return nil, err
	}
	for _, who := range t.Trustees() {
		if who.Name != name || who.Revoked || !t.Allows(who.Key, who.Rights, who.Scope) {
			continue
		}
		if key == nil {
			return nil, perdure.WithHint(
				fmt.Errorf("%s has a key here already, %s: with another they would be two voters", name,
					who.Key.Short()),
				"give it with --key FILE, or a token they have with --with FILE; if nobody has either: perdure key "+
					"trust "+who.Key.String()+" --revoke, and again; or use another name",
			)
		}
		if key.Key() != who.Key {
			return nil, fmt.Errorf("%s has another key here, %s: with two they would be two voters", name,
				who.Key.Short())
		}
	}
	if key == nil {
		if key, err = newSigner(name); err != nil {
			return nil, perdure.Invalid(err)
		}
	}
	if key.Name != name {
		return nil, perdure.Invalid(fmt.Errorf("the key is that of %s, and the token is for %s", key.Name, name))
	}
	if own := h.nodeKey(); own == key.Key() {
		return nil, perdure.Invalid(errNodeKey)
	}
	return key, nil
}

// trustPerson trusts the key of a person with approving in a scope. It comes after the token that unlocks the key is
// kept: a key that is trusted and that nobody can use takes the name of the person.
func (h *Home) trustPerson(key *perdure.Signer, scope string) error {
	t, err := h.ReadTrust()
	if err != nil {
		return err
	}
	if scope == "" {
		scope = perdure.AnyScope
	}
	if t.Allows(key.Key(), perdure.MayApprove, scope) {
		return nil
	}
	return h.AddTrust(perdure.Trustee{Key: key.Key(), Name: key.Name, Rights: perdure.MayApprove, Scope: scope,
		Comment: "their token signs with it"})
}
