package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/keyfile"
	"github.com/perdure/perdure/view"
)

func keyRotateCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "rotate [flags]",
		Short: "Give this store a new key, and its agents to it",
		Long: `Rotate makes a new key and hands every agent of the old one over to it, each by an entry the old key signs. Then the new key is the one this
store signs with. It can be interrupted at any time: run it again, and it goes on with the same new key. The old key stays in the home under
another name, and trusted: its past entries count, and nodes that still run with it can go on. When they have ended, take the old key back
with perdure key revoke.

With --resume it makes no new key, but hands over what still belongs to an earlier key of this home: agents of another store (--store dir:…),
and ones that arrived since.`,
		Example: `  perdure key rotate
  perdure key rotate --resume --store dir:/media/stick/agents
  perdure key revoke alice+c0ffee12+AX…`,
		Args:        cobra.NoArgs,
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitInterrupted),
	}
	h, out := storeFlag(c), outputFlags(c)
	name := c.Flags().String("name", "", "what to call the new key (default: as the old one)")
	resume := c.Flags().Bool("resume", false, "make no new key: hand over what still belongs to an earlier one")
	force := c.Flags().Bool("force", false, "take the new key into use even if some agents could not be handed over")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if _, err := h.KeyPath(); err != nil {
			return err
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			r, err := h.Rotate(ctx, s, *name, *resume, *force)
			if r == nil {
				return err
			}
			return errors.Join(err, out.print(r, func(w io.Writer) error { return writeKeys(w, r, "handed over to "+r.Text) }))
		})
	}
	return c
}

// write is what was changed, for people.
func writeKeys(w io.Writer, r *home.KeysChanged, what string) error {
	_, err := fmt.Fprintf(w, "%s %s\n", view.Several(int64(len(r.Agents)), "agent"), what)
	for _, f := range r.Failed {
		if err == nil {
			_, err = fmt.Fprintf(w, "%s: not changed: %s\n", f.Agent.Short(), f.Why)
		}
	}
	return err
}

func keyRevokeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "revoke [flags] KEY",
		Short: "Revoke a key in every agent of this store, and in its trust file",
		Long: `Revoke records in every agent this store's key owns that another key counts no more, and takes back what the trust file trusts it with. What
the key wrote before, as far as it is here, still counts in these agents; everything else it writes, or wrote without it being here, counts
for nothing. Agents of other owners are not changed: that is for their owners.

KEY is one word as perdure key show prints it, or 64 hex digits. The key this store signs with is not revoked: rotate it first.`,
		Example: `  perdure key revoke bob+00d15ea5+AY…
  perdure key rotate && perdure key revoke $OLD`,
		Args:        cobra.ExactArgs(1),
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitInterrupted),
	}
	h, out := storeFlag(c), outputFlags(c)
	comment := c.Flags().String("comment", "", "a comment for the trust file")
	c.RunE = func(c *cobra.Command, args []string) error {
		who, err := home.TrusteeOf(args[0], "", "", *comment, true)
		if err != nil {
			return perdure.Invalid(err)
		}
		path, err := h.KeyPath()
		if err != nil {
			return err
		}
		key, err := keyfile.Read(path)
		if err != nil {
			return err
		}
		if key.Key() == who.Key {
			return perdure.WithHint(errors.New("this store signs with that key"), "give it another first: perdure key rotate")
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			r := &home.KeysChanged{Key: who.Key, Text: args[0], Agents: []perdure.AgentID{}}
			err := h.EachOwned(ctx, s, key, r, "key revoke", func(n *perdure.Node, id perdure.AgentID) (*perdure.Entry, error) { return n.Revoke(ctx, id, who.Key) })
			if err != nil {
				return err
			}
			if err := h.TrustKey(who); err != nil {
				return err
			}
			if len(r.Failed) > 0 {
				err = fmt.Errorf("the key is not trusted here any more, but %d agents do not say so; run it again", len(r.Failed))
			}
			return errors.Join(err, out.print(r, func(w io.Writer) error { return writeKeys(w, r, "say that "+r.Text+" counts no more") }))
		})
	}
	return c
}
