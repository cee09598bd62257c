package home

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/view"
)

// TokenLife is how long a token is good if nobody says.
const TokenLife = "90d"

// TokenOrder is a token as people ask for it. Verbs may be all, or none: what is usual for a program or a person.
type TokenOrder struct {
	NewToken
	Life     string // when it ends: a time, a duration from now, or never
	IsPerson bool   // it is that of a person
	KeyFile  string // of the key that the person has; empty: see With
	With     string // a file with another token of the person, which unlocks their key; empty: they get a new one
	Lost     bool   // nobody has their key any more: it is revoked, and they get another
}

// OrderToken makes a token and returns its text, which is kept nowhere.
func (h *Home) OrderToken(x TokenOrder) (text string, t *Token, err error) {
	if x.Life != "never" {
		at, err := ParseDeadline(x.Life, time.Now())
		if err != nil {
			return "", nil, perdure.Invalid(fmt.Errorf("--expires: %w", err))
		}
		x.Expires = at.Go()
	}
	if !x.IsPerson && (x.KeyFile != "" || x.With != "" || x.Lost) {
		return "", nil, perdure.Invalid(errors.New("--key, --with and --lost are about a person's key; add --person"))
	}
	if _, err := h.KeyPath(); err != nil {
		return "", nil, err
	}
	if x.IsPerson {
		s, err := h.keyOf(&x)
		if err == nil && x.Lost {
			err = h.lostPerson(x.Name, s)
		}
		if err == nil {
			x.Person, err = h.personKey(x.Name, s)
		}
		if err != nil {
			return "", nil, err
		}
	}
	switch {
	case len(x.Verbs) == 1 && x.Verbs[0] == "all":
		x.Verbs = Verbs
	case len(x.Verbs) > 0:
	case x.Person != nil:
		x.Verbs = []string{VerbRead, VerbApprove, VerbAnswer}
	default:
		x.Verbs = []string{VerbRead}
	}
	if text, t, err = h.MakeToken(x.NewToken); err == nil && x.Person != nil {
		err = h.trustPerson(x.Person, x.Scope)
	}
	if err == nil {
		h.unscoped(t)
	}
	return text, t, err
}

// unscoped says which verbs of a token permit nothing, since what is behind them shows the agents of all scopes.
func (h *Home) unscoped(t *Token) {
	if t.Scope == perdure.AnyScope {
		return
	}
	for _, verb := range []string{VerbMCP, VerbA2A, VerbMetrics} {
		if slices.Contains(t.Verbs, verb) {
			h.note("/%s shows the agents of every scope: it is refused to this token, whose scope is %s", verb, t.Scope)
		}
	}
}

// keyOf is the key of a person that is given: in a file, or behind another token; nil: none is.
func (h *Home) keyOf(x *TokenOrder) (*perdure.Signer, error) {
	switch {
	case x.KeyFile != "" && x.With != "":
		return nil, perdure.Invalid(errors.New("--key and --with both give the key; use one of them"))
	case x.KeyFile != "":
		return keyfile.Read(x.KeyFile)
	case x.With == "":
		return nil, nil
	}
	b, err := disk.ReadFile(x.With, 4<<10)
	if err != nil {
		return nil, err
	}
	_, s, err := h.Unlock(strings.TrimSpace(string(b)), time.Now())
	if err == nil && s == nil {
		err = perdure.Invalid(errors.New("--with: that token is a program's, and unlocks no key"))
	}
	return s, err
}

// Ends is when the token ends, for people.
func (t *TokenView) Ends(now time.Time) string {
	switch {
	case t.Expires == 0:
		return "never"
	case !now.Before(t.Expires.Go()):
		return "expired"
	}
	return view.Moment(t.Expires, now)
}

// tokenNamed is the token of a name, if there is one and no other.
func (h *Home) tokenNamed(name string) (*Token, error) {
	all, err := h.Tokens()
	if err != nil {
		return nil, err
	}
	var found []string
	var last *Token
	for _, t := range all {
		if t.Name == name {
			found, last = append(found, t.ID), t
		}
	}
	if len(found) > 1 {
		return nil, perdure.WithHint(perdure.Invalid(fmt.Errorf("%d tokens are called %s", len(found),
			view.OneLine(name, 0))), "name one by its id: "+strings.Join(found, ", "))
	}
	return last, nil
}
