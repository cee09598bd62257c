package home

import (
	"errors"
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
				"give it with --key FILE, or a token they have with --with FILE; if nobody has either, give them "+
					"another key with --lost; or use another name",
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

// lostPerson revokes the keys of a person that nobody has any more, so that they can get another. Answers that were
// signed with them stay the person's.
func (h *Home) lostPerson(name string, given *perdure.Signer) error {
	if given != nil {
		return perdure.Invalid(errors.New("--lost is for a key that nobody has; leave --key and --with out"))
	}
	if err := h.Consent(); err != nil {
		return err
	}
	t, err := h.ReadTrust()
	if err != nil {
		return err
	}
	gone := map[perdure.Key]bool{}
	for _, who := range t.Trustees() {
		if who.Name != name || who.Revoked || gone[who.Key] || !t.Allows(who.Key, who.Rights, who.Scope) {
			continue
		}
		if who.Rights != perdure.MayApprove {
			return perdure.WithHint(fmt.Errorf("%w: key %s of %s may do more than approve: it may be that of another "+
				"home", perdure.ErrDenied, who.Key.Short(), name), "if that is lost, too: perdure key trust "+
				who.Key.String()+" --revoke")
		}
		gone[who.Key] = true
		err := h.unused(who.Key)
		if err == nil {
			err = h.AddTrust(perdure.Trustee{Key: who.Key, Name: name, Revoked: true, Comment: "lost"})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unused refuses a key that a token here unlocks: somebody may have that.
func (h *Home) unused(k perdure.Key) error {
	all, err := h.Tokens()
	if err != nil {
		return err
	}
	for _, t := range all {
		if t.Person != nil && t.Person.Key == k {
			return perdure.WithHint(fmt.Errorf("token %s of %s unlocks their key", t.ID, t.Name),
				"whoever has it makes another with --with FILE; if it is lost, perdure token revoke "+t.ID+
					", and again")
		}
	}
	return nil
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
