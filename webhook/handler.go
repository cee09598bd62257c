package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/jsontext"
)

// Hook is somebody who may post to agents.
type Hook struct {
	Name string // what events of it say they are by
	Keys []Key  // any of which may have signed: more than one while they are changed
	// Scope is where the agents are that it may post to; empty: everywhere.
	Scope string
	// Person is the key of the person behind the hook, which signs their votes; nil: the hook is a program's, and
	// neither answers nor approves anything. It must not be the key of a node: that would approve what it proposes
	// itself.
	Person *perdure.Signer
}

// Desk is where hooks speak to agents. What each may there is decided behind it, by the rules for everybody who comes
// from outside.
type Desk interface {
	// Begin is the agent that a path names, if it is there for the hook. It is the hook's turn until done is called:
	// nobody else who comes from outside tells it anything.
	Begin(ctx context.Context, h *Hook, name string) (a *perdure.Agent, done func(), err error)
	// Tell durably tells the agent something, in its turn. Before says that it was received before, and nothing
	// changed. Who it is by, and whether that is a person's word, the desk says.
	Tell(ctx context.Context, h *Hook, a *perdure.Agent, ev perdure.Event) (e *perdure.Entry, before bool, err error)
	// Vote durably records what the person behind the hook says about an effect in the message of this id, in its turn.
	Vote(ctx context.Context, h *Hook, a *perdure.Agent, message string, v perdure.Approval) (*perdure.Entry, error)
}

// Handler answers posts that a hook signed: Resume at POST /webhook/resume/{agent}, Events at POST
// /v1/agents/{agent}/events.
//
// What it acknowledges is durable. A message that comes again, or at the same time twice, changes nothing and is
// answered with the status already.
type Handler struct {
	Desk  Desk          // takes what is posted
	Node  *perdure.Node // says how votes stand
	Hooks []Hook
	// Fail answers with an error. What has a kind of its own is an *Error.
	Fail func(w http.ResponseWriter, r *http.Request, err error)

	// Begun is since when posts are answered here: what was signed before may have been for another agent. Zero: since
	// this process began.
	Begun time.Time

	taken recent
	votes recent // whom messages were for that do not say it
}

// processBegun is when this process began, as messages name times.
var processBegun = time.Now().Truncate(time.Second)

// Error is an error of a kind, by the name that the one classifier of errors gives it.
type Error struct {
	Kind string
	Err  error
}

func (e *Error) Error() string { return e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// ErrorKind is the kind of the error.
func (e *Error) ErrorKind() string { return e.Kind }

// The kinds of what is wrong with a post itself.
const (
	invalid  = "invalid"
	unknown  = "unauthenticated"
	conflict = "conflict"
	tooLarge = "too-large"
)

const (
	// MaxBody is the longest body that is taken.
	MaxBody = 1 << 20
	// maxFeedback is the longest feedback.
	maxFeedback = 64 << 10
)

// The statuses of answers.
const (
	Resuming = "resuming" // approved, or answered: the agent goes on
	Recorded = "recorded" // approved, and more people are asked
	Denied   = "denied"
	Already  = "already"  // it came before, or somebody was first
	Accepted = "accepted" // an event was told to the agent
)

// Answer is what a post is answered with.
type Answer struct {
	Status string          `json:"status"`
	Agent  perdure.AgentID `json:"agent"`
	Entry  *perdure.Hash   `json:"entry,omitempty"`  // that was written
	Detail string          `json:"detail,omitempty"` // who was first, or what else is needed
}

// Signed reports whether a request claims to be signed by a hook. Others need another way to say who they are.
func Signed(r *http.Request) bool { return r.Header.Get(HeaderSignature) != "" }

// ServeHTTP serves both.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /webhook/resume/{agent}", h.Resume)
	mux.HandleFunc("POST /v1/agents/{agent}/events", h.Events)
	mux.ServeHTTP(w, r)
}

// Resume takes what a person says to what an agent asks about.
func (h *Handler) Resume(w http.ResponseWriter, r *http.Request) { h.serve(w, r, h.resume) }

// Events takes an event.
func (h *Handler) Events(w http.ResponseWriter, r *http.Request) { h.serve(w, r, h.event) }

// post is a message that was verified, to an agent.
type post struct {
	hook  *Hook
	name  string // of the agent, as the path says it
	id    string
	at    time.Time
	body  []byte
	agent *perdure.Agent
}

// serve verifies a message and answers it. Messages to one agent take turns: one that comes twice at once is seen to,
// and each is written on top of the one before. Many heads at once would cost more than the sync of the disk that they
// share.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request, do func(context.Context, *post) (Answer, error)) {
	answer, err := func() (Answer, error) {
		p, err := h.verified(w, r)
		if err != nil {
			return Answer{}, err
		}
		var done func()
		if p.agent, done, err = h.Desk.Begin(r.Context(), p.hook, p.name); err != nil {
			return Answer{}, err
		}
		defer done()
		return do(r.Context(), p)
	}()
	if err != nil {
		h.Fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer) // who has gone posts again, and is answered with already
}

// verified is a message signed by a hook. Nothing about agents is looked at before.
func (h *Handler) verified(w http.ResponseWriter, r *http.Request) (*post, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		var long *http.MaxBytesError
		if errors.As(err, &long) {
			return nil, &Error{tooLarge,
				fmt.Errorf("the body has more than %d bytes", MaxBody)}
		}
		return nil, &Error{invalid, fmt.Errorf("read body: %w", err)}
	}
	var keys []Key
	var of []int
	for i, hook := range h.Hooks {
		for _, k := range hook.Keys {
			keys, of = append(keys, k), append(of, i)
		}
	}
	m, err := Verify(r.Header, body, time.Now(), keys...)
	switch {
	case errors.Is(err, ErrMalformed):
		return nil, &Error{invalid, err}
	case errors.Is(err, ErrReplayed):
		return nil, &Error{conflict,
			perdure.WithHint(err, "send it again with the time of now and the same id")}
	case err != nil:
		return nil, &Error{unknown,
			perdure.WithHint(err, "name the secret under hooks in node.yaml, and sign the raw body")}
	}
	return &post{hook: &h.Hooks[of[m.By]], name: r.PathValue("agent"), id: m.ID, at: m.Time, body: body}, nil
}

// strictly reads a body that has these fields and no others, each once, one value and nothing after it.
func strictly(body []byte, into any) error {
	if err := jsontext.Exact(body, into); err != nil {
		return &Error{invalid, fmt.Errorf("the body is not what is expected: %w", err)}
	}
	return nil
}

// event tells an agent what a program posts.
func (h *Handler) event(ctx context.Context, p *post) (Answer, error) {
	var body struct {
		Name string          `json:"name"`
		Data json.RawMessage `json:"data"`
	}
	if err := strictly(p.body, &body); err != nil {
		return Answer{}, err
	}
	if strings.TrimSpace(body.Name) == "" {
		return Answer{}, &Error{invalid, errors.New("an event needs a name")}
	}
	ev := perdure.Event{Name: body.Name, By: p.hook.Name, ID: p.id}
	if len(body.Data) > 0 {
		var err error
		if ev.Data, err = perdure.DataFromJSON(body.Data); err != nil {
			return Answer{}, &Error{invalid, fmt.Errorf("data: %w", err)}
		}
	}
	if body.Name == perdure.AnswerEvent { // models are shown it as a person's word
		if err := p.personal(); err != nil {
			return Answer{}, err
		}
		ev.By = p.hook.Person.Name
	}
	message := p.agent.ID().String() + " " + ev.By + " " + ev.ID
	if h.taken.has(message) {
		return Answer{Status: Already, Agent: p.agent.ID()}, nil
	}
	if body.Name == perdure.AnswerEvent && !p.agent.Fold().Received(&ev) {
		if err := h.timely(p); err != nil {
			return Answer{}, err
		}
	}
	answer, err := p.told(Accepted)(h.Desk.Tell(ctx, p.hook, p.agent, ev))
	if err == nil {
		h.taken.add(message, p.agent.ID())
	}
	return answer, err
}

// recent remembers messages that were taken: of very many to one agent its memory remembers the last alone, and one
// that comes again within the window must not count again.
type recent struct {
	mu    sync.Mutex
	known map[string]perdure.AgentID // whom they were for
	order []string                   // a ring, once it is full
	next  int
}

// maxRecent bounds the messages that are remembered, at about 250 bytes each.
const maxRecent = 1 << 16

func (r *recent) has(message string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.known[message]
	return known
}

// add remembers a message to an agent, and returns whom it was for the first time.
func (r *recent) add(message string, to perdure.AgentID) perdure.AgentID {
	r.mu.Lock()
	defer r.mu.Unlock()
	if first, known := r.known[message]; known {
		return first
	}
	if r.known == nil {
		r.known = map[string]perdure.AgentID{}
	}
	if len(r.order) < maxRecent {
		r.order = append(r.order, message)
	} else {
		delete(r.known, r.order[r.next])
		r.order[r.next] = message
		r.next = (r.next + 1) % maxRecent
	}
	r.known[message] = to
	return to
}

// told answers with an entry that was written, or with already if it was there before.
func (p *post) told(status string) func(e *perdure.Entry, before bool, err error) (Answer, error) {
	return func(e *perdure.Entry, before bool, err error) (Answer, error) {
		switch {
		case err != nil:
			return Answer{}, err
		case before:
			return Answer{Status: Already, Agent: p.agent.ID()}, nil
		}
		return Answer{Status: status, Agent: e.ID(), Entry: &e.Name}, nil
	}
}

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
	Digest   string `json:"digest"` // of what is approved; none: the only thing the agent asks about
}

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
	if err := h.meant(p, &body); err != nil {
		return Answer{}, err
	}
	if again, err := h.again(ctx, p, &body); again || err != nil {
		return Answer{Status: Already, Agent: p.agent.ID()}, err
	}
	asks := p.agent.Fold().Asks
	if _, question := p.agent.Fold().Question(time.Now()); body.Digest == "" && len(asks) == 0 && question {
		return h.answer(ctx, p, &body)
	}
	digest, err := p.digest(body.Digest)
	if err != nil {
		return Answer{}, err
	}
	if digest.IsZero() {
		return p.nothing()
	}
	vote := perdure.Approval{Approve: *body.Approved, Digest: digest, Note: body.Feedback}
	e, err := h.Desk.Vote(ctx, p.hook, p.agent, p.id, vote)
	if errors.Is(err, perdure.ErrConflict) {
		return Answer{Status: Already, Agent: p.agent.ID(), Detail: err.Error()}, nil
	}
	if err != nil || !*body.Approved {
		return p.told(Denied)(e, false, err)
	}
	return h.approved(ctx, p, digest, e)
}

// meant refuses a message that does not say what it answers, and was for another agent: the signature does not cover
// where it was sent, so whoever saw it could send it elsewhere. What was signed before this process began may have
// been.
func (h *Handler) meant(p *post, body *resumption) error {
	begun := h.Begun
	if begun.IsZero() {
		begun = processBegun
	}
	switch {
	case body.Digest != "":
		return nil // that is of one agent
	case p.at.Before(begun):
		return &Error{conflict, perdure.WithHint(
			errors.New("it was signed before this server began, and does not name the digest of what it answers"),
			"send it again with the time of now and the same id")}
	case h.votes.add(p.hook.Name+" "+p.id, p.agent.ID()) != p.agent.ID():
		return &Error{conflict, perdure.WithHint(
			errors.New("a message with this id was for another agent; nothing was answered"),
			"give each message its own id")}
	}
	return nil
}

// timely refuses a person's answer that was for another agent, or was signed before the agent asked.
func (h *Handler) timely(p *post) error {
	if err := h.meant(p, new(resumption)); err != nil {
		return err
	}
	f := p.agent.Fold()
	if _, asks := f.Question(time.Now()); asks && p.before(f.Sleep.Since) {
		return errBefore
	}
	return nil
}

// again reports whether a message has come before. One that does not say what it answers would else be taken for an
// answer to what the agent asks by now.
func (h *Handler) again(ctx context.Context, p *post, body *resumption) (bool, error) {
	who := p.hook.Person
	if p.agent.Fold().Received(&perdure.Event{Name: perdure.AnswerEvent, By: who.Name, ID: p.id}) {
		return true, nil
	}
	if body.Digest != "" {
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

// before reports whether a post was signed before a time; posts name seconds.
func (p *post) before(at perdure.Time) bool { return at > perdure.TimeOf(p.at.Add(time.Second)) }

var errBefore = &Error{conflict, errors.New("what the agent asks about now it had not asked yet when this " +
	"was signed; nothing was answered")}

// digest is what a post answers: what it names, by all or the beginning of its digest, else the only thing the agent
// asked about when the post was signed. Zero: the agent asks about nothing.
func (p *post) digest(text string) (perdure.Hash, error) {
	asks := p.agent.Fold().Asks
	if whole, err := perdure.ParseHash(text); err == nil {
		return whole, nil
	}
	var fitting []perdure.Hash
	for _, q := range asks {
		if strings.HasPrefix(q.Digest.String(), strings.ToLower(text)) {
			fitting = append(fitting, q.Digest)
		}
	}
	switch {
	case text != "" && len(text) < 8:
		return perdure.Hash{}, &Error{invalid, errors.New("digest: want 8 or more of its digits")}
	case len(fitting) == 1 && text == "" && p.before(asks[0].Since):
		return perdure.Hash{}, errBefore
	case len(fitting) == 1:
		return fitting[0], nil
	case len(fitting) > 1:
		names := make([]string, len(fitting))
		for i, d := range fitting {
			names[i] = d.String()
		}
		return perdure.Hash{}, perdure.WithHint(&Error{conflict,
			fmt.Errorf("the agent asks about several things: %s", strings.Join(names, ", "))},
			"say which by digest")
	case text != "":
		return perdure.Hash{}, perdure.Missing("the agent does not ask about " + text)
	}
	return perdure.Hash{}, nil
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
	if p.before(p.agent.Fold().Sleep.Since) {
		return Answer{}, errBefore
	}
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
