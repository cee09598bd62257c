package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/disk"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/view"
)

func tokenCommand() *cobra.Command {
	c := command("token", nil)
	c.AddCommand(tokenNewCommand(), tokenLsCommand(), tokenRevokeCommand())
	return c
}

// madeToken is a token that was made. Its text is shown once.
type madeToken struct {
	home.TokenView
	Text string `json:"token"`
}

// usualLife is how long a token is good if nobody says.
const usualLife = "90d"

func tokenNewCommand() *cobra.Command {
	c := command("token new", cobra.ExactArgs(1))
	h, out := storeFlag(c).acting(), outputFlags(c)
	verbs := c.Flags().StringSlice("verbs", nil, "what it permits: "+strings.Join(home.Verbs, ", ")+
		", or all (default: read; of a person: read, approve, answer)")
	scope := c.Flags().String("scope", perdure.AnyScope, "of the agents, this scope and below; * is everywhere")
	expires := c.Flags().String("expires", usualLife, "when it ends: a time, a duration from now, or never")
	person := c.Flags().Bool("person", false, "it is that of a person: it unlocks a key of theirs, whose answers count")
	key := c.Flags().String("key", "", "with --person: the file of the key they have")
	with := c.Flags().
		String("with", "", "with --person: a file that holds another token of theirs, which unlocks their key")
	c.RunE = func(_ *cobra.Command, args []string) error {
		x := home.NewToken{Name: args[0], Verbs: *verbs, Scope: *scope}
		if err := tokenLife(&x, *expires); err != nil {
			return err
		}
		if !*person && (*key != "" || *with != "") {
			return perdure.Invalid(errors.New("--key and --with are about a person's key; add --person"))
		}
		if _, err := h.KeyPath(); err != nil {
			return err
		}
		if *person {
			s, err := personsKey(h, *key, *with)
			if err == nil {
				x.Person, err = h.Person(x.Name, x.Scope, s)
			}
			if err != nil {
				return err
			}
		}
		usualVerbs(&x)
		text, t, err := h.MakeToken(x)
		if err != nil {
			return err
		}
		note(c, "keep it as you would a password: it is shown this once, and kept here only as a hash")
		if *person {
			note(c, "agents ask their owner unless they are made to ask others: perdure new --approver NAME")
		}
		return out.say(madeToken{t.View(), text}, "%s\n", text)
	}
	return c
}

// usualVerbs are those of a token for which none were named.
func usualVerbs(x *home.NewToken) {
	switch {
	case len(x.Verbs) == 1 && x.Verbs[0] == "all":
		x.Verbs = home.Verbs
	case len(x.Verbs) > 0:
	case x.Person != nil:
		x.Verbs = []string{home.VerbRead, home.VerbApprove, home.VerbAnswer}
	default:
		x.Verbs = []string{home.VerbRead}
	}
}

func tokenLife(x *home.NewToken, text string) error {
	if text == "never" {
		return nil
	}
	at, err := home.ParseDeadline(text, time.Now())
	if err != nil {
		return perdure.Invalid(fmt.Errorf("--expires: %w", err))
	}
	x.Expires = at.Go()
	return nil
}

// personsKey is the key of a person that is given: in a file, or behind another token; nil: none is.
func personsKey(h *homeFlag, file, with string) (*perdure.Signer, error) {
	switch {
	case file != "" && with != "":
		return nil, perdure.Invalid(errors.New("--key and --with both give the key; use one of them"))
	case file != "":
		return keyfile.Read(file)
	case with != "":
		b, err := disk.ReadFile(with, 4<<10)
		if err != nil {
			return nil, err
		}
		_, s, err := h.Unlock(strings.TrimSpace(string(b)), time.Now())
		if err == nil && s == nil {
			err = perdure.Invalid(errors.New("--with: that token is a program's, and unlocks no key"))
		}
		return s, err
	}
	return nil, nil
}

func tokenLsCommand() *cobra.Command {
	c := command("token ls", cobra.NoArgs)
	h, out := lookFlag(c), outputFlags(c)
	c.RunE = func(*cobra.Command, []string) error {
		if _, err := h.KeyPath(); err != nil {
			return err
		}
		all, err := h.Tokens()
		if err != nil {
			return err
		}
		now := time.Now()
		views := make([]home.TokenView, 0, len(all))
		for _, t := range all {
			views = append(views, t.View())
		}
		return list(out, views, func(w io.Writer) error {
			s := term.StyleOf(w)
			t := term.Table{
				Head: []string{"ID", "NAME", "KEY", "SCOPE", "EXPIRES", "VERBS"},
				Tint: []func(string) string{s.Dim, nil, s.Dim},
			}
			for _, one := range all {
				key, until := "-", "never"
				if one.Person != nil {
					key = one.Person.Key.Short()
				}
				if one.Expires != 0 {
					until = view.Moment(one.Expires, now)
				}
				if one.Expired(now) {
					until = "expired"
				}
				t.Add(one.ID, view.OneLine(one.Name, 40), key, one.Scope, until, strings.Join(one.Verbs, ","))
			}
			return t.Write(w)
		})
	}
	return c
}

func tokenRevokeCommand() *cobra.Command {
	c := command("token revoke", cobra.ExactArgs(1))
	h, out := storeFlag(c).acting(), outputFlags(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		if _, err := h.KeyPath(); err != nil {
			return err
		}
		t, err := h.RevokeToken(args[0])
		if err != nil {
			return err
		}
		return out.say(t.View(), "%s of %s is refused from now on\n", t.ID, view.OneLine(t.Name, 0))
	}
	return c
}
