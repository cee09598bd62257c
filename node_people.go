package perdure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What a person tells an agent: each verb looks at the agent first, refuses what would count for nothing, and then
// tells it. The entry is durable when the verb returns. By is the name of the node's key, unless an event or the
// context says otherwise.

type speakerKey struct{}

// WithSpeaker is a context under which the verbs of people name somebody else as the one who says it: a program that
// speaks for whoever has the key. Whose word counts is decided by the signature, not by this name.
func WithSpeaker(ctx context.Context, by string) context.Context {
	return context.WithValue(ctx, speakerKey{}, by)
}

type programKey struct{}

// WithProgram is WithSpeaker for a program behind which no person stands: what it says is not taken at its word, and
// taints the agent as every event of it does. A verb without words does not.
func WithProgram(ctx context.Context, by string) context.Context {
	return context.WithValue(WithSpeaker(ctx, by), programKey{}, true)
}

// wordless reports whether an event says that something is so, and nothing in words of whoever says it.
func (ev *Event) wordless() bool {
	switch x := ev.Notice.(type) {
	case Pause:
		return x.Note == ""
	case Resume:
		return x.Note == ""
	case Cancel:
		return x.Note == ""
	case Grant:
		return x.Note == ""
	}
	return false
}

// Pause keeps an agent from deciding anything until it is resumed. What is under way is cut off where its tool can
// stop.
func (n *Node) Pause(ctx context.Context, id AgentID, note string) (*Entry, error) {
	return n.say(ctx, id, func(a *Agent) (Event, error) {
		return Event{Name: "pause", Notice: Pause{Note: note}}, a.living()
	})
}

// Resume ends the pauses of an agent that can be seen here. A pause written elsewhere and not seen yet stands.
func (n *Node) Resume(ctx context.Context, id AgentID, note string) (*Entry, error) {
	return n.say(ctx, id, func(a *Agent) (Event, error) {
		return Event{Name: "resume", Notice: Resume{Of: a.fold.Paused, Note: note}}, a.living()
	})
}

// Cancel ends an agent for good. Its memory stays.
func (n *Node) Cancel(ctx context.Context, id AgentID, note string) (*Entry, error) {
	return n.say(ctx, id, func(a *Agent) (Event, error) {
		return Event{Name: "cancel", Notice: Cancel{Note: note}}, a.living()
	})
}

// Grant adds to what an agent may spend. Only its owner can.
func (n *Node) Grant(ctx context.Context, id AgentID, amount Spend, note string) (*Entry, error) {
	if amount.Cost < 0 || amount.Tokens < 0 || amount.Calls < 0 || amount == (Spend{}) {
		return nil, Invalid(errors.New("say how much more it may spend: cost, tokens or calls, above zero"))
	}
	return n.say(ctx, id, func(a *Agent) (Event, error) {
		ev := Event{Name: "grant", Notice: Grant{Amount: amount, Note: note}}
		if err := a.living(); err != nil {
			return ev, err
		}
		if owner, key := a.fold.Charter.Owner, n.Key.Key(); owner != key {
			return ev, WithHint(fmt.Errorf("%w: %s is owned by %s, and this key is %s", ErrDenied, a.called(),
				owner.Short(), key.Short()),
				"use the store and key of its owner")
		}
		if a.fold.Intent.Budget == nil {
			return ev, WithHint(Invalid(fmt.Errorf("%s has no limit to add to", a.called())),
				"it may already spend what policy permits")
		}
		if name := a.fold.Intent.Budget.unlimited(amount); name != "" {
			return ev, WithHint(Invalid(fmt.Errorf("%s has no limit on %s to add to", a.called(), name)),
				"see perdure show for the limits it has; leave --"+name+" out")
		}
		return ev, nil
	})
}

// Edit changes an agent from outside: what it is for, narrower bounds, and its state by name. Its advisor is told
// before it proposes anything else.
func (n *Node) Edit(ctx context.Context, id AgentID, m Mutate, set map[string]Data) (*Entry, error) {
	return n.say(ctx, id, func(a *Agent) (Event, error) {
		ev := Event{Name: "edit", Notice: Edit{Mutate: m}, Set: set}
		if err := a.living(); err != nil {
			return ev, err
		}
		if err := a.fold.remakes(&m); err != nil {
			return ev, WithHint(Invalid(fmt.Errorf("%s: %w", a.called(), err)), "make another agent: perdure new")
		}
		if err := a.fold.widens(&m); err != nil {
			return ev, WithHint(Invalid(fmt.Errorf("%s: %w", a.called(), err)),
				"an edit narrows what an agent may, and never widens it; fork it with wider bounds: perdure fork")
		}
		return ev, nil
	})
}

// Settle records what came of an effect that nobody can tell of, or that somebody has looked at what was decided twice.
func (n *Node) Settle(ctx context.Context, id AgentID, s Settle) (*Entry, error) {
	return n.say(ctx, id, func(a *Agent) (Event, error) {
		ev := Event{Name: "settle", Notice: s}
		open := slices.ContainsFunc(a.fold.Open, func(o Open) bool { return o.Decision == s.Decision })
		twice := slices.ContainsFunc(a.fold.Doubles(), func(d Doubled) bool {
			return d.First == s.Decision || d.Second == s.Decision
		})
		owed := slices.ContainsFunc(a.fold.Owed, func(w Owed) bool {
			return w.Key == s.Decision && w.Decision.IsZero()
		})
		if !open && !twice && !owed {
			return ev, Missing(fmt.Sprintf("%s has no open decision %s", a.called(), s.Decision.Short()))
		}
		return ev, n.settleable(ctx, a, s.Decision)
	})
}

// settleable refuses to settle what a node is at work on: nobody else can tell yet what will come of it.
func (n *Node) settleable(ctx context.Context, a *Agent, decision Hash) error {
	i, now := a.fold.findOpen(decision), time.Now()
	if err := n.survived(a, i); err != nil {
		return err
	}
	store, ok := n.Store.(Holder)
	if !ok || i < 0 || a.fold.Open[i].Doubt || TimeOf(now) >= a.fold.Open[i].Deadline ||
		ahead(a.fold.Open[i].Since, TimeOf(now)) {
		return nil
	}
	for h, err := range store.Held(ctx) {
		if err != nil {
			return err
		}
		if h.Agent == a.ID() && !h.Dead {
			o := &a.fold.Open[i]
			return WithHint(alreadyErr(fmt.Sprintf("a node is at work on %s of %s; nothing was settled", o.toolName(),
				a.called())),
				"pause the agent, or wait until "+o.Deadline.String())
		}
	}
	return nil
}

// survived refuses to settle an open effect while processes are at work on it, or may go on with it.
func (n *Node) survived(a *Agent, i int) error {
	if i < 0 {
		return nil
	}
	o := &a.fold.Open[i]
	pids := n.survivors(o)
	if len(pids) == 0 {
		return nil
	}
	all := strings.Join(pids, " ")
	return WithHint(alreadyErr(fmt.Sprintf("%s of %s is still under way: %s; nothing was settled", o.toolName(),
		a.called(), atWork(pids))),
		"wait until it has ended; if it is stopped, let it go on with kill -CONT "+all+", or end it with kill -9 "+all+
			"; or, if it does not matter what it still does, settle with --still-running")
}

// atWork says which processes are at work on an effect.
func atWork(pids []string) string {
	if len(pids) == 1 {
		return "process " + pids[0] + " is at work on it"
	}
	return "processes " + strings.Join(pids, ", ") + " are at work on it"
}

// survivors are the processes still at work on an open effect.
func (n *Node) survivors(o *Open) []string {
	if n.Survivors == nil {
		return nil
	}
	pids := n.Survivors(o.Key.String())
	words := make([]string, min(len(pids), 20))
	for k := range words {
		words[k] = strconv.Itoa(pids[k])
	}
	return words
}

// Question is something an agent asks people: it sleeps until an event called answer arrives, and says in its note what
// it wants to know. Models ask so with the call ask, Go functions with durable.Ask.
type Question struct {
	Text  string
	To    string // the id of the asking call, which the answer carries
	Until Time   // when the agent goes on without an answer; zero: never
}

// Question is what an agent asks at a time, if it does and nobody has answered.
func (f *Fold) Question(now time.Time) (Question, bool) {
	if f.Ended != nil || f.Sleep == nil || f.met(now, true).Met {
		return Question{}, false
	}
	s := f.Sleep.Sleep
	q := Question{Text: s.Note, To: s.Call}
	of := []Trigger{s.Trigger}
	if list, ok := s.Trigger.(Any); ok {
		of = list.Of
	}
	asks := false
	for _, t := range of {
		switch t := t.(type) {
		case On:
			asks = asks || t.Event == AnswerEvent
		case After:
			q.Until = f.Sleep.Since + Time(t.Millis)
		case At:
			q.Until = t.Time
		case Done, When, Every, Any, All:
		}
	}
	switch {
	case q.Text != "":
	case f.Intent.Kind == ChatKind:
		q.Text = "(it waits for the first word)"
	default:
		q.Text = "(it does not say what)"
	}
	return q, asks
}

// The words by which agents talk to people.
const (
	// AnswerEvent is the event that answers a question of an agent to people: an agent that sleeps until one waits for
	// a person.
	AnswerEvent = "answer"
	// ChatKind is the kind of an agent that people talk to: when its advisor answers with text alone, that ends a turn
	// and not the agent. It then sleeps until it is told something, with the text as the question it asks. It does not
	// begin before somebody has said something.
	ChatKind = "chat"
)

// Said is what a person says to an agent with an event, if it is one that answers or talks to it.
func (ev *Event) Said() (string, bool) {
	if ev.Name != AnswerEvent || ev.Notice != nil {
		return "", false
	}
	m, _ := ev.Data.Value().(map[string]any)
	text, ok := m["say"].(string)
	return text, ok
}

// Say tells an agent what a person says to it, whatever it is doing: an answer if it asks, else it is heard when its
// advisor is asked next.
func (n *Node) Say(ctx context.Context, id AgentID, text string) (*Entry, error) {
	return n.answer(ctx, id, text, false)
}

// Answer answers what an agent asks people. It wakes with the answer.
func (n *Node) Answer(ctx context.Context, id AgentID, text string) (*Entry, error) {
	return n.answer(ctx, id, text, true)
}

// answer tells an agent what a person says; asked: only if it asks.
func (n *Node) answer(ctx context.Context, id AgentID, text string, asked bool) (*Entry, error) {
	if strings.TrimSpace(text) == "" {
		return nil, Invalid(errors.New("the answer is empty; say something"))
	}
	return n.say(ctx, id, func(a *Agent) (Event, error) {
		if err := a.living(); err != nil {
			return Event{}, err
		}
		ev, asks, err := a.fold.Reply(text, time.Now())
		if err == nil && asked && !asks {
			err = Missing(a.called() + " asks no question")
		}
		return ev, err
	})
}

// Reply is the event by which a person says something to an agent, and whether it answers what the agent asks at a
// time.
func (f *Fold) Reply(text string, now time.Time) (ev Event, answers bool, err error) {
	q, asks := f.Question(now)
	said := map[string]any{"say": text}
	if asks && q.To != "" {
		said["to"] = q.To
	}
	ev = Event{Name: AnswerEvent}
	ev.Data, err = DataOf(said)
	return ev, asks, err
}

// Approve permits exactly the effect whose digest it is, which policy asks a person about, once. Expires is when that
// lapses; zero: never. Somebody else's answer, or an earlier one of this key, is not overridden: then the error wraps
// ErrConflict and says whose it was.
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
			q, err := n.Votable(a, v.Digest, v.Approve)
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

// Votable is the question with this digest, if this answer of the node's key to it would count now. Who approved may
// still deny.
func (n *Node) Votable(a *Agent, digest Hash, approve bool) (*Asking, error) {
	if n.Key == nil {
		return nil, errNoKey
	}
	return n.VotableBy(a, n.Key.Key(), digest, approve)
}

// VotableBy is Votable for the answer of another key.
func (n *Node) VotableBy(a *Agent, by Key, digest Hash, approve bool) (*Asking, error) {
	if err := a.living(); err != nil {
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
	case n.Trust != nil && n.trust().Counts(a) != nil && a.pausedBy(n.Key.Key()):
		return nil, WithHint(fmt.Errorf("%w: %s is held here, under a pause of this home; an answer on top of that "+
			"is not taken where the agent runs", ErrDenied, a.called()),
			"answer in the file you received, and send that back: perdure approve FILE; or admit the agent here with "+
				"perdure resume "+a.ID().Short())
	case !q.Bound(a.ID()):
		return nil, WithHint(fmt.Errorf("the digest %s is not that of the action %s shows; nothing was answered",
			digest.Short(), a.called()),
			"its memory is not what was signed: see perdure verify "+a.ID().Short())
	case n.Trust != nil && n.trust().Counts(a) != nil && n.trust().MayAnswer(f, q, by) &&
		!n.trust().MayAnswerAway(f, q, by):
		return nil, WithHint(fmt.Errorf("%w: %s asks %s, whose key is %s, and the answer of key %s would not count "+
			"where it runs", ErrDenied, a.called(), f.whom(q), f.answersAway(), by.Short()),
			"let them answer"+otherApprovers(f))
	case !n.trust().MayAnswer(f, q, by):
		return nil, WithHint(fmt.Errorf("%w: %s asks %s, and the answer of key %s would not count", ErrDenied,
			a.called(), f.whom(q), by.Short()),
			"let "+n.trust().Answerers(f, q)+" answer"+otherApprovers(f))
	case x != 0 && !now.Before(x.Go()):
		return nil, errors.New("the question lapsed at " + x.String() + ": nobody answered in time")
	}
	mine := false
	for _, v := range q.Votes {
		if v.Origin == by && (approve || !v.Approve) && (v.Expires == 0 || now.Before(v.Expires.Go())) {
			return nil, already(v.Approve, "with this key")
		}
		mine = mine || v.Origin == by && v.Approve
	}
	if s := n.trust().Tally(f, q, now); s.Answered() && !(mine && !s.Refused && !approve) {
		return nil, already(!s.Refused, "by "+n.voters(s.Votes))
	}
	return q, nil
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
			return already(v.Approve, "by "+n.trust().nameOf(e.Origin))
		}
	}
	return Missing(fmt.Sprintf("%s has no open question %s", a.called(), digest.Short()))
}

func already(approve bool, who string) error {
	word := "denied"
	if approve {
		word = "approved"
	}
	return WithHint(alreadyErr(fmt.Sprintf("already %s, %s; nothing was changed", word, who)),
		"see perdure show for what the agent waits for now")
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

// say tells an agent what a look at it makes of it.
func (n *Node) say(ctx context.Context, id AgentID, what func(a *Agent) (Event, error)) (*Entry, error) {
	return n.sayIn(ctx, id, func(a *Agent) (Event, context.Context, error) {
		ev, err := what(a)
		return ev, ctx, err
	})
}

// sayIn is say, under a context that depends on the look.
func (n *Node) sayIn(ctx context.Context, id AgentID,
	what func(a *Agent) (Event, context.Context, error)) (*Entry, error) {
	if err := n.init(); err != nil {
		return nil, err
	}
	a, _, err := n.hearer(ctx, id)
	if err != nil {
		return nil, err
	}
	ev, ctx, err := what(a)
	if err != nil {
		return nil, err
	}
	if ev.By == "" {
		ev.By, _ = ctx.Value(speakerKey{}).(string)
	}
	if ev.By == "" {
		ev.By = n.Key.Name
	}
	if program, _ := ctx.Value(programKey{}).(bool); program && !ev.wordless() {
		ev.Taint = true
	}
	e, listed, err := n.record(ctx, id, ev)
	if err != nil {
		return nil, err
	}
	if !listed {
		n.relist(ctx, id)
	}
	return e, nil
}

// relist is list for what was written whether it can be listed or not: a node that looks at it writes its line.
func (n *Node) relist(ctx context.Context, id AgentID) {
	if err := n.list(ctx, id); err != nil {
		n.Log.Warn("list agent", "agent", id.Short(), "err", err)
	}
}

// list records the line about an agent that was told something, so that listings show it before a node has looked.
func (n *Node) list(ctx context.Context, id AgentID) error {
	l, ok := n.Store.(Lister)
	if !ok {
		return nil
	}
	a, _, err := n.hearer(ctx, id)
	if err != nil {
		return err
	}
	return l.Index(ctx, a.Heads(), a.listing(n.trust(), time.Now()))
}

// living refuses an agent that has ended.
func (a *Agent) living() error {
	if a.fold.Ended != nil {
		return fmt.Errorf("%s: %w", a.called(), ErrTerminated)
	}
	return nil
}

// called is what people call an agent: its name, or the beginning of its id.
func (a *Agent) called() string {
	if a.fold.Intent.Name != "" {
		return a.fold.Intent.Name
	}
	return a.ID().Short()
}
