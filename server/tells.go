package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

// telling is a request that tells an agent something.
type telling[T any] struct {
	Named
	Writing
	Body T
}

// noted is one whose body may be left out.
type noted struct {
	Named
	Writing
	Body *client.Note
}

func (n *noted) note() string {
	if n.Body == nil {
		return ""
	}
	return n.Body.Note
}

// tells adds what changes agents.
func (s *Server) tells() {
	errs := []int{http.StatusConflict, http.StatusPreconditionFailed, http.StatusUnprocessableEntity}
	create := post("/v1/agents", "create-agent", "agents", "Create an agent")
	create.DefaultStatus, create.Errors = http.StatusCreated, errs
	operation(s, create, home.VerbCreate, s.create)
	fork := post("/v1/agents/{agent}/fork", "fork-agent", "agents", "Create an agent that begins where another was")
	fork.Errors = errs
	operation(s, fork, home.VerbCreate, s.fork)
	tell := func(word, summary string) (op operationOf) {
		op.Operation = post("/v1/agents/{agent}/"+word, word+"-agent", "tell", summary)
		op.Errors = errs
		return op
	}
	event := tell("events", "Tell an agent what happened")
	event.OperationID = "send-event"
	event.Description = "Recorded durably when it is answered. With an id, a second event with it changes nothing. " +
		"Hooks may post here, too: signed as Standard Webhooks say, without a token."
	event.SkipValidateBody = true // it does so itself
	event.Middlewares = append(event.Middlewares, s.may(home.VerbEvent, home.VerbAnswer), s.onlyJSON)
	operation(s, event.Operation, "", s.event) // which verb it takes, its name says
	operation(
		s,
		tell("answer", "Answer what an agent asks people").Operation,
		home.VerbAnswer,
		func(ctx context.Context, v *home.Visitor, in *telling[client.Answer]) (*wrote[client.Told], error) {
			return writes[client.Told](
				ctx,
				s,
				v,
				&in.Writing,
				"answer",
				in.Agent,
				in.Body,
				func(ctx context.Context) (any, error) {
					return s.said(s.Desk.Answer(ctx, v, in.Agent, in.Body.Text))
				},
			)
		},
	)
	operation(s, tell("settle", "Record whether an effect in doubt happened").Operation, home.VerbSettle, s.settle)
	operation(s, tell("grant", "Add to what an agent may spend").Operation, home.VerbGrant, s.grant)
	operation(s, tell("edit", "Change an agent from outside").Operation, home.VerbEdit, s.edit)
	for _, x := range []struct {
		word, verb, summary string
		do                  func(ctx context.Context, v *home.Visitor, arg, note string) (*home.Told, error)
	}{
		{"pause", home.VerbPause, "Keep an agent from deciding anything until it is resumed", s.pause},
		{"resume", home.VerbResume, "End the pauses of an agent", s.resume},
		{"end", home.VerbEnd, "End an agent for good; its memory stays", s.end},
	} {
		operation(
			s,
			tell(x.word, x.summary).Operation,
			x.verb,
			func(ctx context.Context, v *home.Visitor, in *noted) (*wrote[client.Told], error) {
				return writes[client.Told](
					ctx,
					s,
					v,
					&in.Writing,
					x.word,
					in.Agent,
					in.note(),
					func(ctx context.Context) (any, error) {
						return s.said(x.do(ctx, v, in.Agent, in.note()))
					},
				)
			},
		)
	}
}

func (s *Server) pause(ctx context.Context, v *home.Visitor, arg, note string) (*home.Told, error) {
	return s.Desk.Pause(ctx, v, arg, note)
}

func (s *Server) resume(ctx context.Context, v *home.Visitor, arg, note string) (*home.Told, error) {
	return s.Desk.Resume(ctx, v, arg, note)
}

func (s *Server) end(ctx context.Context, v *home.Visitor, arg, note string) (*home.Told, error) {
	return s.Desk.End(ctx, v, arg, note)
}

// told is what an agent was told, with what it was about in full.
type told struct {
	*home.Told
	About *wait `json:"about,omitempty"`
}

// said is what came of telling an agent something.
func (s *Server) said(t *home.Told, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return told{t, waitOf(t.About, time.Now())}, nil
}

// dataOf is JSON as an agent keeps it; nothing stays nothing.
func dataOf(text json.RawMessage) (perdure.Data, error) {
	if len(text) == 0 || bytes.Equal(text, []byte("null")) {
		return nil, nil
	}
	d, err := perdure.DataFromJSON(text)
	if err != nil {
		return nil, perdure.Invalid(fmt.Errorf("data: %w", err))
	}
	return d, nil
}

// intentOf is an intent as the command line reads it from a file.
func intentOf(in *client.Intent) (*home.IntentFile, error) {
	f := &home.IntentFile{
		Goal:        in.Goal,
		Name:        in.Name,
		Kind:        in.Kind,
		Advisor:     in.Advisor,
		Labels:      in.Labels,
		Scope:       in.Scope,
		Deadline:    in.Deadline,
		Depth:       in.Depth,
		TTL:         in.TTL,
		Approvers:   in.Approvers,
		Delegates:   in.Delegates,
		StateSchema: in.Schema,
		Policies:    in.Policies,
	}
	if in.Tools != nil {
		f.Tools = append([]string{}, *in.Tools...)
	}
	if in.Budget != nil {
		f.Budget = home.BudgetFile{Cost: in.Budget.Cost, Tokens: in.Budget.Tokens, Calls: in.Budget.Calls}
	}
	d, err := dataOf(in.Inputs)
	if err != nil {
		return nil, err
	}
	if d != nil {
		f.Inputs = d.Value()
	}
	return f, nil
}

func (s *Server) create(ctx context.Context, v *home.Visitor, in *struct {
	Writing
	Body client.Intent
}) (*wrote[client.Created], error) {
	f, err := intentOf(&in.Body)
	if err != nil {
		return nil, err
	}
	return writes[client.Created](
		ctx,
		s,
		v,
		&in.Writing,
		"create",
		"",
		in.Body,
		func(ctx context.Context) (any, error) {
			if in.Match != "" {
				return nil, fmt.Errorf("there is no agent yet that If-Match could name: %w", perdure.ErrMoved)
			}
			a, err := s.Desk.Create(ctx, v, f)
			if err != nil {
				return nil, err
			}
			return client.Created{Agent: a.ID(), Name: a.Fold().Intent.Name, Notes: home.NotesIn(ctx)}, nil
		},
	)
}

func (s *Server) fork(ctx context.Context, v *home.Visitor, in *telling[client.Fork]) (*wrote[client.Forked], error) {
	f := home.Fork{Goal: in.Body.Goal, Name: in.Body.Name, Live: in.Body.Live, Dry: in.Body.Dry}
	if in.Body.Over != nil {
		over, err := intentOf(in.Body.Over)
		if err != nil {
			return nil, err
		}
		f.Over = over
	}
	return writes[client.Forked](
		ctx,
		s,
		v,
		&in.Writing,
		"fork",
		"",
		[]any{in.Agent, in.Body},
		func(ctx context.Context) (any, error) {
			if in.Match != "" { // of the agent that it begins from, which is told nothing
				if _, err := s.match(ctx, v, in.Match, in.Agent); err != nil {
					return nil, err
				}
			}
			return s.Desk.Fork(ctx, v, (&Pointed{in.Named, in.Body.At}).point(), f)
		},
	)
}

// tellsEvent is what a request does that tells an agent what happened.
const tellsEvent = "event"

func (s *Server) event(
	ctx context.Context,
	v *home.Visitor,
	in *telling[happened],
) (*wrote[client.Recorded], error) {
	ev, err := in.Body.event(s.api)
	if err != nil {
		return nil, err
	}
	w := in.Writing
	w.Match = "" // it is not for an event that was received before, which its id says, too
	asked := []any{ev.Name, ev.ID, []byte(ev.Data)}
	return writes[client.Recorded](ctx, s, v, &w, tellsEvent, in.Agent, asked, func(ctx context.Context) (any, error) {
		if in.Match != "" {
			before, err := s.Desk.Received(ctx, v, in.Agent, ev)
			if err != nil {
				return nil, err
			}
			if !before {
				heads, err := s.match(ctx, v, in.Match, in.Agent)
				if err != nil {
					return nil, err
				}
				ctx = perdure.WithHeads(ctx, heads)
			}
		}
		e, before, err := s.Desk.Event(ctx, v, in.Agent, ev)
		if err != nil {
			return nil, err
		}
		return client.Recorded{Agent: e.ID(), Entry: e.Name, Seq: e.Seq, Before: before}, nil
	})
}

func (s *Server) settle(ctx context.Context, v *home.Visitor, in *telling[client.Settle]) (*wrote[client.Told], error) {
	x := perdure.Settle{Note: in.Body.Note}
	var err error
	if x.Signal, err = view.ParseName[perdure.Signal]("signal", in.Body.Signal); err != nil {
		return nil, perdure.Invalid(err)
	}
	if x.Result, err = dataOf(in.Body.Result); err != nil {
		return nil, err
	}
	return writes[client.Told](
		ctx,
		s,
		v,
		&in.Writing,
		"settle",
		in.Agent,
		in.Body,
		func(ctx context.Context) (any, error) {
			return s.said(s.Desk.Settle(ctx, v, in.Agent, in.Body.Decision, x))
		},
	)
}

func (s *Server) grant(ctx context.Context, v *home.Visitor, in *telling[client.Grant]) (*wrote[client.Told], error) {
	amount := perdure.Spend{Tokens: in.Body.Tokens, Calls: in.Body.Calls}
	if in.Body.Cost != "" {
		n, err := home.ParseDollars(in.Body.Cost)
		if err != nil {
			return nil, perdure.Invalid(fmt.Errorf("cost: %w", err))
		}
		amount.Cost = n
	}
	return writes[client.Told](
		ctx,
		s,
		v,
		&in.Writing,
		"grant",
		in.Agent,
		in.Body,
		func(ctx context.Context) (any, error) {
			return s.said(s.Desk.Grant(ctx, v, in.Agent, amount, in.Body.Note))
		},
	)
}

func (s *Server) edit(ctx context.Context, v *home.Visitor, in *telling[client.Edit]) (*wrote[client.Told], error) {
	m, set, err := mutation(&in.Body, time.Now())
	if err != nil {
		return nil, perdure.Invalid(err)
	}
	return writes[client.Told](
		ctx,
		s,
		v,
		&in.Writing,
		"edit",
		in.Agent,
		in.Body,
		func(ctx context.Context) (any, error) {
			return s.said(s.Desk.Edit(ctx, v, in.Agent, m, set))
		},
	)
}

// mutation is what an edit asks for.
func mutation(in *client.Edit, now time.Time) (m perdure.Mutate, set map[string]perdure.Data, err error) {
	m = perdure.Mutate{Goal: in.Goal, Kind: in.Kind, Scope: in.Scope, Depth: in.Depth, Labels: in.Labels, Note: in.Note}
	if in.Tools != nil {
		m.Tools = append([]string{}, *in.Tools...)
		slices.Sort(m.Tools)
		m.Tools = slices.Compact(m.Tools)
	}
	if m.Inputs, err = dataOf(in.Inputs); err != nil {
		return m, nil, err
	}
	if m.Deadline, err = home.ParseDeadline(in.Deadline, now); err != nil {
		return m, nil, fmt.Errorf("deadline: %w", err)
	}
	if in.Budget != nil {
		b := home.BudgetFile{Cost: in.Budget.Cost, Tokens: in.Budget.Tokens, Calls: in.Budget.Calls}
		if m.Budget, err = b.Budget(); err != nil {
			return m, nil, err
		}
	}
	var lines []string
	for name, value := range in.Set {
		lines = append(lines, name+"="+string(value))
	}
	set, err = home.Assignments(lines)
	return m, set, err
}
