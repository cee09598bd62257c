package home

import (
	"fmt"

	"github.com/perdure/perdure"
)

// Person is the key of a person whose answers are to count in a scope, which is trusted with approving from now on.
// Somebody has one key here: two would be two voters. Without a key one is made for somebody who is new; of somebody
// who is known, it must be given.
func (h *Home) Person(name, scope string, key *perdure.Signer) (*perdure.Signer, error) {
	if err := h.Consent(); err != nil {
		return nil, err
	}
	t, err := h.ReadTrust()
	if err != nil {
		return nil, err
	}
	if scope == "" {
		scope = perdure.AnyScope
	}
	for _, who := range t.Trustees() {
		if who.Name != name || who.Revoked || !t.Allows(who.Key, who.Rights, who.Scope) {
			continue
		}
		if key == nil {
			return nil, perdure.WithHint(
				fmt.Errorf("%s has a key here already, %s: with another they would be two voters", name,
					who.Key.Short()),
				"give it with --key FILE, or a token they have with --with FILE; or use another name",
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
	if t.Allows(key.Key(), perdure.MayApprove, scope) {
		return key, nil
	}
	return key, h.AddTrust(
		perdure.Trustee{
			Key:     key.Key(),
			Name:    name,
			Rights:  perdure.MayApprove,
			Scope:   scope,
			Comment: "their token signs with it",
		},
	)
}
