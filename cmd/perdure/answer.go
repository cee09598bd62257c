package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/forms"
	"github.com/perdure/perdure/view"
)

func answerCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "answer [flags] AGENT TEXT|-",
		Short: "Answer a question an agent asked",
		Long: `Answer gives a person's answer to an agent that asked a question. The agent wakes with it: an event called
answer, with the text as say. TEXT is one argument, or standard input (-).

To answer policy, which asks for permission, use perdure approve or perdure deny.`,
		Example: `  perdure inbox
  perdure answer news "the blue one"
  perdure answer news - < reply.txt`,
		Args: cobra.ExactArgs(2),
	}
	t := newTeller(c)
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
			return perdure.Invalid(errors.New("the answer is empty; say something, or perdure send AGENT NAME for an event without text"))
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
	c := &cobra.Command{
		Use:   "approve [flags] AGENT [DIGEST]",
		Short: "Approve an action an agent asked about",
		Long: `Approve permits exactly one effect that policy asks a person about: the digest binds the tool, its arguments and
the decision that asked, and an approval can be used once. DIGEST is at least 4 of its digits, as perdure inbox
prints them; leave it out if the agent asks for only one thing. If the digest has changed in the meantime,
nothing is approved.

AGENT may be a file you received: the answer is written into it. Send it back to whoever runs the agent, who imports
it; you need not import or admit the agent.

The action is printed in full. On a terminal it is shown first and you are asked to confirm, unless --yes is
given.`,
		Example: `  perdure inbox
  perdure approve shop 41d0 --note "checked the invoice" --expires 1h`,
		Args:        cobra.RangeArgs(1, 2),
		Annotations: voteExits(),
	}
	t := newTeller(c).withNote("why")
	c.ValidArgsFunction = agentThen(t.h, askedDigests)
	t.yes = c.Flags().Bool("yes", false, "do not ask for confirmation on a terminal")
	expires := c.Flags().String("expires", "", "when an unused approval expires: a time, or a duration from now")
	c.RunE = func(c *cobra.Command, args []string) error {
		until, err := home.ParseDeadline(*expires, time.Now())
		if err != nil {
			return perdure.Invalid(fmt.Errorf("--expires: %w", err))
		}
		return t.vote(args, true, func(ctx context.Context, n *perdure.Node, id perdure.AgentID, digest perdure.Hash) (*perdure.Entry, error) {
			return n.Approve(ctx, id, digest, until, *t.note)
		})
	}
	return c
}

// voteExits are how a command that answers what policy asks about can end.
func voteExits() map[string]string {
	return exits(exitOK, exitFailure, exitUsage, exitNotFound, exitDenied, exitConflict, exitInterrupted)
}

func denyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "deny [flags] AGENT [DIGEST]",
		Short: "Deny an action an agent asked about",
		Long: `Deny refuses one effect that policy asks a person about. A refusal stands even if others approve.

It does not stop the agent: the call ends as denied, and the advisor sees your note and decides what to do next,
which may be to ask again. Use --note to say what it should do instead, perdure pause or perdure end to stop it.`,
		Example:     `  perdure deny shop 41d0 --note "too expensive"`,
		Args:        cobra.RangeArgs(1, 2),
		Annotations: voteExits(),
	}
	t := newTeller(c).withNote("why")
	c.ValidArgsFunction = agentThen(t.h, askedDigests)
	c.RunE = func(_ *cobra.Command, args []string) error {
		return t.vote(args, false, func(ctx context.Context, n *perdure.Node, id perdure.AgentID, digest perdure.Hash) (*perdure.Entry, error) {
			return n.Deny(ctx, id, digest, *t.note)
		})
	}
	return c
}

// confirm shows a person on a terminal, whole, what they are about to permit, and asks whether they do; elsewhere it is
// printed with the result.
func (t *teller) confirm(a *perdure.Agent, q *perdure.Asking, approve bool) error {
	trust, err := t.h.Trust()
	if err != nil {
		return err
	}
	w := view.ApprovalOf(a.Fold(), q, trust, view.Callable(a), time.Now())
	w.Agent, w.Name = a.ID(), a.Fold().Intent.Name
	if err := w.Describe(t.c.Context(), t.store, a); err != nil {
		return err
	}
	t.about = &w
	if !approve || t.yes != nil && *t.yes || !isTerminal(t.c.InOrStdin()) {
		return nil
	}
	t.shown = true
	if err := writeSheet(t.c.ErrOrStderr(), &w, time.Now()); err != nil {
		return err
	}
	_, _ = fmt.Fprint(t.c.ErrOrStderr(), "approve this? [y/N] ") // without it the answer is still no
	line, err := bufio.NewReader(t.c.InOrStdin()).ReadString('\n')
	if said := strings.ToLower(strings.TrimSpace(line)); err != nil || said != "y" && said != "yes" {
		return errors.New("nothing was approved")
	}
	return nil
}

// vote tells an agent whether a person permits what it asks for.
func (t *teller) vote(args []string, approve bool, verb func(context.Context, *perdure.Node, perdure.AgentID, perdure.Hash) (*perdure.Entry, error)) error {
	return t.tell(args[0], func(ctx context.Context, n *perdure.Node, a *perdure.Agent) (*perdure.Entry, error) {
		var asks []perdure.Hash
		for _, q := range a.Fold().Asks {
			asks = append(asks, q.Digest)
		}
		if a.Fold().Ended != nil {
			return nil, fmt.Errorf("%s: %w", view.Called(a), perdure.ErrTerminated)
		}
		digest, err := pick(t.c, asks, append(args, "")[1], "question for a person", a)
		if whole, bad := perdure.ParseHash(append(args, "")[1]); err != nil && bad == nil {
			digest, err = whole, nil // the verb says who answered it
		}
		if err != nil {
			return nil, err
		}
		q, err := n.Votable(a, digest, approve)
		if err != nil {
			return nil, err
		}
		if err := t.confirm(a, q, approve); err != nil {
			return nil, err
		}
		return verb(ctx, n, a.ID(), digest)
	})
}
