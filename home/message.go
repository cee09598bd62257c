package home

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/trace"
	"github.com/perdure/perdure/view"
)

// Message is something that an agent is told: Send, Answer, Pause, End, Resume, Grant, Settle, Edit or Voting. Each
// knows how it is said by a node here, and how through a server.
type Message interface {
	// say tells an agent by a node, and adds to the result what only the verb knows.
	say(ctx context.Context, h *Home, n *perdure.Node, a *perdure.Agent, r *Told) (*perdure.Entry, error)
	// post tells an agent behind a server.
	post(ctx context.Context, w *Away, agent string) (*Told, error)
}

// Pause keeps an agent from deciding anything until it is resumed.
type Pause struct{ Note string }

func (x Pause) say(ctx context.Context, _ *Home, n *perdure.Node, a *perdure.Agent, r *Told) (*perdure.Entry, error) {
	e, err := n.Pause(ctx, a.ID(), x.Note)
	r.Before = err == nil && pausedAt(a, e)
	return e, err
}

// pausedAt reports whether an agent was paused by an entry already.
func pausedAt(a *perdure.Agent, e *perdure.Entry) bool {
	return slices.Contains(a.Fold().Paused, e.Name)
}

func (x Pause) post(ctx context.Context, w *Away, agent string) (*Told, error) {
	return w.tell(ctx, agent, "pause", client.Note{Note: x.Note})
}

// End ends an agent for good.
type End struct{ Note string }

func (x End) say(ctx context.Context, _ *Home, n *perdure.Node, a *perdure.Agent, _ *Told) (*perdure.Entry, error) {
	return n.Cancel(ctx, a.ID(), x.Note)
}

func (x End) post(ctx context.Context, w *Away, agent string) (*Told, error) {
	return w.tell(ctx, agent, "end", client.Note{Note: x.Note})
}

// Resume ends the pauses of an agent, and admits one that is held; with Older it goes on from a copy here although a
// newer one was seen.
type Resume struct {
	Note  string
	Older bool
}

func (x Resume) say(ctx context.Context, h *Home, n *perdure.Node, a *perdure.Agent, _ *Told) (*perdure.Entry, error) {
	return h.Resume(ctx, n, a, x.Note, x.Older)
}

func (x Resume) post(ctx context.Context, w *Away, agent string) (*Told, error) {
	if x.Older {
		return nil, perdure.Invalid(
			errors.New("an older copy is accepted where it is, not through a server; leave --older out"))
	}
	return w.tell(ctx, agent, "resume", client.Note{Note: x.Note})
}

// Grant adds to what an agent may spend: Cost is in US dollars, such as 1.50.
type Grant struct {
	Cost          string
	Tokens, Calls int64
	Note          string
}

// amount is what is granted, which is to be something.
func (x Grant) amount() (perdure.Spend, error) {
	amount := perdure.Spend{Tokens: x.Tokens, Calls: x.Calls}
	if x.Cost != "" {
		var err error
		if amount.Cost, err = ParseDollars(x.Cost); err != nil {
			return amount, perdure.Invalid(fmt.Errorf("--cost: %w", err))
		}
	}
	if amount.Tokens < 0 || amount.Calls < 0 || amount == (perdure.Spend{}) {
		return amount, perdure.Invalid(
			errors.New("say how much more it may spend: --cost, --tokens or --calls, above zero"))
	}
	return amount, nil
}

func (x Grant) say(ctx context.Context, _ *Home, n *perdure.Node, a *perdure.Agent, _ *Told) (*perdure.Entry, error) {
	amount, err := x.amount()
	if err != nil {
		return nil, err
	}
	return n.Grant(ctx, a.ID(), amount, x.Note)
}

func (x Grant) post(ctx context.Context, w *Away, agent string) (*Told, error) {
	if _, err := x.amount(); err != nil {
		return nil, err
	}
	return w.tell(ctx, agent, "grant", client.Grant{Cost: x.Cost, Tokens: x.Tokens, Calls: x.Calls, Note: x.Note})
}

// Settle records what came of an effect in doubt, by the beginning of its decision.
type Settle struct {
	Of string // the decision
	perdure.Settle
	Running bool // settle although processes are still at work on it
}

func (x Settle) say(ctx context.Context, _ *Home, n *perdure.Node, a *perdure.Agent, r *Told) (_ *perdure.Entry,
	err error) {
	if x.Decision, r.About, err = view.Unsettled(a, x.Of); err != nil {
		return nil, err
	}
	if x.Running {
		n.Survivors = nil
	}
	return n.Settle(ctx, a.ID(), x.Settle)
}

func (x Settle) post(ctx context.Context, w *Away, agent string) (*Told, error) {
	return w.tell(ctx, agent, "settle",
		client.Settle{Decision: x.Of, Signal: x.Signal.String(), Result: jsonOf(x.Result), Note: x.Note})
}

// Answer answers what an agent asks people.
type Answer struct{ Text string }

func (x Answer) say(ctx context.Context, _ *Home, n *perdure.Node, a *perdure.Agent, r *Told) (*perdure.Entry, error) {
	if q, asks := a.Fold().Question(time.Now()); asks {
		r.About = new(view.QuestionWait(a, q))
	}
	if err := x.check(); err != nil {
		return nil, err
	}
	e, err := n.Answer(ctx, a.ID(), x.Text)
	if errors.Is(err, perdure.ErrNotFound) {
		hint := "see perdure show " + view.Callable(a)
		if len(a.Fold().Asks) > 0 {
			hint = "it asks for permission: perdure approve " + view.Callable(a) + ", or perdure deny"
		}
		err = perdure.WithHint(err, hint)
	}
	return e, err
}

// check refuses no answer.
func (x Answer) check() error {
	if strings.TrimSpace(x.Text) != "" {
		return nil
	}
	return perdure.WithHint(perdure.Invalid(errors.New("the answer is empty")),
		"say something; an event without text is told with perdure send AGENT NAME")
}

func (x Answer) post(ctx context.Context, w *Away, agent string) (*Told, error) {
	if err := x.check(); err != nil {
		return nil, err
	}
	return w.tell(ctx, agent, "answer", client.Answer{Text: x.Text})
}

// Send tells an agent what happened.
type Send struct {
	perdure.Event
	Subject string // the person whom the data is sealed for; empty: it is not
	Trace   string // the W3C traceparent it belongs to; empty: none
}

// check refuses an event without a name.
func (x Send) check() error {
	if strings.TrimSpace(x.Name) != "" {
		return nil
	}
	return perdure.Invalid(errors.New("an event needs a NAME"))
}

func (x Send) say(ctx context.Context, h *Home, n *perdure.Node, a *perdure.Agent, r *Told) (_ *perdure.Entry,
	err error) {
	if err := x.check(); err != nil {
		return nil, err
	}
	if x.Trace != "" {
		if ctx, err = trace.With(ctx, x.Trace); err != nil {
			return nil, perdure.Invalid(fmt.Errorf("--trace: %w", err))
		}
	}
	if x.Subject != "" {
		if x.Data, err = h.Sealed(x.Subject, x.Data); err != nil {
			return nil, err
		}
	}
	x.By = n.Key.Name
	r.id, r.Before = x.ID, a.Fold().Received(&x.Event)
	e, err := n.Tell(ctx, a.ID(), x.Event)
	if errors.Is(err, perdure.ErrTerminated) {
		err = fmt.Errorf("%s: %w", view.Called(a), perdure.ErrTerminated)
	}
	return e, err
}

func (x Send) post(ctx context.Context, w *Away, agent string) (*Told, error) {
	if err := x.check(); err != nil {
		return nil, err
	}
	if x.Subject != "" {
		return nil, perdure.Invalid(
			errors.New("data is sealed with the vault of a home, not through a server; leave --subject out"))
	}
	var options []client.Option
	if x.Trace != "" {
		options = append(options, client.Trace(x.Trace))
	}
	told, err := w.tell(ctx, agent, "events", client.Event{Name: x.Name, ID: x.ID, Data: jsonOf(x.Data)}, options...)
	if err == nil {
		told.Name, told.What, told.id = agent, x.Name, x.ID
		w.complete(ctx, told)
	}
	return told, err
}

// Edit changes an agent from outside. A label that is empty is taken away.
type Edit struct {
	perdure.Mutate
	Set      map[string]perdure.Data
	Deadline string     // as it was typed
	Limits   BudgetFile // as they were typed
}

func (x Edit) say(ctx context.Context, h *Home, n *perdure.Node, a *perdure.Agent, _ *Told) (*perdure.Entry, error) {
	h.noteLacks(ctx, n, "", x.Tools)
	x.Labels = Relabelled(a.Fold().Intent.Labels, x.Labels)
	return n.Edit(ctx, a.ID(), x.Mutate, x.Set)
}

func (x Edit) post(ctx context.Context, w *Away, agent string) (*Told, error) {
	in := client.Edit{Goal: x.Goal, Kind: x.Kind, Scope: x.Scope, Depth: x.Depth, Labels: x.Labels, Note: x.Note,
		Deadline: x.Deadline, Inputs: jsonOf(x.Inputs), Budget: x.Limits.wire()}
	if x.Tools != nil {
		in.Tools = &x.Tools
	}
	for name, v := range x.Set {
		if in.Set == nil {
			in.Set = map[string]json.RawMessage{}
		}
		if in.Set[name] = jsonOf(v); v == nil {
			in.Set[name] = json.RawMessage("null")
		}
	}
	return w.tell(ctx, agent, "edit", in)
}

// Voting answers what policy asks about. See, if it is not nil, is shown what is answered, whole, before it is, and may
// refuse.
type Voting struct {
	Ballot
	See func(*view.Wait) error
}

func (x Voting) say(ctx context.Context, _ *Home, n *perdure.Node, a *perdure.Agent, r *Told) (*perdure.Entry, error) {
	digest, err := view.Asked(a, x.Digest)
	if err != nil {
		return nil, err
	}
	q, err := n.Votable(a, digest, x.Approve)
	if err != nil {
		return nil, err
	}
	if r.About, err = asked(ctx, n, a, q); err != nil {
		return nil, err
	}
	r.About.Unseal(n.Vault)
	if x.See != nil {
		if err := x.See(r.About); err != nil {
			return nil, err
		}
	}
	if x.Approve {
		return n.Approve(ctx, a.ID(), digest, x.Expires, x.Note)
	}
	return n.Deny(ctx, a.ID(), digest, x.Note)
}

func (x Voting) post(ctx context.Context, w *Away, agent string) (*Told, error) {
	return w.vote(ctx, agent, x)
}
