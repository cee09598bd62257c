package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/view"
)

// told is what came of telling an agent something.
type told struct {
	Agent    string         `json:"agent" jsonschema:"its id"`
	Name     string         `json:"name,omitempty"`
	Entry    string         `json:"entry" jsonschema:"the entry that records it, durably"`
	Seq      int64          `json:"seq"`
	What     string         `json:"what" jsonschema:"what was recorded"`
	Standing phase.Standing `json:"standing" jsonschema:"where the agent stands now"`
	Before   bool           `json:"before,omitempty" jsonschema:"it was received before, and nothing changed"`

	Notes []string `json:"notes,omitempty" jsonschema:"what else to know"`
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
	chats := a.Fold().Intent.Kind == perdure.ChatKind
	var ev perdure.Event
	switch {
	case in.Message != "" && chats:
		ev, _, err = a.Fold().Reply(in.Message, time.Now())
	case in.Message != "":
		ev.Name = messageEvent
		ev.Data, err = perdure.DataOf(map[string]any{"say": in.Message})
	default:
		data, _ := exact(req, "data").(json.RawMessage)
		ev, err = perdure.EventOf(in.Event, data)
	}
	if err != nil {
		return nil, nil, err
	}
	if in.Event != "" && ev.Name == perdure.AnswerEvent && !chats {
		return nil, nil, perdure.WithHint(fmt.Errorf("%w: an event called %s answers what an agent asks a person",
			perdure.ErrDenied, ev.Name),
			"call the tool answer, which asks the person; or send a message, or an event of another name")
	}
	ev.ID = in.ID
	out, err := s.tells(ctx, req, a, ev)
	return nil, out, err
}

type noteIn struct {
	Agent string `json:"agent" jsonschema:"its name or the beginning of its id"`
	Note  string `json:"note,omitempty" jsonschema:"why, for people and for the agent's advisor"`
}

func (s *Server) pause(ctx context.Context, req *sdk.CallToolRequest, in noteIn) (*sdk.CallToolResult, *told, error) {
	return s.verb(ctx, req, in, s.Desk.Pause)
}

func (s *Server) end(ctx context.Context, req *sdk.CallToolRequest, in noteIn) (*sdk.CallToolResult, *told, error) {
	return s.verb(ctx, req, in, s.Desk.End)
}

// verb tells an agent something in the name of the client.
func (s *Server) verb(
	ctx context.Context, req *sdk.CallToolRequest, in noteIn,
	do func(ctx context.Context, v *home.Visitor, arg, note string) (*home.Told, error),
) (*sdk.CallToolResult, *told, error) {
	a, err := s.find(ctx, in.Agent)
	if err != nil {
		return nil, nil, err
	}
	v, err := s.speaker(req)
	if err != nil {
		return nil, nil, err
	}
	out, err := toldOf(do(ctx, v, a.ID().String(), in.Note))
	return nil, out, err
}

// exact is an argument of a call as it was written: numbers of any size, or nil if it is not there.
func exact(req *sdk.CallToolRequest, name string) any {
	var args map[string]json.RawMessage
	if err := json.Unmarshal(req.Params.Arguments, &args); err != nil || args[name] == nil {
		return nil
	}
	return args[name]
}
