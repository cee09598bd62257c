package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/internal/term"
)

func keyCommand() *cobra.Command {
	c := command("key", nil)
	c.AddCommand(keyShowCommand(), keyNewCommand(), keyTrustCommand(), keyAcceptCommand(), keyRotateCommand(),
		keyRevokeCommand())
	return c
}

func keyShowCommand() *cobra.Command {
	c := command("key show", cobra.NoArgs)
	h, out := lookFlag(c), outputFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		k, err := h.ShowKey(c.Context())
		if err != nil {
			return err
		}
		if format, err := out.check(); err == nil && format == formatTable && term.IsTerminal(c.OutOrStdout()) {
			note(c, "the same in hexadecimal: %s", k.Key)
		}
		return out.say(k, "%s\n", k.Text)
	}
	return c
}

func keyNewCommand() *cobra.Command {
	c := command("key new", cobra.NoArgs)
	h, out := storeFlag(c).acting(), outputFlags(c)
	name := c.Flags().String("name", "", "the name of the key (default: your user name)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		k, err := h.NewKey(c.Context(), *name)
		if err != nil {
			return err
		}
		return out.say(k, "%s\n", k.Text)
	}
	return c
}

func keyTrustCommand() *cobra.Command {
	c := command("key trust", cobra.MaximumNArgs(1))
	h, out := storeFlag(c), outputFlags(c)
	rights := c.Flags().String("rights", "author", "what it may do: author, approve, begin, own, joined by commas")
	scope := c.Flags().String("scope", perdure.AnyScope, "in this scope and below; * is everywhere")
	comment := c.Flags().String("comment", "", "a comment")
	revoke := c.Flags().Bool("revoke", false, "remove all rights of the key")
	c.RunE = func(c *cobra.Command, args []string) error {
		if _, err := h.KeyPath(); err != nil {
			return err
		}
		if len(args) == 0 {
			for _, f := range []string{"rights", "scope", "comment", "revoke"} {
				if c.Flags().Changed(f) {
					return perdure.Invalid(fmt.Errorf("--%s is about a KEY; name one", f))
				}
			}
			return printTrust(h, out)
		}
		if *revoke && (c.Flags().Changed("rights") || c.Flags().Changed("scope")) {
			return perdure.Invalid(errors.New("--revoke takes everything back, in every scope; leave --rights and " +
				"--scope out"))
		}
		who, err := home.TrusteeOf(args[0], *rights, *scope, *comment, *revoke)
		if err != nil {
			return perdure.Invalid(err)
		}
		if err := h.AddTrust(who); err != nil {
			return err
		}
		return printTrust(h, out)
	}
	return c
}

func keyAcceptCommand() *cobra.Command {
	c := command("key accept", cobra.NoArgs)
	h := storeFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error { return h.accept(c.OutOrStdout()) }
	return c
}

// printTrust prints the trust file.
func printTrust(h *homeFlag, out *output) error {
	return answers(out, show.Trusted)(h.TrustLines())
}
