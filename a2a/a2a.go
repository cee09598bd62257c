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
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/jsontext"
	"github.com/perdure/perdure/phase"
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
			err = jsontext.Text(body)
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

// find is the agent of a task.
func (s *Server) find(ctx context.Context, id a2a.TaskID) (a *perdure.Agent, standing phase.Standing, err error) {
	if new(perdure.AgentID).UnmarshalText([]byte(id)) != nil { // a name finds none
		return nil, "", a2a.ErrTaskNotFound
	}
	v, err := s.visitor(ctx)
	if err != nil {
		return nil, "", err
	}
	if a, err = s.own(ctx, v, string(id)); err != nil {
		return nil, "", err
	}
	if standing, err = s.Desk.Home.Standing(ctx, s.Store, a, time.Now()); err != nil {
		return nil, "", wrong(err)
	}
	return a, standing, nil
}

// own is an agent that is a task of a visitor.
func (s *Server) own(ctx context.Context, v *home.Visitor, id string) (*perdure.Agent, error) {
	a, err := s.Desk.Agent(ctx, v, id)
	if err != nil {
		return nil, wrong(err)
	}
	labels := a.Fold().Intent.Labels
	if who := client(v); labels[contextLabel] == "" || who != "" && labels[clientLabel] != who ||
		!ours(a, s.Node.Trusted()) {
		return nil, a2a.ErrTaskNotFound
	}
	return a, nil
}

// ours reports whether an agent began with somebody trusted here to own it, and descends from none: a stranger's says
// in its labels what it likes.
func ours(a *perdure.Agent, t *perdure.Trust) bool {
	f := a.Fold()
	return f.Lineage == nil && f.Begun.IsZero() && t.Allows(f.Charter.Owner, perdure.MayOwn, f.Charter.Scope)
}

// task is an agent as a task, with so many of its messages; nil: all.
func (s *Server) task(ctx context.Context, id a2a.TaskID, messages *int) (*a2a.Task, error) {
	a, standing, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	f := a.Fold()
	t := &a2a.Task{ID: id, ContextID: view.InText(f.Intent.Labels[contextLabel]),
		Metadata: map[string]any{"standing": string(standing)}}
	end := s.Node.Trusted().Ended(a)
	t.Status = status(a, end, standing)
	if end != nil && end.Result != nil {
		t.Artifacts = []*a2a.Artifact{{ID: "result", Parts: a2a.ContentParts{a2a.NewTextPart(
			view.InText(view.AnswerText(end.Result)))}}}
	}
	if messages != nil && *messages == 0 {
		return t, nil
	}
	lines, _, err := view.LinesAt(ctx, s.Store, a, nil, history)
	if err != nil {
		return nil, wrong(err)
	}
	for i := range lines {
		t.History = append(t.History, said(&lines[i], t)...)
	}
	if messages != nil && len(t.History) > *messages {
		t.History = t.History[len(t.History)-max(*messages, 0):]
	}
	return t, nil
}

// said is what an entry adds to the messages of a task.
func said(l *view.Line, t *a2a.Task) (all []*a2a.Message) {
	add := func(role a2a.MessageRole, text string) {
		all = append(all, &a2a.Message{ID: l.Entry.String(), TaskID: t.ID, ContextID: t.ContextID, Role: role,
			Parts: a2a.ContentParts{a2a.NewTextPart(view.InText(text))}})
	}
	if g, ok := l.Body.(perdure.Genesis); ok {
		add(a2a.MessageRoleUser, g.Intent.Goal)
	}
	for _, one := range l.Spoken() {
		switch one.Type {
		case view.SpokenPerson:
			add(a2a.MessageRoleUser, one.Text)
		case view.SpokenAnswer:
			add(a2a.MessageRoleAgent, one.Text)
		}
	}
	return all
}

// status is where an agent stands, as a task does. End is how it ended, as far as that counts.
func status(a *perdure.Agent, end *perdure.Ending, standing phase.Standing) a2a.TaskStatus {
	f := a.Fold()
	at := f.Updated.Go()
	st := a2a.TaskStatus{State: a2a.TaskStateWorking, Timestamp: &at}
	text := ""
	q, asks := f.Question(time.Now())
	switch {
	case end != nil:
		if text, st.State = end.Note, a2a.TaskStateFailed; end.Signal == perdure.OK {
			st.State = a2a.TaskStateCompleted
		} else if cancelled(a, end) {
			st.State = a2a.TaskStateCanceled
		}
	case asks && standing != phase.StandingOlder: // what it asked may be answered
		text, st.State = q.Text, a2a.TaskStateInputRequired
	case standing == phase.StandingWaiting || standing == phase.StandingOlder:
		text, st.State = "it waits for a person where it runs, who has to approve or look into something",
			a2a.TaskStateAuthRequired
	case f.Turns == 0:
		st.State = a2a.TaskStateSubmitted
	}
	if text != "" {
		st.Message = &a2a.Message{ID: a.Heads()[0].String(), Role: a2a.MessageRoleAgent,
			TaskID:    a2a.TaskID(a.ID().String()),
			ContextID: view.InText(f.Intent.Labels[contextLabel]),
			Parts:     a2a.ContentParts{a2a.NewTextPart(view.InText(text))}}
	}
	return st
}

// cancelled reports whether an agent was ended by somebody's word.
func cancelled(a *perdure.Agent, end *perdure.Ending) bool {
	for e := range a.Recent() {
		if e.Name == end.Entry {
			ev, _ := e.Content().(perdure.Event)
			_, is := ev.Notice.(perdure.Cancel)
			return is
		}
	}
	return false
}

// take starts an agent with a message, or tells one, and returns the task.
func (s *Server) take(ctx context.Context, req *a2a.SendMessageRequest) (a2a.TaskID, error) {
	m := req.Message
	if m == nil || m.ID == "" || len(m.ID) > maxID || len(m.ContextID) > maxID {
		return "", wrong(perdure.Invalid(fmt.Errorf("want a message with an id; ids have up to %d bytes", maxID)))
	}
	text, data, err := read(m)
	if err != nil {
		return "", err
	}
	if m.TaskID == "" {
		return s.start(ctx, m, text, data)
	}
	a, _, err := s.find(ctx, m.TaskID)
	if err != nil {
		return "", err
	}
	answer := map[string]any{}
	for name, value := range map[string]any{"say": text, "data": data} {
		if value != nil && value != "" {
			answer[name] = value
		}
	}
	ev := perdure.Event{Name: "message", ID: m.ID}
	if q, asks := a.Fold().Question(time.Now()); asks || a.Fold().Intent.Kind == perdure.ChatKind {
		if ev.Name = perdure.AnswerEvent; q.To != "" {
			answer["to"] = q.To
		}
	}
	v, err := s.visitor(ctx)
	if err != nil {
		return "", err
	}
	if ev.Data, err = perdure.DataOf(answer); err == nil {
		_, _, err = s.Desk.Event(ctx, v, a.ID().String(), ev)
	}
	if err != nil {
		return "", wrong(err)
	}
	return m.TaskID, nil
}

// read is the text and the data of a message.
func read(m *a2a.Message) (text string, data any, err error) {
	var texts []string
	var all []any
	for _, p := range m.Parts {
		switch {
		case p != nil && p.Text() != "":
			texts = append(texts, p.Text())
		case p != nil && p.Data() != nil:
			all = append(all, p.Data())
		default:
			return "", nil, &a2a.Error{Err: a2a.ErrUnsupportedContentType,
				Message: "want parts of text or data; files go elsewhere, and their place into the text"}
		}
	}
	if len(all) == 1 {
		data = all[0]
	} else if len(all) > 1 {
		data = all
	}
	if text = strings.Join(texts, "\n"); strings.TrimSpace(text) == "" {
		return "", nil, wrong(perdure.Invalid(errors.New("the message has no text; say what the agent is to do")))
	}
	return text, data, nil
}

// start starts the agent of a message, once for each client, however often and in however many places it comes.
func (s *Server) start(ctx context.Context, m *a2a.Message, goal string, inputs any) (a2a.TaskID, error) {
	v, err := s.visitor(ctx)
	if err != nil {
		return "", err
	}
	f := home.IntentFile{Goal: goal, Inputs: inputs,
		Labels: map[string]string{contextLabel: cmp.Or(m.ContextID, m.ID), messageLabel: m.ID}}
	if who := client(v); who != "" {
		f.Labels[clientLabel] = who
	}
	a, err := s.Desk.CreateOnce(ctx, v, &f, "a2a "+m.ID)
	if err != nil {
		return "", wrong(err)
	}
	return a2a.TaskID(a.ID().String()), nil
}

// SendMessage implements a2asrv.RequestHandler. Unless the client wants the task at once, the agent is let to work
// first.
func (t tasks) SendMessage(ctx context.Context, req *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	id, err := t.s.take(ctx, req)
	if err != nil {
		return nil, err
	}
	c := req.Config
	if c == nil {
		c = &a2a.SendMessageConfig{}
	}
	if !c.ReturnImmediately {
		err := view.AwaitRest(ctx, t.s.Store, maxWait, func(ctx context.Context) (phase.Standing, error) {
			_, standing, err := t.s.find(ctx, id)
			return standing, err
		})
		if err != nil {
			return nil, err
		}
	}
	return t.s.task(ctx, id, c.HistoryLength)
}

// SendStreamingMessage implements a2asrv.RequestHandler.
func (t tasks) SendStreamingMessage(ctx context.Context, req *a2a.SendMessageRequest) iter.Seq2[a2a.Event, error] {
	id, err := t.s.take(ctx, req)
	if err != nil {
		return func(yield func(a2a.Event, error) bool) { yield(nil, err) }
	}
	return t.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id})
}

// SubscribeToTask implements a2asrv.RequestHandler: the task, and then each change of its status, until it is over or
// somebody has to say something.
func (t tasks) SubscribeToTask(ctx context.Context, req *a2a.SubscribeToTaskRequest) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		changed := view.Watch(ctx, t.s.Store)
		var last *a2a.Task
		for {
			now, err := t.s.task(ctx, req.ID, nil)
			if err != nil {
				yield(nil, err)
				return
			}
			if (last == nil && !yield(now, nil)) || (last != nil && !reflect.DeepEqual(last.Status, now.Status) &&
				!t.changed(now, yield)) {
				return
			}
			last = now
			if st := now.Status.State; st.Terminal() || st == a2a.TaskStateInputRequired ||
				st == a2a.TaskStateAuthRequired {
				return
			}
			if !concerns(ctx, changed, now.ID) {
				return
			}
		}
	}
}

// concerns waits until the agent of a task may have changed, whatever others do. False: nobody waits any more.
func concerns(ctx context.Context, changed *view.Changes, task a2a.TaskID) bool {
	var id perdure.AgentID
	if id.UnmarshalText([]byte(task)) != nil {
		return false
	}
	for {
		select {
		case <-ctx.Done():
			return false
		case <-changed.Signal:
		}
		ids, all := changed.Take()
		if _, is := ids[id]; is || all {
			return true
		}
	}
}

// changed yields what is new of a task.
func (tasks) changed(now *a2a.Task, yield func(a2a.Event, error) bool) bool {
	for _, one := range now.Artifacts {
		if !yield(&a2a.TaskArtifactUpdateEvent{TaskID: now.ID, ContextID: now.ContextID, Artifact: one,
			LastChunk: true}, nil) {
			return false
		}
	}
	return yield(&a2a.TaskStatusUpdateEvent{TaskID: now.ID, ContextID: now.ContextID, Status: now.Status}, nil)
}

// GetTask implements a2asrv.RequestHandler.
func (t tasks) GetTask(ctx context.Context, req *a2a.GetTaskRequest) (*a2a.Task, error) {
	return t.s.task(ctx, req.ID, req.HistoryLength)
}

// CancelTask implements a2asrv.RequestHandler.
func (t tasks) CancelTask(ctx context.Context, req *a2a.CancelTaskRequest) (*a2a.Task, error) {
	a, _, err := t.s.find(ctx, req.ID)
	if err != nil {
		return nil, err
	}
	v, err := t.s.visitor(ctx)
	if err != nil {
		return nil, err
	}
	switch _, err := t.s.Desk.End(ctx, v, a.ID().String(), ""); {
	case errors.Is(err, perdure.ErrTerminated):
		return nil, a2a.ErrTaskNotCancelable
	case err != nil:
		return nil, wrong(err)
	}
	return t.s.task(ctx, req.ID, nil)
}

// ListTasks implements a2asrv.RequestHandler. Tasks are listed by the ids of their agents. They are counted for the
// first page alone, since to count them each has to be looked at; the token carries the count from page to page.
func (t tasks) ListTasks(ctx context.Context, req *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error) {
	size := cmp.Or(req.PageSize, usualPage)
	if size < 1 || size > maxPage {
		return nil, wrong(perdure.Invalid(fmt.Errorf("page size %d: want 1 to %d", size, maxPage)))
	}
	from, err := readPlace(req.PageToken)
	if err != nil {
		return nil, wrong(err)
	}
	ids, err := t.s.ids(ctx, req.ContextID)
	if err != nil {
		return nil, wrong(err)
	}
	if req.PageToken == "" {
		from.total, err = t.s.count(ctx, ids)
		if err != nil {
			return nil, err
		}
	}
	from.total = min(from.total, len(ids)) // a client may write what it likes, and tasks may go
	res := &a2a.ListTasksResponse{Tasks: []*a2a.Task{}, PageSize: size, TotalSize: from.total}
	none := 0
	for _, id := range ids {
		if id <= from.last {
			continue
		}
		one, err := t.s.task(ctx, a2a.TaskID(id), cmp.Or(req.HistoryLength, &none))
		if err != nil || req.Status != "" && one.Status.State != req.Status ||
			req.StatusTimestampAfter != nil && one.Status.Timestamp.Before(*req.StatusTimestampAfter) {
			continue // one that cannot be read hides no other
		}
		if !req.IncludeArtifacts {
			one.Artifacts = nil
		}
		if len(res.Tasks) == size {
			res.NextPageToken = from.String()
			break
		}
		res.Tasks, from.last = append(res.Tasks, one), id
	}
	return res, nil
}

// place is how far a list has got, as the token of a page says it: the last agent, and how many tasks there are.
type place struct {
	last  string
	total int
}

func (p place) String() string { return fmt.Sprintf("%s.%d", p.last, p.total) }

// readPlace reads the token of a page; none is the beginning.
func readPlace(token string) (p place, err error) {
	if token == "" {
		return p, nil
	}
	last, total, _ := strings.Cut(token, ".")
	p.last = last
	if p.total, err = strconv.Atoi(total); err != nil || p.total < 1 || new(perdure.AgentID).UnmarshalText(
		[]byte(last)) != nil {
		return p, perdure.Invalid(errors.New("want the page token of the answer before, or none"))
	}
	return p, nil
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

// ids are the agents of which the index says that they are tasks of whoever asks, of one context or of all, ascending.
// The index only finds: see own.
func (s *Server) ids(ctx context.Context, of string) (ids []string, err error) {
	l, err := view.Lister(s.Store)
	if err != nil {
		return nil, err
	}
	v, err := s.visitor(ctx)
	if err != nil {
		return nil, err
	}
	f := perdure.Filter{Labels: map[string]string{}}
	if of != "" {
		f.Labels[contextLabel] = of
	}
	if who := client(v); who != "" {
		f.Labels[clientLabel] = who
	}
	for one, err := range l.List(ctx, f) {
		if err != nil {
			return nil, err
		}
		if one.Labels[contextLabel] != "" {
			ids = append(ids, one.Agent.String())
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// count is how many of these agents are tasks of whoever asks. Agents that only say they are tasks, and those that
// cannot be read, are none.
func (s *Server) count(ctx context.Context, ids []string) (n int, err error) {
	v, err := s.visitor(ctx)
	if err != nil {
		return 0, err
	}
	for _, id := range ids {
		if _, err := s.own(ctx, v, id); err == nil {
			n++
		}
	}
	return n, ctx.Err()
}
