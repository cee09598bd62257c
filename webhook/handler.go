package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	// Received reports whether the agent was told something before, in its turn: however much it was told since, for
	// every process that answers posts of this hook.
	Received(ctx context.Context, h *Hook, a *perdure.Agent, ev perdure.Event) (bool, error)
	// Tell durably tells the agent something, in its turn. Before says that it was received before, and nothing
	// changed. Who it is by, and whether that is a person's word, the desk says.
	Tell(ctx context.Context, h *Hook, a *perdure.Agent, ev perdure.Event) (e *perdure.Entry, before bool, err error)
	// Vote durably records what the person behind the hook says about an effect in the message of this id, in its turn.
	Vote(ctx context.Context, h *Hook, a *perdure.Agent, message string, v perdure.Approval) (*perdure.Entry, error)
	// Claim remembers, for every process that answers posts of this hook, what something about a message is, and
	// returns what it was the first time.
	Claim(ctx context.Context, h *Hook, message, about, value string) (first string, err error)
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
}

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
	ev, err := perdure.EventOf(body.Name, body.Data)
	if err != nil {
		return Answer{}, &Error{invalid, err}
	}
	ev.By, ev.ID = p.hook.Name, p.id
	if ev.Name == perdure.AnswerEvent { // models are shown it as a person's word
		if err := p.personal(); err != nil {
			return Answer{}, err
		}
		ev.By = p.hook.Person.Name
	}
	if before, err := h.Desk.Received(ctx, p.hook, p.agent, ev); before || err != nil {
		return Answer{Status: Already, Agent: p.agent.ID()}, err
	}
	if err := h.addressed(ctx, p, new(resumption)); err != nil {
		return Answer{}, err
	}
	if ev.Name == perdure.AnswerEvent {
		if err := h.timely(ctx, p); err != nil {
			return Answer{}, err
		}
	}
	return p.told(Accepted)(h.Desk.Tell(ctx, p.hook, p.agent, ev))
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
