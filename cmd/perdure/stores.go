package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func nodesCommand() *cobra.Command {
	c := remotely(command("nodes", cobra.MaximumNArgs(1)))
	h, out := lookFlag(c), outputFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		agents, err := agentsOf(h)
		if err != nil {
			return err
		}
		all, err := agents.Nodes(c.Context(), strings.Join(args, ""))
		if err != nil {
			return err
		}
		return list(out, all.Known, func(w io.Writer) error { return show.Nodes(w, all.Table) })
	}
	return c
}

func copyCommand() *cobra.Command {
	c := command("copy", cobra.NoArgs)
	from, to := newHome(c), newHome(c).founding()
	from.Looks = true
	c.Flags().StringVar(&from.URL, "from", "", "the store to copy agents from, named as --store names one")
	c.Flags().StringVar(&to.URL, "to", "", "the store to copy them to, which is made where there is none")
	out, filter := outputFlags(c), filterFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if from.URL == "" || to.URL == "" {
			return perdure.Invalid(errors.New("name both stores: --from URL --to URL"))
		}
		f, err := filter(time.Now())
		if err != nil {
			return perdure.Invalid(err)
		}
		got, err := to.Copy(c.Context(), from.Home, f)
		switch {
		case err == nil || errors.Is(err, perdure.ErrInvalid):
		case got != nil:
			err = perdure.WithHint(err, "run the same command again: it goes on where it was")
		case errors.Is(err, perdure.ErrNotFound):
			err = perdure.WithHint(err, "look whether --from names the store that has the agents")
		}
		if err != nil {
			return err
		}
		if err := answer(out, show.Copied)(got, nil); err != nil || len(got.Failed) == 0 {
			return err
		}
		return fmt.Errorf("%s could not be copied", view.Several(int64(len(got.Failed)), "agent"))
	}
	return c
}

func backupCommand() *cobra.Command {
	c := command("backup", cobra.ExactArgs(1))
	h, out := lookFlag(c), outputFlags(c)
	c.RunE = func(_ *cobra.Command, args []string) error {
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			b, err := h.Backup(ctx, s, args[0])
			if err != nil {
				return err
			}
			if len(b.Keep) > 0 {
				note(c, "keep with it, of the home: %s", view.InLine(strings.Join(b.Keep, " ")))
			}
			return out.say(b, "%s: %s, %s\n", view.InLine(b.Path), view.Several(b.Agents, "agent"),
				view.BytesText(b.Bytes))
		})
	}
	return c
}

func gcCommand() *cobra.Command {
	c := command("gc", cobra.MaximumNArgs(1))
	h, out := storeFlag(c).acting(), outputFlags(c)
	dry := c.Flags().Bool("dry-run", false, "only list what would be dropped")
	set := c.Flags().String("set", "", "instead remove the chunks of this set that no capsule uses")
	c.RunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("set") {
			if len(args) > 0 {
				return perdure.Invalid(errors.New("--set is about a folder of capsules, not about an agent of the " +
					"store; leave one of them out"))
			}
			r, err := home.CollectSet(c.Context(), *set, *dry)
			if err != nil {
				return err
			}
			removed := "removed"
			if *dry {
				removed = "would remove"
			}
			return out.say(r, "%s: %s %d chunks of %d bytes, %d are referred to\n", r.Set, removed, r.Chunks, r.Bytes,
				r.Kept)
		}
		h.Acts, h.Looks = !*dry, *dry
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			name := func(id perdure.AgentID) string { return home.NameOf(ctx, s, id) }
			text := func(w io.Writer, found []perdure.Collected) error { return show.Collected(w, found, *dry, name) }
			found, err := h.Collect(ctx, s, args, *dry)
			if len(found) == 0 || err == nil {
				return answers(out, text)(found, err)
			}
			return errors.Join(answers(out, text)(found, nil), err)
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
			r, err := h.Erase(ctx, s, args[0], *subject, *why)
			if err != nil {
				return err
			}
			return out.say(r, "%s", r.Text(args[0]))
		})
	}
	return c
}
