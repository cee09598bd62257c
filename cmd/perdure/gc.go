package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
)

func gcCommand() *cobra.Command {
	c := command("gc", cobra.MaximumNArgs(1))
	h, out := storeFlag(c).acting(), outputFlags(c)
	dry := c.Flags().Bool("dry-run", false, "only list what would be dropped")
	set := c.Flags().String("set", "", "instead remove the chunks of this set that no capsule uses")
	c.RunE = func(c *cobra.Command, args []string) error {
		removed, dropped := "removed", "dropped"
		if *dry {
			removed, dropped = "would remove", "would drop"
		}
		if c.Flags().Changed("set") {
			if len(args) > 0 {
				return perdure.Invalid(errors.New("--set is about a folder of capsules, not about an agent of the " +
					"store; leave one of them out"))
			}
			r, err := home.CollectSet(c.Context(), *set, *dry)
			if err != nil {
				return err
			}
			return out.say(r, "%s: %s %d chunks of %d bytes, %d are referred to\n", r.Set, removed, r.Chunks, r.Bytes,
				r.Kept)
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			found, err := h.Collect(ctx, s, args, *dry)
			if err != nil {
				return err
			}
			return list(out, found, func(w io.Writer) (err error) {
				for _, g := range found {
					if err == nil {
						_, err = fmt.Fprintf(w, "%s: %s %d bodies, %d bytes, by the %s\n", g.Agent.Short(), dropped,
							g.Entries, g.Bytes, g.Rule)
					}
				}
				return err
			})
		})
	}
	return c
}

// confirmed asks for the name of a subject again.
func confirmed(c *cobra.Command, subject string) error {
	note(c, "what is erased cannot be read again by anybody; to go on, type %s", subject)
	line, err := lineOf(c, "> ")
	if err == nil && line != strings.TrimSpace(subject) {
		err = errors.New("nothing was erased")
	}
	return err
}

func eraseCommand() *cobra.Command {
	c := command("erase", cobra.ExactArgs(1))
	h, out := storeFlag(c).acting(), outputFlags(c)
	subject := c.Flags().String("subject", "", "the person the data is about")
	why := c.Flags().String("note", "", "why")
	yes := c.Flags().Bool("yes", false, "do not ask for confirmation on a terminal")
	c.RunE = func(c *cobra.Command, args []string) error {
		if strings.TrimSpace(*subject) == "" {
			return perdure.Invalid(errors.New("say whose data it is with --subject NAME"))
		}
		if !*yes && term.IsTerminal(c.InOrStdin()) {
			if err := confirmed(c, *subject); err != nil {
				return err
			}
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			id, err := home.Find(ctx, s, args[0])
			if err != nil {
				return err
			}
			e, err := h.Erase(ctx, s, id, *subject, *why)
			if err != nil {
				return err
			}
			r := struct {
				Agent perdure.AgentID `json:"agent"`
				Entry perdure.Hash    `json:"entry"`
				Seq   int64           `json:"seq"`
			}{id, e.Name, e.Seq}
			return out.say(r, "%s: the key of the subject is destroyed (seq %d)\n", args[0], r.Seq)
		})
	}
	return c
}
