package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// personal refuses a hook that has nobody behind it.
func (p *post) personal() error {
	if p.hook.Person != nil {
		return nil
	}
	return perdure.WithHint(fmt.Errorf("%w: nobody stands behind the hook %s, so it can neither approve nor answer",
		perdure.ErrDenied, p.hook.Name),
		"name a person and the file of their key as approver and key of this hook in node.yaml, and trust the key "+
			"with approve: perdure key trust")
}

// resumption is the body of a post that resumes an agent.
type resumption struct {
	Approved *bool  `json:"approved"`
	Feedback string `json:"feedback"`
	Approver string `json:"approver"`
	Digest   string `json:"digest"`   // of what is approved
	Decision string `json:"decision"` // the entry that asks; neither: the only thing the post can be for
	Agent    string `json:"agent"`    // whom it is for, which the signature covers here and not in the path
}

// named reports whether a post says what it answers.
func (b *resumption) named() bool { return b.Digest != "" || b.Decision != "" }

func (p *post) resumption() (body resumption, err error) {
	if err := strictly(p.body, &body); err != nil {
		return body, err
	}
	switch {
	case body.Approved == nil:
		return body, &Error{invalid, errors.New("approved is missing: true or false")}
	case len(body.Feedback) > maxFeedback:
		return body, &Error{invalid, fmt.Errorf("feedback has more than %d bytes", maxFeedback)}
	}
	if err := p.personal(); err != nil {
		return body, err
	}
	if who := p.hook.Person.Name; body.Approver != "" && body.Approver != who {
		return body, perdure.WithHint(fmt.Errorf("%w: the hook %s speaks for %s, not for %s", perdure.ErrDenied,
			p.hook.Name, who, body.Approver),
			"give "+body.Approver+
				" a hook of their own in node.yaml, with their own secret and key: votes count per key")
	}
	return body, nil
}

// resume tells an agent what a person says to what it asks about: an effect that policy asks about, else a question of
// its own.
func (h *Handler) resume(ctx context.Context, p *post) (Answer, error) {
	body, err := p.resumption()
	if err != nil {
		return Answer{}, err
	}
	if err := h.addressed(ctx, p, &body); err != nil {
		return Answer{}, err
	}
	if again, err := h.again(ctx, p, &body); again || err != nil {
		return Answer{Status: Already, Agent: p.agent.ID()}, err
	}
	q, err := h.meant(ctx, p, &body)
	switch {
	case err != nil:
		return Answer{}, err
	case q == nil:
		return p.nothing()
	case q.digest.IsZero():
		return h.answer(ctx, p, &body)
	}
	vote := perdure.Approval{Approve: *body.Approved, Digest: q.digest, Note: body.Feedback}
	e, err := h.Desk.Vote(ctx, p.hook, p.agent, p.id, vote)
	if errors.Is(err, perdure.ErrConflict) {
		return Answer{Status: Already, Agent: p.agent.ID(), Detail: err.Error()}, nil
	}
	if err != nil || !*body.Approved {
		return p.told(Denied)(e, false, err)
	}
	return h.approved(ctx, p, q.digest, e)
}

// addressed refuses a message that is for another agent: by what it says, or because one of this id was. The signature
// does not cover the path, so whoever saw a message that does not say what it answers could send it elsewhere.
func (h *Handler) addressed(ctx context.Context, p *post, body *resumption) error {
	id := p.agent.ID().String()
	if who := body.Agent; who != "" && who != id && who != p.agent.Fold().Intent.Name {
		return &Error{conflict, fmt.Errorf("the message is for %s, and was sent to %s; nothing was answered", who, id)}
	}
	if body.named() {
		return nil // that is of one agent
	}
	first, err := h.Desk.Claim(ctx, p.hook, p.id, "agent", id)
	if err == nil && first != id {
		err = errElsewhere
	}
	return err
}

// timely refuses a person's answer that was for something else that the agent asked.
func (h *Handler) timely(ctx context.Context, p *post) error {
	f, now := p.agent.Fold(), time.Now()
	if _, asks := f.Question(now); !asks {
		return nil
	}
	return h.unnamed(ctx, p, &asked{decision: f.Sleep.Decision, since: f.Sleep.Since}, now)
}

// again reports whether a message has come before. One that does not say what it answers would else be taken for an
// answer to what the agent asks by now.
func (h *Handler) again(ctx context.Context, p *post, body *resumption) (bool, error) {
	who := p.hook.Person
	answer := perdure.Event{Name: perdure.AnswerEvent, By: who.Name, ID: p.id}
	if before, err := h.Desk.Received(ctx, p.hook, p.agent, answer); before || err != nil {
		return before, err
	}
	if body.named() {
		return false, nil // what it is for says whether it was answered
	}
	return h.Node.Voted(ctx, p.agent.ID(), who.Key(), p.id)
}

// approved says whether an approval was enough.
func (h *Handler) approved(ctx context.Context, p *post, digest perdure.Hash, e *perdure.Entry) (Answer, error) {
	out := Answer{Status: Resuming, Agent: p.agent.ID(), Entry: &e.Name}
	a, err := h.Node.Load(ctx, p.agent.ID())
	if err != nil { // it is recorded all the same
		return out, nil //nolint:nilerr // what it takes to go on is for a node to say
	}
	f := a.Fold()
	i := slices.IndexFunc(f.Asks, func(q perdure.Asking) bool { return q.Digest == digest })
	if i < 0 {
		return out, nil
	}
	if lacking, refused := h.Node.Lacking(f, &f.Asks[i], time.Now()); lacking > 0 || refused {
		out.Status, out.Detail = Recorded, fmt.Sprintf("%d more must approve", lacking)
		if refused {
			out.Detail = "somebody denied it, which stands"
		}
	}
	return out, nil
}

// nothing answers for an agent that asks nothing: already, if the person has answered something, since posts come
// again.
func (p *post) nothing() (Answer, error) {
	who := p.hook.Person
	for e := range p.agent.Recent() {
		ev, _ := e.Content().(perdure.Event)
		_, vote := ev.Notice.(perdure.Approval)
		_, word := ev.Said()
		if vote && e.Origin == who.Key() || word && ev.By == who.Name {
			return Answer{Status: Already, Agent: p.agent.ID()}, nil
		}
	}
	return Answer{}, perdure.Missing("the agent asks nothing of a person")
}

// answer answers a question of the agent with the feedback, else with whether it was approved.
func (h *Handler) answer(ctx context.Context, p *post, body *resumption) (Answer, error) {
	text, status := body.Feedback, Resuming
	if strings.TrimSpace(text) == "" {
		if text = "approved"; !*body.Approved {
			text = "not approved"
		}
	}
	if !*body.Approved {
		status = Denied
	}
	ev, _, err := p.agent.Fold().Reply(text, time.Now())
	if err != nil {
		return Answer{}, err
	}
	ev.ID = p.id
	return p.told(status)(h.Desk.Tell(ctx, p.hook, p.agent, ev))
}
