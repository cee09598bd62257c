package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
)

func inboxCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "inbox [flags]",
		Short: "List what waits for a person",
		Long: `Inbox lists, over all agents of the store, what only a person can answer: actions that policy asks about, effects nobody can tell
of, pauses, and budgets that are used up; each with the command that answers it.`,
		Example: `  perdure inbox
  perdure inbox -o jsonl --jq 'select(.kind=="approval") | .digest'`,
		Args:        cobra.NoArgs,
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitInterrupted),
	}
	h, out := storeFlag(c), outputFlags(c)
	c.RunE = func(*cobra.Command, []string) error {
		if _, err := out.check(); err != nil {
			return err
		}
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			found, err := waitingFor(ctx, s, time.Now())
			if err != nil {
				return err
			}
			values := make([]any, len(found))
			for i := range found {
				values[i] = found[i]
			}
			return out.list(values, func(w io.Writer) error { return writeInbox(w, found, time.Now()) })
		})
	}
	return c
}

// The kinds of things that wait for a person.
const (
	waitsApproval = "approval"
	waitsDoubt    = "in-doubt"
	waitsPause    = "paused"
	waitsOther    = "other"
)

// waiting is one thing that waits for a person.
type waiting struct {
	Agent    perdure.AgentID `json:"agent"`
	Name     string          `json:"name,omitempty"`
	Kind     string          `json:"kind"`
	Decision perdure.Hash    `json:"decision,omitzero"`
	Digest   perdure.Hash    `json:"digest,omitzero"` // what an approval binds
	Tool     string          `json:"tool,omitempty"`
	Action   perdure.Action  `json:"action,omitempty"`
	What     string          `json:"what"`
	Asked    []string        `json:"asked,omitempty"` // whom policy would ask
	Quorum   int64           `json:"quorum,omitempty"`
	Approved int             `json:"approved,omitempty"`
	Since    perdure.Time    `json:"since,omitempty"`
	Expires  perdure.Time    `json:"expires,omitempty"`
	Answer   string          `json:"answer"` // the command to type
}

// waitingFor looks through every agent that has not ended.
func waitingFor(ctx context.Context, s perdure.Store, now time.Time) ([]waiting, error) {
	l, err := lister(s)
	if err != nil {
		return nil, err
	}
	var ids []perdure.AgentID
	for one, err := range l.List(ctx, perdure.Filter{}) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, one.Agent)
	}
	var found []waiting
	for _, id := range ids {
		a, err := perdure.Load(ctx, s, id)
		if err != nil {
			return nil, fmt.Errorf("load %s: %w", id.Short(), err)
		}
		found = append(found, waitsOf(a, now)...)
	}
	return found, nil
}

// waitsOf is what of one agent waits for a person.
func waitsOf(a *perdure.Agent, now time.Time) []waiting {
	f, name := a.Fold(), called(a)
	var found []waiting
	add := func(w waiting) {
		w.Agent, w.Name = a.ID(), f.Intent.Name
		found = append(found, w)
	}
	for _, o := range f.Open {
		if !o.Effect.Repeatable() && (o.Doubt || !now.Before(o.Deadline.Go())) {
			add(waiting{Kind: waitsDoubt, Decision: o.Decision, Tool: toolName(o.Action), Action: o.Action, What: "did it happen? " + actionText(o.Action), Since: o.Since,
				Answer: fmt.Sprintf("perdure settle %s %s --signal ok|failed", name, o.Decision.Short())})
		}
	}
	idle, _ := perdure.Plan(a, perdure.Capabilities{All: true}, now).(perdure.Idle)
	switch {
	case f.Ended != nil:
		return found
	case len(f.Paused) > 0:
		add(waiting{Kind: waitsPause, What: idle.Why, Since: f.Updated, Answer: "perdure resume " + name})
		return found // it asks nothing meanwhile
	}
	for _, q := range f.Asks {
		if answeredBy(q, now) {
			continue
		}
		add(waiting{Kind: waitsApproval, Decision: q.Decision, Digest: q.Digest, Tool: toolName(q.Action), Action: q.Action, What: actionText(q.Action),
			Asked: q.Verdict.Asked, Quorum: max(q.Verdict.Quorum, 1), Approved: len(q.Votes), Since: q.Since, Expires: q.Verdict.Expires,
			Answer: fmt.Sprintf("perdure approve %s %s", name, q.Digest.Short())})
	}
	if idle.Person && len(found) == 0 {
		add(waiting{Kind: waitsOther, What: idle.Why, Since: f.Updated, Answer: "perdure show " + name})
	}
	return found
}

// answeredBy reports whether a question needs no answer any more at a time: enough people approved, one refused, or it has lapsed.
func answeredBy(q perdure.Asking, now time.Time) bool {
	yes := int64(0)
	for _, v := range q.Votes {
		if !v.Approve {
			return true
		}
		if v.Expires == 0 || now.Before(v.Expires.Go()) {
			yes++
		}
	}
	return yes >= max(q.Verdict.Quorum, 1) || q.Verdict.Expires != 0 && !now.Before(q.Verdict.Expires.Go())
}

// writeInbox prints it for people: what is asked on one line, how to answer on the next.
func writeInbox(w io.Writer, found []waiting, now time.Time) error {
	s := styleOf(w)
	for _, one := range found {
		name := one.Name
		if name == "" {
			name = one.Agent.Short()
		}
		more := ", " + ago(one.Since, now) + expiry(one.Expires)
		if one.Quorum > 1 {
			more += fmt.Sprintf(", %d of %d approved", one.Approved, one.Quorum)
		}
		if _, err := fmt.Fprintf(w, "%s  %s  %s%s\n    %s\n", s.head(name), s.warn(one.Kind), oneLine(one.What, lineWidth), more, s.dim(one.Answer)); err != nil {
			return err
		}
	}
	return nil
}

func approveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "approve [flags] AGENT [DIGEST]",
		Short: "Permit what an agent asks for",
		Long: `Approve permits exactly one effect that policy asks a person about: the digest binds the tool, its arguments and the decision that
asked, and an approval is used once. DIGEST is 4 or more of its digits, as perdure inbox prints them; it may be left out when
the agent asks for one thing only.`,
		Example: `  perdure inbox
  perdure approve shop 41d0 --note "checked the invoice" --expires 1h`,
		Args: cobra.RangeArgs(1, 2),
	}
	t := newTeller(c).withNote("why")
	expires := c.Flags().String("expires", "", "when the approval lapses if it was not used: a time, or a duration from now")
	c.RunE = func(c *cobra.Command, args []string) error {
		until, err := parseDeadline(*expires, time.Now())
		if err != nil {
			return misuse(c, fmt.Errorf("--expires: %w", err))
		}
		return t.answer(args, perdure.Approval{Approve: true, Expires: until, Note: *t.note})
	}
	return c
}

func denyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:     "deny [flags] AGENT [DIGEST]",
		Short:   "Refuse what an agent asks for",
		Long:    `Deny refuses one effect that policy asks a person about. A refusal stands whatever others say; the advisor is told and may propose another way.`,
		Example: `  perdure deny shop 41d0 --note "too expensive"`,
		Args:    cobra.RangeArgs(1, 2),
	}
	t := newTeller(c).withNote("why")
	c.RunE = func(_ *cobra.Command, args []string) error { return t.answer(args, perdure.Approval{Note: *t.note}) }
	return c
}

// answer tells an agent what a person says to what it asks.
func (t *teller) answer(args []string, answer perdure.Approval) error {
	return t.tell(args[0], func(a *perdure.Agent, key *perdure.Signer) (perdure.Event, error) {
		var ev perdure.Event
		if err := living(a); err != nil {
			return ev, err
		}
		f := a.Fold()
		var asks []perdure.Hash
		for _, q := range f.Asks {
			asks = append(asks, q.Digest)
		}
		digest, err := pick(t.c, asks, append(args, "")[1], "question for a person", called(a))
		if err != nil {
			return ev, err
		}
		if ok := f.Charter.Approvers; len(ok) > 0 && !slices.Contains(ok, key.Key()) {
			return ev, &advised{fmt.Errorf("%w: the charter of %s names others to approve, not the key %s", errDenied, called(a), key.Key().Short()), "ask one of them"}
		}
		i := slices.IndexFunc(f.Asks, func(q perdure.Asking) bool { return q.Digest == digest })
		if x := f.Asks[i].Verdict.Expires; x != 0 && !time.Now().Before(x.Go()) {
			return ev, errors.New("the question lapsed at " + x.String() + ": nobody answered in time")
		}
		answer.Decision, answer.Digest = f.Asks[i].Decision, digest
		return perdure.Event{Name: "approval", Notice: answer}, nil
	})
}
