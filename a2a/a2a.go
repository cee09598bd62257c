// Package a2a serves the agents of a home as tasks of the Agent2Agent protocol: a message without a task starts an
// agent, one with a task is told to it, and the task is a view of the agent's memory. It keeps nothing of its own.
//
// A client sees only the agents that it started this way (with a person's token, that the person started), and the
// owner of the home all of these. What policy asks a person about is not the client's to answer: such a task is in
// state auth-required until somebody here approves or denies. A question of the agent makes it input-required, and a
// client answers it for the person whose token it has; what a program says is no answer.
package a2a

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/jsontext"
	"github.com/perdure/perdure/view"
)

// Server serves agents as tasks. All fields must be set, and none changed after the first use.
type Server struct {
	Home    *home.Home
	Store   perdure.Store
	Node    *perdure.Node // tells agents things
	URL     string        // where Handler is mounted, for the card: a path alone is at the host that was asked for it
	Version string        // of the program

	// Desk is where clients speak to agents; nil: one of its own.
	Desk *home.Desk
	// Guests says that whoever comes is a visitor whom a gate let in, see home.WithVisitor, and others are refused.
	// Else it is the owner of the home.
	Guests bool
}

// verbs are what the verb a2a stands for. To answer for a person takes a verb of its own.
var verbs = []string{home.VerbRead, home.VerbCreate, home.VerbEvent, home.VerbEnd}

// visitor is whom a request is of: a program that speaks for them.
func (s *Server) visitor(ctx context.Context) (*home.Visitor, error) {
	v, err := home.VisitorNow(ctx)
	if !s.Guests {
		v, err = s.Desk.Host()
	}
	if err != nil {
		return nil, wrong(err)
	}
	return v.Through("an A2A client", verbs...), nil
}

// The labels of an agent that is a task.
const (
	contextLabel = "a2a-context"
	messageLabel = "a2a-message"
	clientLabel  = "a2a-client"
)

// client is the label of whose tasks a visitor sees; empty: those of everybody, for the owner of the home.
func client(v *home.Visitor) string {
	id := v.ID()
	if id == "owner" {
		return ""
	}
	if v.Person != nil { // with whichever of their tokens
		id = "key " + v.Person.Key().String()
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

const (
	// maxWait is how long a message waits for the agent to rest.
	maxWait = 50 * time.Second
	// maxID bounds the ids that clients choose.
	maxID = 128
	// history is how many entries are looked through for messages.
	history = 200
	// usualPage and maxPage are how many tasks are listed at once.
	usualPage, maxPage = 50, 100
	// maxProblem is how much of an error is sent.
	maxProblem = 4 << 10
	// maxRequest bounds a request.
	maxRequest = 4 << 20
)

// Handler serves the protocol over JSON-RPC. Who may come this far is for whoever mounts it to decide.
func (s *Server) Handler() http.Handler {
	if s.Desk == nil {
		s.Desk = &home.Desk{Home: s.Home, Store: s.Store, Node: s.Node}
	}
	inner := a2asrv.NewJSONRPCHandler(tasks{s})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		if err == nil { // the library would put another letter in the place of what is no text
			err = cmp.Or(jsontext.Text(body), jsontext.Once(body))
		}
		if err != nil {
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":%q}}`,
				"the request cannot be read: "+err.Error()) // whoever has gone asks again
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		inner.ServeHTTP(w, r)
	})
}

// Card serves what clients read first, at /.well-known/agent-card.json.
func (s *Server) Card() http.Handler {
	text := []string{"text/plain", "application/json"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		url := s.URL
		if strings.HasPrefix(url, "/") {
			scheme := "http"
			if r.TLS != nil {
				scheme = "https"
			}
			url = scheme + "://" + r.Host + url
		}
		a2asrv.NewStaticAgentCardHandler(&a2a.AgentCard{
			Name: "perdure", Version: cmp.Or(s.Version, "devel"),
			Description: "Starts durable agents, each of which works on a goal by itself, for minutes or months.",
			SupportedInterfaces: []*a2a.AgentInterface{{URL: url, ProtocolBinding: a2a.TransportProtocolJSONRPC,
				ProtocolVersion: a2a.Version}},
			Capabilities: a2a.AgentCapabilities{Streaming: true}, DefaultInputModes: text, DefaultOutputModes: text,
			Skills: []a2a.AgentSkill{{ID: "goal", Name: "Work on a goal", Tags: []string{"agent"},
				Description: "A message starts an agent with its text as the goal and its data as inputs."}},
		}).ServeHTTP(w, r)
	})
}

// tasks implements a2asrv.RequestHandler.
type tasks struct{ s *Server }

var _ a2asrv.RequestHandler = tasks{}

// wrong is an error of the protocol in the words of the command line.
func wrong(err error) error {
	message, hint := view.Explain(err, "perdure")
	if hint != "" {
		message += "; " + hint
	}
	kind := a2a.ErrInternalError
	switch home.KindOf(err) {
	case home.KindInvalid, home.KindTerminated, home.KindRejected:
		kind = a2a.ErrInvalidParams
	case home.KindNotFound:
		kind = a2a.ErrTaskNotFound
	case home.KindDenied:
		kind = a2a.ErrUnauthorized
	case home.KindUnknown:
		kind = a2a.ErrUnauthenticated
	default:
	}
	return &a2a.Error{Err: kind, Message: view.Cut(view.InText(message), maxProblem)}
}

var errUnsupported = a2a.ErrPushNotificationNotSupported

// GetTaskPushConfig implements a2asrv.RequestHandler.
func (tasks) GetTaskPushConfig(context.Context, *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	return nil, errUnsupported
}

// ListTaskPushConfigs implements a2asrv.RequestHandler.
func (tasks) ListTaskPushConfigs(context.Context, *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse,
	error) {
	return nil, errUnsupported
}

// CreateTaskPushConfig implements a2asrv.RequestHandler.
func (tasks) CreateTaskPushConfig(context.Context, *a2a.PushConfig) (*a2a.PushConfig, error) {
	return nil, errUnsupported
}

// DeleteTaskPushConfig implements a2asrv.RequestHandler.
func (tasks) DeleteTaskPushConfig(context.Context, *a2a.DeleteTaskPushConfigRequest) error {
	return errUnsupported
}

// GetExtendedAgentCard implements a2asrv.RequestHandler.
func (tasks) GetExtendedAgentCard(context.Context, *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	return nil, a2a.ErrExtendedCardNotConfigured
}
