package perdure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Approve permits exactly the effect whose digest it is, which policy asks a person about, once. Expires is when that
// lapses; zero: never. A time that has passed is refused. Somebody else's answer, or an earlier one of this key, is not
// overridden: then the error wraps ErrConflict and says whose it was.
func (n *Node) Approve(ctx context.Context, id AgentID, digest Hash, expires Time, note string) (*Entry, error) {
	return n.vote(ctx, id, Approval{Approve: true, Digest: digest, Expires: expires, Note: note})
}

// Deny refuses the effect whose digest it is. A refusal stands whatever others say; the advisor is shown the note and
// decides what next.
func (n *Node) Deny(ctx context.Context, id AgentID, digest Hash, note string) (*Entry, error) {
	return n.vote(ctx, id, Approval{Digest: digest, Note: note})
}

// vote answers while the question is open: a node may act on what others answered at this moment.
func (n *Node) vote(ctx context.Context, id AgentID, v Approval) (e *Entry, err error) {
	_, bound := ctx.Value(headsKey{}).([]Hash)
	for range besideTries {
		on := ctx
		e, err = n.sayIn(ctx, id, func(a *Agent) (Event, context.Context, error) {
			q, err := n.answerable(a, n.Key.Key(), &v)
			if err != nil {
				return Event{}, nil, err
			}
			if !bound {
				on = WithHeads(ctx, a.Heads())
			}
			v.Decision = q.Decision
			return Event{Name: "approval", Notice: v}, on, nil
		})
		if bound || !errors.Is(err, ErrMoved) {
			return e, err
		}
	}
	return e, err
}

// answerable is the question that an answer of a key is to, if it would count now.
func (n *Node) answerable(a *Agent, by Key, v *Approval) (*Asking, error) {
	q, err := n.VotableBy(a, by, v.Digest, v.Approve)
	if err == nil {
		err = v.Expires.ahead("expiry", time.Now())
	}
	return q, err
}

// Votable is the question with this digest, if this answer of the node's key to it would count now. Until the effect
// has begun, whoever is asked may still deny it, whatever others have said and whatever they said themselves.
func (n *Node) Votable(a *Agent, digest Hash, approve bool) (*Asking, error) {
	if n.Key == nil {
		return nil, errNoKey
	}
	return n.VotableBy(a, n.Key.Key(), digest, approve)
}

// VotableBy is Votable for the answer of another key.
func (n *Node) VotableBy(a *Agent, by Key, digest Hash, approve bool) (*Asking, error) {
	if err := n.living(a); err != nil {
		if was := n.decided(a, digest); errors.Is(was, ErrConflict) {
			return nil, was
		}
		return nil, err
	}
	f, now := a.fold, time.Now()
	i := slices.IndexFunc(f.Asks, func(q Asking) bool { return q.Digest == digest })
	if i < 0 {
		return nil, n.decided(a, digest)
	}
	q := &f.Asks[i]
	switch x := q.Verdict.Expires; {
	case n.trust().Counts(a) != nil && a.pausedBy(n.Key.Key()):
		return nil, WithHint(fmt.Errorf("%w: %s is held here, under a pause of this home; an answer on top of that "+
			"is not taken where the agent runs", ErrDenied, a.called()),
			"answer in the file you received, and send that back: perdure approve FILE; or, if you trust its owner, "+
				"answer again after "+f.trustOwner())
	case !q.Bound(a.ID()):
		return nil, WithHint(fmt.Errorf("the digest %s is not that of the action %s shows; nothing was answered",
			digest.Short(), a.called()),
			"its memory is not what was signed: see perdure verify "+a.ID().Short())
	case n.trust().Counts(a) != nil && n.trust().MayAnswer(f, q, by) &&
		!n.trust().MayAnswerAway(f, q, by):
		return nil, WithHint(fmt.Errorf("%w: %s asks %s, whose key is %s, and the answer of key %s would not count "+
			"where it runs", ErrDenied, a.called(), f.whom(q), f.answersAway(), by.Short()),
			"let them answer"+otherApprovers(f))
	case !n.trust().MayAnswer(f, q, by):
		return nil, WithHint(fmt.Errorf("%w: %s asks %s, and the answer of key %s would not count", ErrDenied,
			a.called(), f.whom(q), by.Short()), n.others(f, q))
	case x != 0 && !now.Before(x.Go()):
		return nil, errors.New("the question lapsed at " + x.String() + ": nobody answered in time")
	}
	for _, v := range q.Votes {
		if v.Origin == by && (approve || !v.Approve) && (v.Expires == 0 || now.Before(v.Expires.Go())) {
			return nil, a.already(v.Approve, "with this key")
		}
	}
	// what enough have approved and nobody has begun can still be stopped
	if s := n.trust().Tally(f, q, now); s.Answered() && (approve || s.Refused) {
		return nil, a.already(!s.Refused, "by "+n.voters(s.Votes))
	}
	return q, nil
}

// others says who is to answer a question, and how it comes to somebody whose answer counts.
func (n *Node) others(f *Fold, q *Asking) string {
	if !n.trust().Elsewhere(f, q) {
		return "let " + n.trust().Answerers(f, q) + " answer" + otherApprovers(f)
	}
	return "they have no say here, as its owner is not trusted to own it; if you do: " + f.trustOwner() +
		"; or go on with a copy that is yours: perdure fork " + f.Agent.Short()
}

// trustOwner is the command that has the owner of an agent trusted to own it.
func (f *Fold) trustOwner() string {
	owner := authored{key: f.Charter.Owner, scope: f.Charter.Scope}
	return owner.trustCommand(MayOwn)
}

// voters names those who answered.
func (n *Node) voters(votes []Vote) string {
	var names []string
	for _, v := range votes {
		names = append(names, n.trust().nameOf(v.Origin))
	}
	return strings.Join(names, " and ")
}

// answersAway names the keys that answer for the owner where the agent runs.
func (f *Fold) answersAway() string {
	if len(f.Charter.Approvers) == 0 {
		return f.Charter.Owner.Short()
	}
	var keys []string
	for _, k := range f.Charter.Approvers {
		keys = append(keys, k.Short())
	}
	return strings.Join(keys, " or ")
}

// otherApprovers says how an agent comes to ask others than its owner, of one that asks that.
func otherApprovers(f *Fold) string {
	if len(f.Charter.Approvers) > 0 {
		return ""
	}
	return "; an agent asks somebody else in the place of its owner if it was made so: perdure new --approver NAME"
}

// pausedBy reports whether the agent is under a pause that a key wrote.
func (a *Agent) pausedBy(k Key) bool {
	return slices.ContainsFunc(a.fold.Paused, func(h Hash) bool {
		e := a.recent(h)
		return e != nil && e.Origin == k
	})
}

// decided says who answered a question that is not open any more.
func (n *Node) decided(a *Agent, digest Hash) error {
	for e := range a.Counting() {
		told, _ := e.Content().(Event)
		if v, ok := told.Notice.(Approval); ok && v.Digest == digest {
			return a.already(v.Approve, "by "+n.trust().nameOf(e.Origin))
		}
	}
	return Missing(fmt.Sprintf("%s has no open question %s", a.called(), digest.Short()))
}

func (a *Agent) already(approve bool, who string) error {
	word := "denied"
	if approve {
		word = "approved"
	}
	return WithHint(alreadyErr(fmt.Sprintf("already %s, %s; nothing was changed", word, who)),
		"perdure show "+a.ID().Short()+" says what it waits for now")
}

// alreadyErr says in its own words that somebody was first.
type alreadyErr string

func (e alreadyErr) Error() string        { return string(e) }
func (e alreadyErr) Is(target error) bool { return target == ErrConflict }

// whom says in words whom a question goes to. Where the charter names approvers, they are asked for the owner.
func (f *Fold) whom(q *Asking) string {
	asked := slices.Clone(q.Asked())
	if i := slices.Index(asked, askedOwner); i >= 0 && len(f.Charter.Approvers) > 0 {
		asked[i] = "its approvers in the owner's place"
	}
	switch {
	case len(asked) > 0:
		return strings.Join(asked, ", ")
	case len(f.Charter.Approvers) > 0:
		return "the approvers of its charter"
	}
	return "whoever may approve in " + f.Charter.Scope
}
