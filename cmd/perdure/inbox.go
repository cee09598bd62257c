package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
)

func inboxCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "inbox [flags]",
		Short: "List what waits for a person",
		Long: `Inbox lists, over all agents of the store, what only a person can answer: questions of agents, actions that policy asks about, effects
nobody can tell of, pauses, seats of copies, and budgets that are used up; each with the command that answers it.`,
		Example: `  perdure inbox
  perdure inbox -o jsonl --jq 'select(.kind=="approval") | .digest'`,
		Args:        cobra.NoArgs,
		Annotations: exits(exitOK, exitFailure, exitUsage, exitNotFound, exitInterrupted),
	}
	h, out := lookFlag(c), outputFlags(c)
	brief := c.Flags().Bool("brief", false, "one line for what is asked, cut to fit")
	c.RunE = func(*cobra.Command, []string) error {
		return h.use(false, func(ctx context.Context, s perdure.Store) error {
			trust, err := h.trust()
			if err != nil {
				return err
			}
			place, err := h.placeOf(ctx, s)
			if err != nil {
				return err
			}
			found, faults, err := waitingFor(ctx, s, trust, place, time.Now())
			if err != nil {
				return err
			}
			values := make([]any, len(found))
			for i := range found {
				values[i] = found[i]
			}
			err = out.list(values, func(w io.Writer) error {
				if len(found) == 0 && faults == nil {
					note(h.c, "nothing waits for a person")
				}
				return writeInbox(w, found, time.Now(), *brief)
			})
			return errors.Join(err, faults)
		})
	}
	return c
}

// The kinds of things that wait for a person.
const (
	waitsAnswer   = "question"
	waitsApproval = "approval"
	waitsDoubt    = "in-doubt"
	waitsPause    = "paused"
	waitsHeld     = "held"
	waitsBudget   = "budget"
	waitsSeat     = "seat"
	waitsDoubled  = "doubled"
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
	Effect   perdure.Effect  `json:"effect,omitempty"`  // its class, as the decision records it
	Reserve  *perdure.Spend  `json:"reserve,omitempty"` // of the budget, until the outcome is known
	Rules    []string        `json:"rules,omitempty"`   // of the policy, that ask
	Policy   perdure.Hash    `json:"policy,omitzero"`
	What     string          `json:"what"`
	Why      string          `json:"why,omitempty"`   // the reason policy gives
	Asked    []string        `json:"asked,omitempty"` // whom policy would ask, by now
	Quorum   int64           `json:"quorum,omitempty"`
	Approved int             `json:"approved,omitempty"`
	Stage    int64           `json:"stage,omitempty"` // how often the question has gone to more people
	Next     *escalation     `json:"next,omitempty"`  // to whom it goes if nobody answers
	Since    perdure.Time    `json:"since,omitempty"`
	Expires  perdure.Time    `json:"expires,omitempty"`
	Answer   string          `json:"answer"` // the command to type
}

// escalation is whom a question goes to, and when.
type escalation struct {
	At    perdure.Time `json:"at"`
	Asked []string     `json:"asked"`
}

// waitingFor looks through the agents that wait for a person, as the store's index knows them, and those that time may have made to: the ones a
// node should have looked at by now. One whose memory cannot be read hides no other: it is left out, and named in
// faults.
func waitingFor(ctx context.Context, s perdure.Store, trust *perdure.Trust, place perdure.Hash, now time.Time) (found []waiting, faults error, err error) {
	l, err := lister(s)
	if err != nil {
		return nil, nil, err
	}
	var ids []perdure.AgentID
	listed := map[perdure.AgentID]perdure.Listing{}
	for one, err := range l.List(ctx, perdure.Filter{Waiting: true}) {
		if err != nil {
			return nil, nil, err
		}
		ids, listed[one.Agent] = append(ids, one.Agent), one
	}
	for look, err := range s.Due(ctx, now) {
		if err != nil {
			return nil, nil, err
		}
		if _, known := listed[look.Agent]; !known {
			ids = append(ids, look.Agent)
		}
	}
	at, err := attendanceOf(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	stray, err := at.mayStray(ctx, l, ids)
	if err != nil {
		return nil, nil, err
	}
	for _, id := range append(ids, stray...) {
		if why, pause := trust.Strange(ctx, s, id); why != nil { // what strangers wrote is not folded to be listed
			one, known := listed[id]
			if !known {
				for one = range l.List(ctx, perdure.Filter{Prefix: id.String(), Limit: 1}) {
					break
				}
			}
			one.Agent = id
			found = append(found, heldOf(one, why, pause))
			continue
		}
		a, err := lookAt(ctx, s, trust, id)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if err != nil {
			faults = errors.Join(faults, fmt.Errorf("%s is left out: %w", id.Short(), err))
			continue
		}
		waits := waitsOf(a, trust, now)
		if trust.Counts(a) == nil {
			waits = slices.Concat(at.strays(a, now), seatWaits(a, trust, place, now), waits)
		}
		if err := describeAll(ctx, s, a, waits); err != nil {
			return nil, nil, err
		}
		found = append(found, waits...)
	}
	return found, faults, nil
}

// heldOf is an agent that does not count here, as its listing has it.
func heldOf(one perdure.Listing, why error, pause *perdure.Pause) waiting {
	w := waiting{Agent: one.Agent, Name: one.Name, Kind: waitsHeld, What: "held: " + heldText(why), Since: one.Updated,
		Answer: suggest("resume") + " " + commandName(one.Name, one.Agent)}
	if pause != nil {
		if w.Kind, w.What = waitsPause, "paused; "+w.What; pause.Note != "" {
			w.What = "paused: " + pause.Note + "; held: " + heldText(why)
		}
	}
	return w
}

// pauseNote is what was said when the agent was paused, if that is not long ago.
func pauseNote(a *perdure.Agent) string {
	for e := range a.Recent() {
		told, _ := e.Content().(perdure.Event)
		if p, ok := told.Notice.(perdure.Pause); ok && p.Note != "" && slices.Contains(a.Fold().Paused, e.Name) {
			return ": " + p.Note
		}
	}
	return ""
}

// waitsOf is what of one agent waits for a person. Of one that does not count here nothing does, but to be admitted.
func waitsOf(a *perdure.Agent, t *perdure.Trust, now time.Time) []waiting {
	f, name := a.Fold(), callable(a)
	var found []waiting
	add := func(w waiting) {
		w.Agent, w.Name = a.ID(), f.Intent.Name
		found = append(found, w)
	}
	if why := t.Counts(a); why != nil {
		w := waiting{Kind: waitsHeld, What: "held: " + heldText(why), Since: f.Updated, Answer: suggest("resume") + " " + name}
		if len(f.Paused) > 0 {
			w.Kind, w.What = waitsPause, "paused"+pauseNote(a)+"; "+w.What
		}
		add(w)
		return found
	}
	for _, o := range f.Open {
		if !o.Effect.Repeatable() && (o.Doubt || !now.Before(o.Deadline.Go())) {
			add(doubtOf(a, &o))
		}
	}
	idle, _ := perdure.Plan(a, perdure.Capabilities{All: true, Trust: t}, now).(perdure.Idle)
	switch {
	case f.Ended != nil:
		return found
	case len(f.Paused) > 0:
		add(waiting{Kind: waitsPause, What: idle.Why + pauseNote(a), Since: f.Updated, Answer: suggest("resume") + " " + name})
		return found // it asks nothing meanwhile
	}
	for i := range f.Asks {
		if q := &f.Asks[i]; !settled(f, q, t, now) {
			add(approvalOf(f, q, t, name, now))
		}
	}
	if q, asks := questionOf(f, now); asks {
		add(asksOf(a, q))
	}
	if what, used := f.Exhausted(); used && idle.Person && len(found) == 0 {
		amount, _, _ := strings.Cut(what, ":")
		add(waiting{Kind: waitsBudget, What: idle.Why, Since: f.Updated, Answer: suggest("grant") + " " + name + " --" + amount + " N"})
	}
	if idle.Person && len(found) == 0 {
		add(waiting{Kind: waitsOther, What: idle.Why, Since: f.Updated, Answer: suggest("show") + " " + name})
	}
	return found
}

// doubtOf is an effect of which nobody can tell whether it happened.
func doubtOf(a *perdure.Agent, o *perdure.Open) waiting {
	reserve := o.Reserve
	return waiting{Agent: a.ID(), Name: a.Fold().Intent.Name, Kind: waitsDoubt, Decision: o.Decision, Tool: toolName(o.Action), Action: o.Action,
		Effect: o.Effect, Reserve: &reserve, What: "did it happen? " + actionText(o.Action), Since: o.Since,
		Answer: fmt.Sprintf("%s %s %s --signal ok # or --signal failed", suggest("settle"), callable(a), o.Decision)}
}

// asksOf is a question of an agent that sleeps until it is answered.
func asksOf(a *perdure.Agent, q question) waiting {
	return waiting{Agent: a.ID(), Name: a.Fold().Intent.Name, Kind: waitsAnswer, What: q.text, Since: a.Fold().Sleep.Since, Expires: q.until,
		Answer: suggest("answer") + " " + callable(a) + " TEXT"}
}

// approvalOf is an action that policy asks about.
func approvalOf(f *perdure.Fold, q *perdure.Asking, t *perdure.Trust, name string, now time.Time) waiting {
	yes, _ := t.Tally(f, q, now)
	w := waiting{Kind: waitsApproval, Decision: q.Decision, Digest: q.Digest, Tool: toolName(q.Action), Action: q.Action, What: actionText(q.Action),
		Why: q.Verdict.Reason, Asked: q.Asked(), Quorum: max(q.Verdict.Quorum, 1), Approved: yes, Stage: q.Stage, Since: q.Since, Expires: q.Verdict.Expires,
		Rules: q.Verdict.Rules, Policy: q.Verdict.Policy, Answer: fmt.Sprintf("%s %s %s", suggest("approve"), name, q.Digest)}
	if more := q.Verdict.Escalate; q.Stage < int64(len(more)) {
		w.Next = &escalation{more[q.Stage].At, more[q.Stage].Asked}
	}
	return w
}

// settled reports whether a question needs no answer any more at a time: enough people approved, one refused, or it has
// lapsed.
func settled(f *perdure.Fold, q *perdure.Asking, t *perdure.Trust, now time.Time) bool {
	yes, no := t.Tally(f, q, now)
	return no || int64(yes) >= max(q.Verdict.Quorum, 1) || q.Verdict.Expires != 0 && !now.Before(q.Verdict.Expires.Go())
}

// writeInbox prints it for people: what is asked, the action as far as a list has room for it, who is asked and until
// when, and then how to answer.
func writeInbox(w io.Writer, found []waiting, now time.Time, brief bool) error {
	s, width := styleOf(w), widthOf(w)
	for i := range found {
		one := &found[i]
		name := one.Name
		if name == "" {
			name = one.Agent.Short()
		}
		what := oneLine(one.head(), 0)
		if brief {
			what = oneLine(one.What, lineWidth)
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%s  %s  %s, %s\n", s.head(shownName(name)), s.warn(one.Kind), what, ago(one.Since, now))
		row := func(text string) { b.WriteString(wrapped("    ", text, width, s.dim)) }
		if one.Action != nil && !brief {
			row("agent " + one.Agent.String()) // two names can look alike
		}
		for _, r := range one.sheet(now) {
			if brief {
				break
			}
			for _, text := range r.text {
				row(strings.TrimSpace(r.label + " " + text))
			}
		}
		if brief {
			row(one.circumstances(now))
		}
		b.WriteString("    " + s.dim(one.Answer) + "\n") // never broken: it is there to be copied
		if _, err := io.WriteString(w, b.String()); err != nil {
			return err
		}
	}
	return nil
}

// phrase is what a policy says as one of several parts of a line. One that could pass for several is quoted.
func phrase(s string) string {
	if strings.Contains(s, ";") {
		return quoted(s)
	}
	return oneLine(s, 0)
}

// circumstances says why a person is asked, who, how many must agree, until when, and who is asked next.
func (w *waiting) circumstances(now time.Time) string {
	var parts []string
	if w.Why != "" {
		parts = append(parts, phrase(w.Why))
	}
	if len(w.Asked) > 0 {
		parts = append(parts, "asks "+phrase(strings.Join(w.Asked, ", ")))
	}
	if w.Quorum > 1 {
		parts = append(parts, fmt.Sprintf("%d of %d approved", w.Approved, w.Quorum))
	}
	if w.Stage > 0 {
		parts = append(parts, fmt.Sprintf("escalated %s", times(w.Stage)))
	}
	if w.Next != nil {
		parts = append(parts, "goes to "+phrase(strings.Join(w.Next.Asked, ", "))+" "+moment(w.Next.At, now))
	}
	if w.Expires != 0 {
		word := "lapses "
		switch w.Kind {
		case waitsAnswer:
			word = "it goes on without an answer "
		case waitsDoubt:
			word = "nobody waits for it after "
		}
		parts = append(parts, word+moment(w.Expires, now))
	}
	return strings.Join(parts, "; ")
}
