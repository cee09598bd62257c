package home

import (
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure"
)

// Visitor is somebody who speaks to agents of a home through a face: who they are, and what they may.
type Visitor struct {
	Name string // how memories name them
	// Person is the key of the person, which signs their votes; nil: it is not here, and they sign for themselves.
	Person *perdure.Signer
	// Key is the key they have shown that they have, where no secret is shared; zero: none.
	Key perdure.Key
	// Speaks says that what they say is a person's word: they may answer what agents ask people, resume agents and
	// settle what is in doubt. A program may not.
	Speaks bool
	Scope  string   // of the agents there are for them; AnyScope: all
	Verbs  []string // nil: all
	// grants say what they may where, if that is not the same everywhere. Then Scope and Verbs cover all of them.
	grants []grant
	Link   *Bound // the one question they may answer; nil: any
	token  *Token
	hook   string // the name of the hook they are behind; empty: of none
	host   bool   // the owner of the home where they are at home
	by     bool   // a program speaks for them: what it does, they have not seen
}

// Visit is who has a token, or what is wrong with it.
func (h *Home) Visit(text string, now time.Time) (*Visitor, error) {
	t, person, err := h.Unlock(text, now)
	if err != nil {
		return nil, err
	}
	return &Visitor{
		Name:   t.Name,
		Person: person,
		Speaks: person != nil,
		Scope:  t.Scope,
		Verbs:  t.Verbs,
		Link:   t.Link,
		token:  t,
	}, nil
}

// Owner is who needs no token: whoever can reach what only the home's owner can. They vote elsewhere: with the key of
// this home the node would vote for them.
func (h *Home) Owner() (*Visitor, error) {
	k, err := h.Key()
	if err != nil {
		return nil, err
	}
	v := &Visitor{Name: keyName(), Speaks: true, Scope: perdure.AnyScope}
	if k != nil {
		v.Name = k.Name
	}
	return v, nil
}

// ID is what tells one visitor from another: the token, the key, or the owner.
func (v *Visitor) ID() string {
	switch {
	case v.token != nil:
		return "token " + v.token.ID
	case !v.Key.IsZero():
		return "key " + v.Key.String()
	case v.hook != "":
		return "hook " + v.hook
	}
	return ownerID
}

// ownerID is the ID of whoever can reach what only the home's owner can.
const ownerID = "owner"

// personal are the verbs that are a person's word: whoever answers for people, lets an agent go on, or says that what
// happened did not, so that it happens again, has looked.
var personal = []string{VerbAnswer, VerbResume, VerbSettle}

// may refuses a person's word of a program, and any verb the visitor has no right to.
func (v *Visitor) may(verb string) error {
	if err := v.May(verb); err != nil {
		return err
	}
	if !v.Speaks && slices.Contains(personal, verb) {
		return perdure.WithHint(
			fmt.Errorf("%w: %s is a program: no person stands behind its token, so it cannot %s for one",
				perdure.ErrDenied, v.Name, doing(verb)),
			"make a token for a person: perdure token new NAME --person",
		)
	}
	return nil
}

// votesWith is the key whose answers are the visitor's; zero: it is not known here.
func (v *Visitor) votesWith() perdure.Key {
	if v.Person != nil {
		return v.Person.Key()
	}
	return v.Key
}
