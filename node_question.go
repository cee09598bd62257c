package perdure

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Question is something an agent asks people: it sleeps until an event called answer arrives, and says in its note what
// it wants to know. Models ask so with the call ask, Go functions with durable.Ask.
type Question struct {
	Text  string
	To    string // the id of the asking call, which the answer carries
	Until Time   // when the agent goes on without an answer; zero: never
}

// Question is what an agent asks at a time, if it does and nobody has answered.
func (f *Fold) Question(now time.Time) (Question, bool) {
	if f.Ended != nil || f.Sleep == nil || f.met(now, true).Met {
		return Question{}, false
	}
	s := f.Sleep.Sleep
	q := Question{Text: s.Note, To: s.Call}
	of := []Trigger{s.Trigger}
	if list, ok := s.Trigger.(Any); ok {
		of = list.Of
	}
	asks := false
	for _, t := range of {
		switch t := t.(type) {
		case On:
			asks = asks || t.Event == AnswerEvent
		case After:
			q.Until = f.Sleep.Since + Time(t.Millis)
		case At:
			q.Until = t.Time
		case Done, When, Every, Any, All:
		}
	}
	switch {
	case q.Text != "":
	case f.Intent.Kind == ChatKind:
		q.Text = "(it waits for the first word)"
	default:
		q.Text = "(it does not say what)"
	}
	return q, asks
}

// The words by which agents talk to people.
const (
	// AnswerEvent is the event that answers a question of an agent to people: an agent that sleeps until one waits for
	// a person.
	AnswerEvent = "answer"
	// ChatKind is the kind of an agent that people talk to: when its advisor answers with text alone, that ends a turn
	// and not the agent. It then sleeps until it is told something, with the text as the question it asks. It does not
	// begin before somebody has said something.
	ChatKind = "chat"
)

// Said is what a person says to an agent with an event, if it is one that answers or talks to it.
func (ev *Event) Said() (string, bool) {
	if ev.Name != AnswerEvent || ev.Notice != nil {
		return "", false
	}
	m, _ := ev.Data.Value().(map[string]any)
	text, ok := m["say"].(string)
	return text, ok
}

// Say tells an agent what a person says to it, whatever it is doing: an answer if it asks, else it is heard when its
// advisor is asked next.
func (n *Node) Say(ctx context.Context, id AgentID, text string) (*Entry, error) {
	return n.answer(ctx, id, text, false)
}

// Answer answers what an agent asks people. It wakes with the answer.
func (n *Node) Answer(ctx context.Context, id AgentID, text string) (*Entry, error) {
	return n.answer(ctx, id, text, true)
}

// answer tells an agent what a person says; asked: only if it asks.
func (n *Node) answer(ctx context.Context, id AgentID, text string, asked bool) (*Entry, error) {
	if strings.TrimSpace(text) == "" {
		return nil, Invalid(errors.New("the answer is empty; say something"))
	}
	return n.say(ctx, id, func(a *Agent) (Event, error) {
		if err := n.living(a); err != nil {
			return Event{}, err
		}
		ev, asks, err := a.fold.Reply(text, time.Now())
		if err == nil && asked && !asks {
			err = Missing(a.called() + " asks no question")
		}
		return ev, err
	})
}

// Reply is the event by which a person says something to an agent, and whether it answers what the agent asks at a
// time.
func (f *Fold) Reply(text string, now time.Time) (ev Event, answers bool, err error) {
	q, asks := f.Question(now)
	said := map[string]any{"say": text}
	if asks && q.To != "" {
		said["to"] = q.To
	}
	ev = Event{Name: AnswerEvent}
	ev.Data, err = DataOf(said)
	return ev, asks, err
}
