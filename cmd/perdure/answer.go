package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
		if strings.TrimSpace(text) == "" {
			return perdure.Invalid(errors.New("the answer is empty; say something, or perdure send AGENT NAME for an " +
				"event without text"))
		}
		if r, on, err := through(t.c, t.out); on {
			if err != nil {
				return err
			}
			return r.tell(args[0], "answer", client.Answer{Text: text})
		}
		return t.tell(args[0], func(ctx context.Context, n *perdure.Node, a *perdure.Agent) (*perdure.Entry, error) {
			if q, asks := a.Fold().Question(time.Now()); asks {
				t.about = new(view.QuestionWait(a, q))
			}
			e, err := n.Answer(ctx, a.ID(), text)
			if errors.Is(err, perdure.ErrNotFound) {
				hint := "see perdure show " + view.Callable(a)
				if len(a.Fold().Asks) > 0 {
					hint = "it asks for permission: perdure approve " + view.Callable(a) + ", or perdure deny"
				}
				err = perdure.WithHint(err, hint)
			}
			return e, err
		})
	}
	return c
}

func approveCommand() *cobra.Command {
	c := command("approve", cobra.RangeArgs(1, 2))
	t := newTeller(c, "why")
	c.ValidArgsFunction = agentThen(t.h, askedDigests)
	t.yes = c.Flags().Bool("yes", false, "do not ask for confirmation on a terminal")
	expires := c.Flags().String("expires", "", "when an unused approval expires: a time, or a duration from now")
	c.RunE = func(c *cobra.Command, args []string) error {
		until, err := home.ParseDeadline(*expires, time.Now())
		if err != nil {
			return perdure.Invalid(fmt.Errorf("--expires: %w", err))
		}
		if r, on, err := through(t.c, t.out); on {
			if err != nil {
				return err
			}
			return r.vote(t, args, true, *expires)
		}
		return t.vote(args, true, until)
	}
	return c
}

func denyCommand() *cobra.Command {
	c := command("deny", cobra.RangeArgs(1, 2))
	t := newTeller(c, "why")
	c.ValidArgsFunction = agentThen(t.h, askedDigests)
	c.RunE = func(_ *cobra.Command, args []string) error {
		if r, on, err := through(t.c, t.out); on {
			if err != nil {
				return err
			}
			return r.vote(t, args, false, "")
		}
		return t.vote(args, false, 0)
	}
	return c
}

// confirm shows a person on a terminal, whole, what they are about to permit, and asks whether they do; elsewhere it is
// printed with the result.
func (t *teller) confirm(n *perdure.Node, a *perdure.Agent, q *perdure.Asking, approve bool) error {
	w := view.ApprovalOf(a.Fold(), q, n.Trusted(), view.Callable(a), time.Now())
	w.Agent, w.Name = a.ID(), a.Fold().Intent.Name
	if err := w.Describe(t.c.Context(), n.Store, a); err != nil {
		return err
	}
	t.about = &w
	if !approve || t.yes != nil && *t.yes || !term.IsTerminal(t.c.InOrStdin()) {
		return nil
	}
	t.shown = true
	if err := term.WriteSheet(t.c.ErrOrStderr(), &w, time.Now()); err != nil {
		return err
	}
	line, err := lineOf(t.c, "approve this? [y/N] ")
	if vote, ok := home.ParseVote(line, q.Digest); err == nil && (!ok || !vote.Yes) {
		err = errors.New("nothing was approved")
	}
	return err
}

// vote tells an agent whether a person permits what it asks for; unused, a permission lapses at a time.
func (t *teller) vote(args []string, approve bool, until perdure.Time) error {
	return t.tell(args[0], func(ctx context.Context, n *perdure.Node, a *perdure.Agent) (*perdure.Entry, error) {
		digest, err := view.Asked(a, append(args, "")[1])
		if err != nil {
			return nil, err
		}
		q, err := n.Votable(a, digest, approve)
		if err != nil {
			return nil, err
		}
		if err := t.confirm(n, a, q, approve); err != nil {
			return nil, err
		}
		if approve {
			return n.Approve(ctx, a.ID(), digest, until, *t.note)
		}
		return n.Deny(ctx, a.ID(), digest, *t.note)
	})
}
