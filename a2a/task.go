package a2a

import (
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/view"
)

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
