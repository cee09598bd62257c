package view

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/seal"
)

// HeldText says whose entries keep an agent from counting here, and what would make them count.
func HeldText(err error) string {
	var r *perdure.Rejection
	if !errors.As(err, &r) {
		return err.Error()
	}
	return fmt.Sprintf("entry %.12s is by %s: it takes %s; %s", r.Entry, r.Got, r.Want, r.Hint)
}

// The kinds of things that wait for a person.
const (
	WaitQuestion = "question"
	WaitTalk     = "talk" // a chat whose turn is over
	WaitApproval = "approval"
	WaitDoubt    = "in-doubt"
	WaitPause    = "paused"
	WaitHeld     = "held"
	WaitBudget   = "budget"
	WaitSeat     = "seat"
	WaitDoubled  = "doubled"
	WaitOlder    = "older"
	WaitOther    = "other"
)

// Wait is one thing that waits for a person.
type Wait struct {
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
	Why      string          `json:"why,omitempty"`   // the reason policy gives, or what is known of an effect in doubt
	Asked    []string        `json:"asked,omitempty"` // whom policy asks, by now; see perdure.Trust.Asked
	Whom     string          `json:"whom,omitempty"`  // the same in words, where the charter says who that is
	Quorum   int64           `json:"quorum,omitempty"`
	Approved int             `json:"approved,omitempty"`
	Expired  string          `json:"expired,omitempty"` // whose approval ran out before it was used, and when
	Lacking  string          `json:"lacking,omitempty"` // why too few people can answer, and what to do about it
	Repeats  []repeated      `json:"repeats,omitempty"` // where the same was allowed, unknown to whoever asked
	Stage    int64           `json:"stage,omitempty"`   // how often the question has gone to more people
	Next     *escalation     `json:"next,omitempty"`    // to whom it goes if nobody answers
	Since    perdure.Time    `json:"since,omitempty"`
	Expires  perdure.Time    `json:"expires,omitempty"`
	// the command to type; empty: nothing that this key says would count
	Answer string `json:"answer"`
	Others string `json:"others,omitempty"` // why not, and who is to answer; or whose key the command signs with

	// Given and GivenHead are the sheet and the head as a server puts them, in the place of those that follow from
	// the rest.
	Given     []Row  `json:"-"`
	GivenHead string `json:"-"`
	Sent

	vault seal.Vault // opens what is sealed in the action; nil: it is not opened

	trust *perdure.Trust // tells whose word the decision that asks is, of an agent; nil: nobody asks
	fold  *perdure.Fold
}

// Unseal has people see opened what is sealed in the action that they are asked about, as the tool will. Programs are
// told no more than before.
func (w *Wait) Unseal(v seal.Vault) { w.vault = v }

// shown is the action as people see it.
func (w *Wait) shown() perdure.Action {
	if x, is := w.Action.(perdure.Execute); is {
		x.Args = seal.Shown(w.vault, x.Args)
		return x
	}
	return w.Action
}

// escalation is whom a question goes to, and when.
type escalation struct {
	At    perdure.Time `json:"at"`
	Asked []string     `json:"asked"`
}

// Waits are what of one agent waits for a person, described whole.
func Waits(ctx context.Context, s perdure.Store, a *perdure.Agent, trust *perdure.Trust, me perdure.Key,
	now time.Time) ([]Wait, error) {
	waits := waitsOf(a, trust, me, now)
	return waits, DescribeAll(ctx, s, a, waits)
}

// heldOf is an agent that does not count here, as its listing has it.
func heldOf(one perdure.Listing, why error, pause *perdure.Pause) Wait {
	w := Wait{Agent: one.Agent, Name: one.Name, Kind: WaitHeld, What: "held: " + HeldText(why), Since: one.Updated,
		Answer: "perdure resume " + one.Agent.Short()}
	if pause != nil {
		if w.Kind, w.What = WaitPause, "paused; "+w.What; pause.Note != "" {
			w.What = "paused: " + pause.Note + "; held: " + HeldText(why)
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

// waitsOf is what of one agent waits for a person. Of one that does not count here nothing does, but to be
// admitted, and what this key is asked: its answer counts where the agent runs.
func waitsOf(a *perdure.Agent, t *perdure.Trust, me perdure.Key, now time.Time) []Wait {
	f, name := a.Fold(), Callable(a)
	var found []Wait
	add := func(w Wait) {
		w.Agent, w.Name = a.ID(), f.Intent.Name
		found = append(found, w)
	}
	if why := t.Counts(a); why != nil {
		if t.Ended(a) != nil {
			return nil // a stranger's, and over: nothing can be said to it
		}
		w := Wait{Kind: WaitHeld, What: "held: " + HeldText(why), Since: f.Updated,
			Answer: "perdure resume " + a.ID().Short()} // its name may be that of one from here
		if f.Ended != nil {
			w.Answer = "perdure import FILE --drop-unknown # FILE is a copy from before"
		}
		if len(f.Paused) > 0 {
			w.Kind, w.What = WaitPause, "paused"+pauseNote(a)+"; "+w.What
		}
		add(w)
		for i := range f.Asks { // who is asked may answer without having it run here: see Node.Votable
			q := &f.Asks[i]
			if s := t.Tally(f, q, now); len(f.Paused) == 0 && f.Ended == nil && s.Open() {
				one := ApprovalOf(f, q, t, name, now)
				one.forOthers(f, q, t, me, now)
				if one.Answer != "" && !me.IsZero() && t.MayAnswerAway(f, q, me) {
					add(one)
				}
			}
		}
		return found
	}
	for _, o := range slices.Concat(f.Open, f.Hearsay()) {
		if !o.Effect.Repeatable() && (o.Doubt || !now.Before(o.Deadline.Go())) {
			add(doubtOf(a, &o))
		}
	}
	idle, _ := perdure.Plan(a, perdure.Capabilities{All: true, Trust: t}, now).(perdure.Idle)
	switch {
	case f.Ended != nil:
		return found
	case len(f.Paused) > 0:
		add(Wait{Kind: WaitPause, What: Why(idle) + pauseNote(a), Since: f.Updated, Answer: "perdure resume " + name})
		return found // it asks nothing meanwhile
	}
	for i := range f.Asks {
		q := &f.Asks[i]
		if s := t.Tally(f, q, now); s.Open() {
			w := ApprovalOf(f, q, t, name, now)
			w.forOthers(f, q, t, me, now)
			add(w)
		}
	}
	if q, asks := f.Question(now); asks {
		w := QuestionWait(a, q)
		if f.Intent.Kind == perdure.ChatKind {
			w.Kind, w.Answer = WaitTalk, "perdure chat "+name
		}
		add(w)
	}
	if what, used := f.Exhausted(); used && idle.Person && len(found) == 0 {
		amount, _, _ := strings.Cut(what, ":")
		add(Wait{Kind: WaitBudget, What: Why(idle), Since: f.Updated,
			Answer: "perdure grant " + name + " --" + amount + " N"})
	}
	if idle.Person && len(found) == 0 {
		add(Wait{Kind: WaitOther, What: Why(idle), Since: f.Updated, Answer: "perdure show " + name})
	}
	return found
}

// doubtOf is an effect of which nobody can tell whether it happened.
func doubtOf(a *perdure.Agent, o *perdure.Open) Wait {
	reserve := o.Reserve
	return Wait{Agent: a.ID(), Name: a.Fold().Intent.Name, Kind: WaitDoubt, Decision: o.Decision,
		Tool: toolName(o.Action), Action: o.Action,
		Effect: o.Effect, Reserve: &reserve, What: "did it happen? " + ActionText(o.Action),
		Why: doubtWhy(a, o.Decision), Since: o.Since,
		Answer: fmt.Sprintf("perdure settle %s %s --signal ok # or --signal failed", Callable(a), o.Decision)}
}

// doubtWhy is what was recorded when an effect was found to be in doubt, if that is not long ago.
func doubtWhy(a *perdure.Agent, decision perdure.Hash) string {
	for e := range a.Counting() {
		if out, ok := e.Content().(perdure.Outcome); ok && out.Decision == decision {
			return strings.TrimSuffix(fmt.Sprintf("%s, who did not begin it, says %s: %s", e.Origin.Short(), out.Signal,
				out.Note), ": ")
		}
		told, _ := e.Content().(perdure.Event)
		if d, ok := told.Notice.(perdure.Doubt); !ok || d.Decision != decision || told.Data == nil {
			continue
		}
		note, _ := told.Data.Value().(map[string]any)
		why, _ := note["why"].(string)
		return why
	}
	return ""
}

// QuestionWait is a question of an agent that sleeps until it is answered.
func QuestionWait(a *perdure.Agent, q perdure.Question) Wait {
	return Wait{Agent: a.ID(), Name: a.Fold().Intent.Name, Kind: WaitQuestion, What: q.Text,
		Since: a.Fold().Sleep.Since, Expires: q.Until,
		Answer: "perdure answer " + Callable(a) + " TEXT"}
}

// ApprovalOf is an action that policy asks about.
func ApprovalOf(f *perdure.Fold, q *perdure.Asking, t *perdure.Trust, name string, now time.Time) Wait {
	quorum := max(q.Verdict.Quorum, 1)
	w := Wait{Kind: WaitApproval, Decision: q.Decision, Digest: q.Digest, Tool: toolName(q.Action), Action: q.Action,
		What: ActionText(q.Action),
		Why:  q.Verdict.Reason, Asked: t.Asked(f, q), Quorum: quorum, Approved: t.Approved(f, q, now),
		Stage: q.Stage, Since: q.Since, Expires: q.Verdict.Expires,
		Rules: q.Verdict.Rules, Policy: q.Verdict.Policy, Answer: fmt.Sprintf("perdure approve %s %s", name, q.Digest),
		trust: t, fold: f}
	for _, v := range q.Votes {
		if v.Approve && v.Expires != 0 && !now.Before(v.Expires.Go()) {
			w.Expired = fmt.Sprintf("the approval of %s expired %s", voter(t, v.Origin), v.Expires.Go().Local().Format(
				"2006-01-02 15:04:05"))
		}
	}
	for _, at := range f.Repeats(q) {
		w.Repeats = append(w.Repeats, repeated{at.Seq, at.Name})
	}
	if len(f.Charter.Approvers) > 0 {
		w.Whom = t.Answerers(f, q)
	}
	if more := q.Verdict.Escalate; q.Stage < int64(len(more)) {
		w.Next = &escalation{more[q.Stage].At, more[q.Stage].Asked}
	} else {
		w.Lacking = Lacking(f, q, t)
	}
	return w
}

// Lacking says of a question that asks for more people than there are that nobody can answer it, and what to do;
// empty: there are enough.
func Lacking(f *perdure.Fold, q *perdure.Asking, t *perdure.Trust) string {
	n, quorum := t.Answerable(f, q), max(q.Verdict.Quorum, 1)
	if n >= quorum || quorum == 1 || t.Elsewhere(f, q) {
		return ""
	}
	do := "change the policy, or trust more people to approve (perdure key trust)"
	owners := slices.ContainsFunc(q.Asked(), func(who string) bool { return who == "owner" || who == "operator" })
	switch {
	case len(q.Asked()) > 0 && !owners:
		do = "each of " + OneLine(strings.Join(q.Asked(), ", "), ScreenText) + " is the name of one person whose " +
			"trusted key may approve (perdure key trust), so name enough of them"
		if len(f.Charter.Approvers) > 0 {
			do += ", or write approval:owner, which the approvers of the agent answer"
		}
	case len(q.Asked()) > 1: // several rules ask, or one that names several
		do = "whoever is asked for in two words is asked for as two people, so let the rules use one word for " +
			"each, and trust a key by every other name (perdure key trust)"
	case len(f.Charter.Approvers) > 0 || slices.Contains(q.Asked(), "owner"):
		do = "change the policy, or make it anew with --approver NAME for each of them"
	}
	can := fmt.Sprintf("only %d can answer", n)
	if n == 0 {
		can = "nobody can answer"
	}
	return fmt.Sprintf("it needs %d people, and %s: %s", quorum, can, do)
}

// voter is what people call a key that answered.
func voter(t *perdure.Trust, k perdure.Key) string {
	for _, who := range t.Trustees() {
		if who.Key == k && who.Name != "" {
			return who.Name
		}
	}
	return k.Short()
}

// phrase is what a policy says as one of several parts of a line. One that could pass for several is quoted.
func phrase(s string) string {
	if strings.Contains(s, ";") {
		return Quoted(s)
	}
	return OneLine(s, 0)
}

// repeated is a decision that let happen what a question asks about, in another copy of the agent.
type repeated struct {
	Seq      int64        `json:"seq"`
	Decision perdure.Hash `json:"decision"`
}

// again says that the same was allowed where whoever asked had not seen it; empty: nothing tells so.
func (w *Wait) again() string {
	var at []string
	for _, r := range w.Repeats {
		at = append(at, fmt.Sprintf("at seq %d (decision %s)", r.Seq, r.Decision.Short()))
	}
	if len(at) == 0 {
		return ""
	}
	return "the same was allowed in another copy, " + strings.Join(at, ", ") +
		": approve it only if it is to happen again"
}

// Circumstances says why a person is asked, who, how many must agree, until when, and who is asked next.
func (w *Wait) Circumstances(now time.Time) string {
	var parts []string
	if w.Why != "" {
		parts = append(parts, phrase(w.Why))
	}
	if whom := cmp.Or(w.Whom, strings.Join(w.Asked, ", ")); whom != "" {
		parts = append(parts, "asks "+phrase(whom))
	}
	if w.Quorum > 1 {
		parts = append(parts, fmt.Sprintf("%d of %d approved", w.Approved, w.Quorum))
	}
	if w.Lacking != "" {
		parts = append(parts, phrase(w.Lacking))
	}
	if w.Expired != "" {
		parts = append(parts, phrase(w.Expired))
	}
	if w.Stage > 0 {
		parts = append(parts, fmt.Sprintf("escalated %s", Times(w.Stage)))
	}
	if w.Next != nil {
		parts = append(parts, "goes to "+phrase(strings.Join(w.Next.Asked, ", "))+" "+Moment(w.Next.At, now))
	}
	if w.Expires != 0 {
		word := "lapses "
		switch w.Kind {
		case WaitQuestion:
			word = "it goes on without an answer "
		case WaitDoubt:
			word = "its outcome may still come until "
		}
		parts = append(parts, word+Moment(w.Expires, now))
	}
	return strings.Join(parts, "; ")
}

// forOthers says of a question whose answer this key need not give, or may not, who is to give it. Without a key it is
// not known.
func (w *Wait) forOthers(f *perdure.Fold, q *perdure.Asking, t *perdure.Trust, me perdure.Key, now time.Time) {
	if me.IsZero() {
		return
	}
	voted := slices.ContainsFunc(q.Votes, func(v perdure.Vote) bool {
		return v.Origin == me && v.Approve && (v.Expires == 0 || now.Before(v.Expires.Go()))
	})
	switch {
	case !t.MayAnswer(f, q, me):
		w.Answer, w.Others = "", "for "+t.Answerers(f, q)+" to answer: what this key says would not count"
	case voted:
		w.Answer, w.Others = "", "approved with this key; others have to, too"
	}
}

// Type has the commands that a wait tells people to type be as they are typed here.
func (w *Wait) Type(typed func(text string) string) {
	if w.Answer = typed(w.Answer); w.Kind == WaitHeld || w.Kind == WaitPause {
		w.What = typed(w.What)
	}
}
