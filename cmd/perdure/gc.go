package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func gcCommand() *cobra.Command {
	c := command("gc", cobra.MaximumNArgs(1))
	h, out := storeFlag(c).acting(), outputFlags(c)
	dry := c.Flags().Bool("dry-run", false, "only list what would be dropped")
	set := c.Flags().String("set", "", "instead remove the chunks of this set that no capsule uses")
	c.RunE = func(c *cobra.Command, args []string) error {
		if c.Flags().Changed("set") {
			if len(args) > 0 {
				return perdure.Invalid(errors.New("--set is about a folder of capsules, not about an agent of the store; leave one of them out"))
			}
			return collectSet(c, out, *set, *dry)
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			var ids []perdure.AgentID
			if len(args) == 1 {
				id, err := home.Find(ctx, s, args[0])
				if err != nil {
					return err
				}
				ids = append(ids, id)
			} else {
				l, err := view.Lister(s)
				if err != nil {
					return err
				}
				for one, err := range l.List(ctx, perdure.Filter{}) {
					if err != nil {
						return err
					}
					ids = append(ids, one.Agent)
				}
			}
			return collect(ctx, c, h, out, s, ids, *dry)
		})
	}
	return c
}

// collect drops what has expired, agent by agent, and says what went.
func collect(ctx context.Context, c *cobra.Command, h *homeFlag, out *output, s perdure.Store, ids []perdure.AgentID, dry bool) error {
	n, err := h.Node(ctx, s)
	if err != nil {
		return err
	}
	work := n.Collect
	if dry {
		work = n.Expired
	}
	bar := term.NewProgress(c.ErrOrStderr(), "gc", int64(len(ids)))
	var found []perdure.Collected
	var values []any
	for i, id := range ids {
		got, err := work(ctx, id)
		if err != nil {
			bar.End()
			return err
		}
		if got.Entries > 0 {
			found, values = append(found, got), append(values, got)
		}
		bar.To(int64(i + 1))
	}
	bar.End()
	return list(out, values, func(w io.Writer) error {
		word := "dropped"
		if dry {
			word = "would drop"
		}
		for _, g := range found {
			if _, err := fmt.Fprintf(w, "%s: %s %d bodies, %d bytes, by the %s\n", g.Agent.Short(), word, g.Entries, g.Bytes, g.Rule); err != nil {
				return err
			}
		}
		return nil
	})
}

// confirmed asks for the name of a subject again.
func confirmed(c *cobra.Command, subject string) bool {
	note(c, "what is erased cannot be read again by anybody; to go on, type %s", subject)
	return lineOf(c) == strings.TrimSpace(subject)
}

func eraseCommand() *cobra.Command {
	c := command("erase", cobra.ExactArgs(1))
	h, out := storeFlag(c).acting(), outputFlags(c)
	subject := c.Flags().String("subject", "", "the person the data is about")
	why := c.Flags().String("note", "", "why")
	yes := c.Flags().Bool("yes", false, "do not ask for confirmation on a terminal")
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case strings.TrimSpace(*subject) == "":
			return perdure.Invalid(errors.New("say whose data it is with --subject NAME"))
		case !*yes && term.IsTerminal(c.InOrStdin()) && !confirmed(c, *subject):
			return errors.New("nothing was erased")
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			id, err := home.Find(ctx, s, args[0])
			if err != nil {
				return err
			}
			n, err := h.Node(ctx, s)
			if err != nil {
				return err
			}
			e, err := n.Erase(ctx, id, *subject, *why)
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

// collectSet removes the chunks of a set that no capsule in it refers to.
func collectSet(c *cobra.Command, out *output, dir string, dry bool) error {
	if info, err := os.Stat(dir); err != nil {
		return err
	} else if !info.IsDir() {
		return perdure.Invalid(fmt.Errorf("--set %s: want a folder that perdure export --set wrote", dir))
	}
	set, err := capsule.OpenSet(dir)
	if err != nil {
		return err
	}
	got, err := set.Collect(c.Context(), dry)
	if err = errors.Join(err, set.Close()); err != nil {
		return err
	}
	verb := "removed"
	if dry {
		verb = "would remove"
	}
	r := struct {
		Set    string `json:"set"`
		Chunks int    `json:"chunks"`
		Bytes  int64  `json:"bytes"`
		Kept   int    `json:"kept"`
		Dry    bool   `json:"dry_run"`
	}{dir, got.Chunks, got.Bytes, got.Kept, dry}
	return out.say(r, "%s: %s %d chunks of %d bytes, %d are referred to\n", dir, verb, got.Chunks, got.Bytes, got.Kept)
}
