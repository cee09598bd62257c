package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
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

func tokenNewCommand() *cobra.Command {
	c := command("token new", cobra.ExactArgs(1))
	h, out := storeFlag(c).acting(), outputFlags(c)
	var x home.TokenOrder
	f := c.Flags()
	f.StringSliceVar(&x.Verbs, "verbs", nil, "what it permits: "+strings.Join(home.Verbs, ", ")+
		", or all (default: read; of a person: read, approve, answer)")
	f.StringVar(&x.Scope, "scope", perdure.AnyScope, "of the agents, this scope and below; * is everywhere")
	f.StringVar(&x.Life, "expires", home.TokenLife, "when it ends: a time, a duration from now, or never")
	f.BoolVar(&x.IsPerson, "person", false,
		"it is that of a person: it unlocks a key of theirs, whose answers count")
	f.StringVar(&x.KeyFile, "key", "", "with --person: the file of the key they have")
	f.StringVar(&x.With, "with", "",
		"with --person: a file that holds another token of theirs, which unlocks their key")
	f.BoolVar(&x.Lost, "lost", false,
		"with --person: nobody has their key any more; it is revoked, and they get another")
	c.RunE = func(_ *cobra.Command, args []string) error {
		x.Name = args[0]
		text, t, err := h.OrderToken(x)
		if err != nil {
			return err
		}
		note(c, "keep it as you would a password: it is shown this once, and kept here only as a hash")
		if x.IsPerson {
			note(c, "agents ask their owner unless they are made to ask others: perdure new --approver NAME")
		}
		err = out.say(madeToken{t.View(), text}, "%s\n", text)
		if err == nil {
			return nil
		}
		if _, gone := h.RevokeToken(t.ID); gone != nil { // nobody has seen it, and nobody can again
			return errors.Join(err, fmt.Errorf("the token could not be shown; take it back: perdure token revoke %s",
				t.ID), gone)
		}
		return perdure.WithHint(fmt.Errorf("show the token, which is taken back: %w", err),
			"see that its output can be written, and repeat the command")
	}
	return c
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
		views := make([]home.TokenView, 0, len(all))
		for _, t := range all {
			views = append(views, t.View())
		}
		return list(out, views, func(w io.Writer) error { return show.Tokens(w, views) })
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
