package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/keyfile"
)

func keyCommand() *cobra.Command {
	c := command("key", nil)
	c.AddCommand(keyShowCommand(), keyNewCommand(), keyTrustCommand(), keyAcceptCommand(), keyRotateCommand(), keyRevokeCommand())
	return c
}

// keyView is a key as printed.
type keyView struct {
	Name string      `json:"name"`
	Key  perdure.Key `json:"key"`
	Text string      `json:"text"` // as a trust file takes it
	File string      `json:"file"`
}

func (k keyView) print(out *output) error {
	return out.print(k, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, k.Text)
		return err
	})
}

func keyShowCommand() *cobra.Command {
	c := command("key show", cobra.NoArgs)
	h, out := lookFlag(c), outputFlags(c)
	c.RunE = func(*cobra.Command, []string) error {
		path, err := h.KeyPath()
		if err != nil {
			return err
		}
		s, err := keyfile.Read(path)
		if err != nil {
			return err
		}
		return keyView{s.Name, s.Key(), s.VerifierKey(), path}.print(out)
	}
	return c
}

func keyNewCommand() *cobra.Command {
	c := command("key new", cobra.NoArgs)
	h, out := storeFlag(c).acting(), outputFlags(c)
	name := c.Flags().String("name", "", "the name of the key (default: your user name)")
	c.RunE = func(c *cobra.Command, _ []string) error {
		path, err := h.KeyPath()
		if err != nil {
			return err
		}
		if _, err := os.Stat(path); err == nil {
			return perdure.WithHint(fmt.Errorf("there is a key at %s already", path), "move it away first if you mean it; agents made with it answer to it alone")
		}
		called := *name
		if called == "" {
			called = home.KeyName()
		}
		before, err := h.HadKey(c.Context())
		if err != nil {
			return err
		}
		s, err := h.MakeKey(called)
		if err != nil {
			return err
		}
		if before != "" {
			note(c, "this home had another key (%s): agents that belong to it still do; put it back, or fork them", before)
		}
		return keyView{s.Name, s.Key(), s.VerifierKey(), path}.print(out)
	}
	return c
}

func keyTrustCommand() *cobra.Command {
	c := command("key trust", cobra.MaximumNArgs(1))
	h, out := storeFlag(c), outputFlags(c)
	rights := c.Flags().String("rights", "author", "what it may do: author, approve, own, joined by commas")
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
			return perdure.Invalid(errors.New("--revoke takes everything back, in every scope; leave --rights and --scope out"))
		}
		if err := h.Consent(); err != nil {
			return err
		}
		who, err := home.TrusteeOf(args[0], *rights, *scope, *comment, *revoke)
		if err != nil {
			return perdure.Invalid(err)
		}
		if err := h.MakeHome(); err != nil {
			return err
		}
		known, err := h.ReadTrust()
		if err != nil {
			return err
		}
		if other, taken := known.Namesake(who); taken {
			note(c, "key %s is called %s here, too: a policy that asks %s by name takes the answer of either", other.Short(), who.Name, who.Name)
		}
		if err := h.TrustKey(who); err != nil {
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

// printTrust prints the trust file. What a key was trusted with before it was revoked is no line of it there.
func printTrust(h *homeFlag, out *output) error {
	t, err := h.ReadTrust()
	if err != nil {
		return err
	}
	var values []any
	var text strings.Builder
	gone := map[perdure.Key]bool{}
	for _, who := range t.Trustees() {
		gone[who.Key] = gone[who.Key] || who.Revoked
	}
	for _, who := range t.Trustees() {
		if line := perdure.NewTrust(who).String(); gone[who.Key] && !who.Revoked {
			text.WriteString("# taken back: " + line)
		} else {
			text.WriteString(line)
		}
		values = append(values, struct {
			Key     perdure.Key `json:"key"`
			Name    string      `json:"name,omitempty"`
			Rights  string      `json:"rights,omitempty"`
			Scope   string      `json:"scope,omitempty"`
			Comment string      `json:"comment,omitempty"`
			Revoked bool        `json:"revoked"`
		}{who.Key, who.Name, who.Rights.String(), who.Scope, who.Comment, gone[who.Key]})
	}
	return list(out, values, func(w io.Writer) error {
		_, err := io.WriteString(w, text.String())
		return err
	})
}
