package home

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// A vote counts for the key that signed it. A person whose key a token unlocks has it signed here (Vote); one who keeps
// the key to themselves is given what to sign (Prepare) and brings it back (Take). The home's own key never votes here:
// a server that votes for people would make one voter of many, and could approve what its own node proposes.

// Ballot is what a person answers.
type Ballot struct {
	Approve bool
	Digest  string // of what is asked, or its beginning; empty: the only one
	Expires perdure.Time
	Note    string
}

// Voter refuses somebody whose key is not here: votes count per key.
func (v *Visitor) Voter() error {
	if v.Person != nil {
		return nil
	}
	return perdure.WithHint(fmt.Errorf("%w: votes count per key, and this token unlocks none", perdure.ErrDenied),
		"use a token of a person (perdure token new NAME --person), or sign the answer yourself: perdure --server URL "+
			"approve signs with the key of your own home")
}

// Votable is the open question of a digest, if an answer of the visitor would count.
func (d *Desk) Votable(v *Visitor, a *perdure.Agent, digest perdure.Hash, approve bool) (*perdure.Asking, error) {
	if err := v.MayIn(VerbApprove, a.Fold().Charter.Scope); err != nil {
		return nil, err
	}
	if err := v.Voter(); err != nil {
		return nil, err
	}
	if err := d.ownVote(v, v.Person.Key(), digest, approve); err != nil {
		return nil, err
	}
	return d.Node.VotableBy(a, v.Person.Key(), digest, approve)
}

// Vote records what the person whose token it is says about exactly one effect. An answer that is there already changes
// nothing: before.
func (d *Desk) Vote(ctx context.Context, v *Visitor, arg string, b Ballot) (out *Told, before bool, err error) {
	if err := v.May(VerbApprove); err != nil {
		return nil, false, err
	}
	if err := v.Voter(); err != nil {
		return nil, false, err
	}
	if v.Link != nil && b.Digest == "" {
		b.Digest = v.Link.Digest.String() // also where that is not open any more, and another is
	}
	a, q, vote, err := d.votable(ctx, v, arg, v.Person.Key(), b)
	if again := d.again(ctx, v, arg, b, err); again != nil {
		return again, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	done, err := d.Turns.Take(ctx, a.ID())
	if err != nil {
		return nil, false, err
	}
	defer done()
	if err := d.unanswered(ctx, v, a.ID(), vote); err != nil {
		return nil, false, err
	}
	entries, err := d.signed(ctx, v, a, "", vote)
	if err != nil {
		return nil, false, err
	}
	return d.take(ctx, v, a, q, entries)
}

// again is what came of an answer by a link that comes again, as its sender may not have heard that it arrived; nil: it
// is not that. Memory says so: a process that is killed has not marked the link.
func (d *Desk) again(ctx context.Context, v *Visitor, arg string, b Ballot, refused error) *Told {
	if v.Link == nil || refused == nil ||
		!strings.HasPrefix(v.Link.Digest.String(), strings.ToLower(b.Digest)) {
		return nil
	}
	a, err := d.Agent(ctx, v, arg)
	if err != nil || a.ID() != v.Link.Agent {
		return nil
	}
	for e := range a.Counting() {
		ev, _ := e.Content().(perdure.Event)
		vote, ok := ev.Notice.(perdure.Approval)
		if !ok || e.Origin != v.Person.Key() || vote.Digest != v.Link.Digest || vote.Approve != b.Approve {
			continue
		}
		out, err := d.told(ctx, e, nil)
		if err != nil {
			return nil
		}
		out.Before = true
		d.used(v, b.Approve)
		return out
	}
	return nil
}

// used marks the link of a visitor as good for no other answer. The same may come again, and changes nothing.
func (d *Desk) used(v *Visitor, approve bool) {
	if v.Link == nil || v.token == nil {
		return
	}
	if err := d.Home.usedLink(v.token, approve); err != nil {
		err = errors.Join(err, d.Home.dropToken(v.token))
		d.Home.note("the link was used, and that could not be kept: %v", err)
	}
}

// signed is the commit by which the visitor answers, signed by them; message is the id of the message it came in, if
// it came in one.
func (d *Desk) signed(ctx context.Context, v *Visitor, a *perdure.Agent, message string,
	vote perdure.Approval) ([]*perdure.Entry, error) {
	entries, err := d.Node.PrepareVoteOf(ctx, a.ID(), v.Person.Key(), v.Person.Name, message, vote)
	if err != nil {
		return nil, err
	}
	return v.Person.SignVote(entries, a.ID(), vote)
}

// Prepare is the commit by which a key would answer, without its signature, and what it answers. Nothing is stored.
func (d *Desk) Prepare(
	ctx context.Context,
	v *Visitor,
	arg string,
	by perdure.Key,
	name string,
	b Ballot,
) ([]*perdure.Entry, *view.Wait, error) {
	if err := v.May(VerbApprove); err != nil {
		return nil, nil, err
	}
	a, q, vote, err := d.votable(ctx, v, arg, by, b)
	if err != nil {
		return nil, nil, err
	}
	entries, err := d.Node.PrepareVote(ctx, a.ID(), by, name, vote)
	if err != nil {
		return nil, nil, err
	}
	w, err := d.about(ctx, a, q)
	return entries, w, err
}

// Take stores an answer that somebody signed elsewhere, after checking it as everything is that arrives. One that is
// here already changes nothing.
func (d *Desk) Take(
	ctx context.Context,
	v *Visitor,
	arg string,
	entries []*perdure.Entry,
) (out *Told, before bool, err error) {
	if err := v.May(VerbApprove); err != nil {
		return nil, false, err
	}
	if len(entries) == 0 {
		return nil, false, perdure.Invalid(errors.New("no entries were given"))
	}
	a, err := d.Agent(ctx, v, arg)
	if err != nil {
		return nil, false, err
	}
	by := entries[len(entries)-1].Origin
	vote, err := perdure.VoteOf(entries, a.ID(), by)
	if err != nil {
		return nil, false, perdure.Invalid(err)
	}
	if err := v.MayIn(VerbApprove, a.Fold().Charter.Scope); err != nil {
		return nil, false, err
	}
	if err := d.ownVote(v, by, vote.Digest, vote.Approve); err != nil {
		return nil, false, err
	}
	done, err := d.Turns.Take(ctx, a.ID())
	if err != nil {
		return nil, false, err
	}
	defer done()
	if err := d.unanswered(ctx, v, a.ID(), vote); err != nil {
		return nil, false, err
	}
	return d.take(ctx, v, a, d.open(a, vote.Digest), entries)
}

// unanswered refuses an answer by a link to what its person answered otherwise: by this link in another request, or in
// a process that was killed before it kept that, or with their token. Memory says so in the agent's turn; what the file
// of the link said when the request began does not.
func (d *Desk) unanswered(ctx context.Context, v *Visitor, id perdure.AgentID, vote perdure.Approval) error {
	if v.Link == nil || v.Person == nil {
		return nil
	}
	a, err := d.Load(ctx, id)
	if err != nil {
		return err
	}
	q := d.open(a, vote.Digest)
	if q == nil {
		return nil // it is refused for that
	}
	for _, was := range q.Votes {
		if was.Origin == v.Person.Key() && was.Approve != vote.Approve {
			return usedUp(saidWord(was.Approve))
		}
	}
	return nil
}

// usedUp refuses another answer by a link.
func usedUp(said string) error {
	return perdure.WithHint(&Error{KindConflict, fmt.Errorf("this link was used, to %s; nothing was changed", said)},
		"a link is good for one answer: answer with your token")
}

// ownVote refuses the key of the home, and what a link is not for.
func (d *Desk) ownVote(v *Visitor, by perdure.Key, digest perdure.Hash, approve bool) error {
	if by == d.Node.Key.Key() && !v.host {
		return perdure.WithHint(fmt.Errorf("%w: the key of this server never votes through it", perdure.ErrDenied),
			"on its machine, in its home, answer without --server and PERDURE_SERVER; elsewhere, with a token or a "+
				"key of "+
				"your own, which the agent asks: perdure new --approver NAME")
	}
	if v.Link != nil && v.Link.Digest != digest {
		return fmt.Errorf("%w: this link is for another question", perdure.ErrDenied)
	}
	if v.Link != nil && v.Person != nil && by != v.Person.Key() {
		return fmt.Errorf("%w: this link answers with the key of %s alone", perdure.ErrDenied, v.Name)
	}
	if v.Link != nil && v.Link.Said != "" && v.Link.Said != saidWord(approve) {
		return usedUp(v.Link.Said)
	}
	return nil
}

// votable is the agent, the open question and the answer of a ballot. An answer that would not count is refused, with
// who was first.
func (d *Desk) votable(
	ctx context.Context,
	v *Visitor,
	arg string,
	by perdure.Key,
	b Ballot,
) (*perdure.Agent, *perdure.Asking, perdure.Approval, error) {
	vote := perdure.Approval{Approve: b.Approve, Expires: b.Expires, Note: b.Note}
	a, err := d.Agent(ctx, v, arg)
	if err == nil {
		vote.Digest, err = view.Asked(a, b.Digest)
	}
	if err == nil {
		err = v.MayIn(VerbApprove, a.Fold().Charter.Scope)
	}
	if err == nil {
		err = d.ownVote(v, by, vote.Digest, vote.Approve)
	}
	if err != nil {
		return nil, nil, vote, err
	}
	q, err := d.Node.VotableBy(a, by, vote.Digest, vote.Approve)
	return a, q, vote, err
}

// open is the question of a digest, nil if it is not open.
func (d *Desk) open(a *perdure.Agent, digest perdure.Hash) *perdure.Asking {
	asks := a.Fold().Asks
	for i := range asks {
		if asks[i].Digest == digest {
			return &asks[i]
		}
	}
	return nil
}

// about is a question in full.
func (d *Desk) about(ctx context.Context, a *perdure.Agent, q *perdure.Asking) (*view.Wait, error) {
	if q == nil {
		return nil, nil
	}
	return asked(ctx, d.Node, a, q)
}

// asked is what a node's agent asks permission for, in full.
func asked(ctx context.Context, n *perdure.Node, a *perdure.Agent, q *perdure.Asking) (*view.Wait, error) {
	w := view.ApprovalOf(a.Fold(), q, n.Trusted(), view.Callable(a), time.Now())
	w.Agent, w.Name = a.ID(), a.Fold().Intent.Name
	return &w, w.Describe(ctx, n.Store, a)
}

// take stores a signed answer. A link is good for one.
func (d *Desk) take(
	ctx context.Context,
	v *Visitor,
	a *perdure.Agent,
	q *perdure.Asking,
	entries []*perdure.Entry,
) (out *Told, before bool, err error) {
	about, err := d.about(ctx, a, q)
	if err != nil {
		return nil, false, err
	}
	e, before, err := d.Node.TakeVote(ctx, a.ID(), entries)
	if err != nil {
		return nil, false, err
	}
	if vote, err := perdure.VoteOf(entries, a.ID(), e.Origin); err == nil { // as TakeVote checked
		d.used(v, vote.Approve)
	}
	out, err = d.told(ctx, e, nil)
	if out != nil {
		out.About, out.Before = about, before
	}
	return out, before, err
}

const (
	// maxLink is how long a link may be good.
	maxLink = 30 * 24 * time.Hour
	// maxLinks bounds the links of one person that are open: nobody has so many questions to answer at a time, and each
	// is a file with their key in it.
	maxLinks = 256
	// linkUsedFor is how long a link stays that was used: its answer may come again.
	linkUsedFor = 24 * time.Hour
)

// ErrNoLink refuses a link that would lead nowhere.
var ErrNoLink = perdure.WithHint(perdure.Invalid(errors.New("a link leads to a server, and none is named")),
	"name it with --server URL, and with --token-file a token of yours that unlocks your key")

// NewLink is a link by which the person whose token it is can answer one question once, until a time, without the
// token: from a phone, or out of a message. It unlocks their key for that answer and no other.
func (d *Desk) NewLink(
	ctx context.Context,
	v *Visitor,
	arg, digest string,
	until time.Time,
) (text string, t *Token, err error) {
	if err := v.May(VerbApprove); err != nil {
		return "", nil, err
	}
	if v.Person == nil || v.Link != nil {
		return "", nil, perdure.WithHint(fmt.Errorf("%w: only the token of a person can make a link for that person",
			perdure.ErrDenied), "use a token of a person: perdure token new NAME --person")
	}
	if until.IsZero() {
		until = time.Now().Add(24 * time.Hour)
	}
	if time.Until(until) > maxLink {
		return "", nil, perdure.Invalid(fmt.Errorf("a link is good for at most %d days", maxLink/(24*time.Hour)))
	}
	a, q, _, err := d.votable(ctx, v, arg, v.Person.Key(), Ballot{Approve: true, Digest: digest})
	if err != nil {
		return "", nil, err
	}
	link := &Bound{Agent: a.ID(), Digest: q.Digest}
	if t := v.token; t != nil {
		link.Token = t.ID
		if end := t.Expires.Go(); t.Expires != 0 && until.After(end) {
			until = end
		}
	}
	d.Home.linking.Lock() // or others would make as many meanwhile
	defer d.Home.linking.Unlock()
	if open, err := d.Home.SweepLinks(v.Person.Key(), time.Now()); err != nil {
		return "", nil, err
	} else if open >= maxLinks {
		return "", nil, perdure.WithHint(&Error{KindTooMany, fmt.Errorf("%d links of %s are open", open, v.Name)},
			"answer by one of them, take one back with perdure token revoke LINK, or wait until one expires")
	}
	return d.Home.MakeToken(NewToken{Name: v.Name, Verbs: []string{VerbApprove}, Scope: a.Fold().Charter.Scope,
		Expires: until, Person: v.Person, Link: link})
}

// Evidence is the entries by which an effect that is asked about was proposed and decided: whoever signs an answer
// elsewhere sees in them what the digest stands for.
func (d *Desk) Evidence(ctx context.Context, id perdure.AgentID, decision perdure.Hash) ([]*perdure.Entry, error) {
	a, err := d.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	decided, err := a.Find(ctx, d.Store, decision)
	if err != nil {
		return nil, err
	}
	if decided == nil {
		return nil, perdure.Missing("there is no decision " + decision.Short())
	}
	x, _ := decided.Content().(perdure.Decision)
	if x.Advice.IsZero() {
		return []*perdure.Entry{decided}, nil
	}
	advice, err := a.Find(ctx, d.Store, x.Advice)
	if advice == nil || err != nil {
		return []*perdure.Entry{decided}, err
	}
	return []*perdure.Entry{advice, decided}, nil
}
