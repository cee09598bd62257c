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
		Short: "Replace the key of this store and hand its agents over",
		Long: `Rotate creates a new key and hands every agent of the old key over to it, each by an entry that the old key
signs. From then on this store signs with the new key. It can be interrupted at any time: run it again to
continue with the same new key. The old key stays in the home under another name and stays trusted, so that its
entries count and running nodes can finish. When they have, revoke it with perdure key revoke.

With --resume it creates no key, but hands over what still belongs to an earlier key of this home: agents of
another store (--store dir:…), and agents that arrived since.`,
		Example: `  perdure key rotate
  perdure key rotate --resume --store dir:/media/stick/agents
  perdure key revoke alice+c0ffee12+AX…`,
		Args:        cobra.NoArgs,
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitInterrupted),
	}
	h, out := storeFlag(c), outputFlags(c)
	name := c.Flags().String("name", "", "the name of the new key (default: that of the old one)")
	resume := c.Flags().Bool("resume", false, "create no key: hand over what still belongs to an earlier one")
	force := c.Flags().Bool("force", false, "use the new key even if some agents could not be handed over")
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
		Long: `Revoke records in every agent this store's key owns that another key no longer counts, and removes that key's
rights from the trust file. Entries of that key that are already here still count in these agents; all others
are ignored. Agents of other owners are not changed: their owners must revoke the key themselves.

KEY is one word as perdure key show prints it, or 64 hex digits. The key this store signs with cannot be
revoked: rotate it first.`,
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
