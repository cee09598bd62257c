package main

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/forms"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

func answerCommand() *cobra.Command {
	c := command("answer", cobra.ExactArgs(2))
	t := newTeller(c, "")
	c.RunE = func(c *cobra.Command, args []string) error {
		text := args[1]
		if text == "-" {
			b, err := readWhole(c, "-", perdure.Limits{Bytes: perdure.MaxBody})
			if err != nil {
				return err
			}
			text = string(forms.TrimLineEnd(b))
		}
		return t.tell(args[0], home.Answer{Text: text})
	}
	return c
}

func approveCommand() *cobra.Command {
	c := command("approve", cobra.RangeArgs(1, 2))
	t := newTeller(c, "why")
	c.ValidArgsFunction = agentThen(t.h, home.CompleteAsked)
	yes := c.Flags().Bool("yes", false, "do not ask for confirmation on a terminal")
	expires := c.Flags().String("expires", "", "when an unused approval expires: a time, or a duration from now")
	link := c.Flags().Bool("link", false, "approve nothing: print a link by which you can answer it once (for 24h, or "+
		"until --expires)")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *link {
			return t.link(client.NewLink{Digest: append(args, "")[1], Expires: *expires}, args[0])
		}
		until, err := home.ParseDeadline(*expires, time.Now())
		if err != nil {
			return perdure.Invalid(fmt.Errorf("--expires: %w", err))
		}
		x := home.Voting{Ballot: home.Ballot{Approve: true, Digest: append(args, "")[1], Expires: until, Note: *t.note}}
		if !*yes && term.IsTerminal(c.InOrStdin()) {
			x.See = t.confirm
		}
		return t.tell(args[0], x)
	}
	return c
}

func denyCommand() *cobra.Command {
	c := command("deny", cobra.RangeArgs(1, 2))
	t := newTeller(c, "why")
	c.ValidArgsFunction = agentThen(t.h, home.CompleteAsked)
	c.RunE = func(_ *cobra.Command, args []string) error {
		return t.tell(args[0], home.Voting{Ballot: home.Ballot{Digest: append(args, "")[1], Note: *t.note}})
	}
	return c
}

// link prints a link by which the person whose token it is can answer what an agent asks.
func (t *teller) link(in client.NewLink, agent string) error {
	away, err := through(t.c)
	if away == nil || err != nil {
		return cmp.Or(err, home.ErrNoLink)
	}
	l, err := away.Link(t.c.Context(), agent, in)
	if err != nil {
		return err
	}
	return t.out.say(l, "%s\n", l.Link)
}

// confirm shows a person on a terminal, whole, what they are about to permit, and asks whether they do; elsewhere it is
// printed with the result.
func (t *teller) confirm(w *view.Wait) error {
	t.shown = true
	if err := term.WriteSheet(t.c.ErrOrStderr(), w, time.Now()); err != nil {
		return err
	}
	line, err := lineOf(t.c, w.Subject()+": approve this? [y/N] ")
	if vote, ok := home.ParseVote(line, w.Digest); err == nil && (!ok || !vote.Yes) {
		err = errors.New("nothing was approved")
	}
	return err
}
