package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/view"
)

// told is what came of telling an agent something.
type told struct {
	Agent    string `json:"agent" jsonschema:"its id"`
	Name     string `json:"name,omitempty"`
	Entry    string `json:"entry" jsonschema:"the entry that records it, durably"`
	Seq      int64  `json:"seq"`
	What     string `json:"what" jsonschema:"what was recorded"`
	Standing string `json:"standing" jsonschema:"where the agent stands now"`
	Before   bool   `json:"before,omitempty" jsonschema:"it was received before, and nothing changed"`
}

// report is what came of an event, which is durable: what cannot be read now is left out.
func (s *Server) report(ctx context.Context, id perdure.AgentID, e *perdure.Entry) *told {
	ctx = context.WithoutCancel(ctx)
	ev, _ := e.Content().(perdure.Event)
	out := &told{Agent: id.String(), Entry: e.Name.String(), Seq: e.Seq, What: view.Cut(view.EventText(&ev), maxSaid)}
	if a, standing, err := s.standing(ctx, id); err == nil {
		out.Name, out.Standing = a.Fold().Intent.Name, standing
	}
	return out
}

// maxClient bounds the name of a client in the memory of an agent.
const maxClient = 48

// speaking is a context in which a client's model speaks: for the owner of the key, and not as them.
func (s *Server) speaking(ctx context.Context, req *sdk.CallToolRequest) (_ context.Context, by string) {
	by = s.client(req) + " for " + s.Node.Key.Name
	return perdure.WithSpeaker(ctx, by), by
}

// client is the program that speaks.
func (s *Server) client(req *sdk.CallToolRequest) string {
	if p := req.Session.InitializeParams(); p != nil && p.ClientInfo != nil && p.ClientInfo.Name != "" {
		return view.OneLine(p.ClientInfo.Name, maxClient)
	}
	return "an MCP client"
}

// messageEvent is the event by which a model says something to an agent that is no chat. It is no answer to what an
// agent asks people.
const messageEvent = "message"

type tellIn struct {
	Agent   string `json:"agent" jsonschema:"its name or the beginning of its id"`
	Message string `json:"message,omitempty" jsonschema:"text for the agent; give this or event"`
	Event   string `json:"event,omitempty" jsonschema:"the name of an event"`
	Data    object `json:"data,omitempty" jsonschema:"the data of the event"`
	ID      string `json:"id,omitempty" jsonschema:"your own id of this event: a second one with it changes nothing"`
}

func (s *Server) tell(ctx context.Context, req *sdk.CallToolRequest, in tellIn) (*sdk.CallToolResult, *told, error) {
	if (strings.TrimSpace(in.Message) == "") == (strings.TrimSpace(in.Event) == "") {
		return nil, nil, perdure.Invalid(errors.New("give either a message or an event"))
	}
	if in.Message != "" && in.Data != nil {
		return nil, nil, perdure.Invalid(errors.New("data belongs to an event; a message is text alone"))
	}
	a, err := s.find(ctx, in.Agent)
	if err != nil {
		return nil, nil, err
	}
	ctx, by := s.speaking(ctx, req)
	chats := a.Fold().Intent.Kind == perdure.ChatKind
	ev := perdure.Event{Name: in.Event, ID: in.ID, By: by}
	said := exact(req, "data")
	switch {
	case in.Event == perdure.AnswerEvent && !chats:
		return nil, nil, perdure.WithHint(fmt.Errorf("%w: an event called %s answers what an agent asks a person",
			perdure.ErrDenied, in.Event),
			"call the tool answer, which asks the person; or send a message, or an event of another name")
	case in.Message != "" && chats && in.ID == "":
		e, err := s.Node.Say(ctx, a.ID(), in.Message)
		if err != nil {
			return nil, nil, err
		}
		return nil, s.report(ctx, a.ID(), e), nil
	case in.Message != "":
		if ev.Name, said = messageEvent, map[string]any{"say": in.Message}; chats {
			ev.Name = perdure.AnswerEvent
		}
	}
	if ev.Data, err = dataOf(said); err != nil {
		return nil, nil, perdure.Invalid(fmt.Errorf("data: %w", err))
	}
	before := a.Fold().Received(&ev)
	e, err := s.Node.Tell(ctx, a.ID(), ev)
	if err != nil {
		return nil, nil, err
	}
	out := s.report(ctx, a.ID(), e)
	out.Before = before
	return nil, out, nil
}

type noteIn struct {
	Agent string `json:"agent" jsonschema:"its name or the beginning of its id"`
	Note  string `json:"note,omitempty" jsonschema:"why, for people and for the agent's advisor"`
}

func (s *Server) pause(ctx context.Context, req *sdk.CallToolRequest, in noteIn) (*sdk.CallToolResult, *told, error) {
	return s.verb(ctx, req, in, s.Node.Pause)
}

func (s *Server) end(ctx context.Context, req *sdk.CallToolRequest, in noteIn) (*sdk.CallToolResult, *told, error) {
	return s.verb(ctx, req, in, s.Node.Cancel)
}

// verb tells an agent something in the name of the client.
func (s *Server) verb(
	ctx context.Context, req *sdk.CallToolRequest, in noteIn,
	do func(context.Context, perdure.AgentID, string) (*perdure.Entry, error),
) (*sdk.CallToolResult, *told, error) {
	a, err := s.find(ctx, in.Agent)
	if err != nil {
		return nil, nil, err
	}
	ctx, _ = s.speaking(ctx, req)
	e, err := do(ctx, a.ID(), in.Note)
	if err != nil {
		return nil, nil, err
	}
	return nil, s.report(ctx, a.ID(), e), nil
}

// exact is an argument of a call as it was written: numbers of any size, or nil if it is not there.
func exact(req *sdk.CallToolRequest, name string) any {
	var args map[string]json.RawMessage
	if err := json.Unmarshal(req.Params.Arguments, &args); err != nil || args[name] == nil {
		return nil
	}
	return args[name]
}

// dataOf is a value of JSON as an agent keeps it; nil stays nil.
func dataOf(v any) (perdure.Data, error) {
	if v == nil {
		return nil, nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return perdure.DataFromJSON(text)
}
