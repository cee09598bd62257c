package a2a

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/view"
)

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
