package view

import (
	"cmp"
	"slices"
	"strings"

	"github.com/perdure/perdure"
)

// What is said or done in a conversation.
const (
	SaidGoal    = "wants"   // what the agent is for
	SaidText    = "says"    // an advisor to itself, or a person
	SaidNothing = "silent"  // an advisor that gave no advice
	SaidCall    = "calls"   // a tool, which is permitted
	SaidResult  = "result"  // of a call
	SaidDenied  = "denied"  // by policy
	SaidAsk     = "asks"    // policy asks a person, or the agent does
	SaidYes     = "allows"  // a person, what was asked
	SaidNo      = "refuses" // a person, what was asked
	SaidEvent   = "tells"   // somebody, the agent
	SaidSleep   = "sleeps"  // until something
	SaidChild   = "delegates"
	SaidChange  = "changes" // what the agent is for
	SaidEnd     = "ends"
)

// Said is one thing in a conversation as people read it.
type Said struct {
	Seq    int64          `json:"seq"`
	Entry  perdure.Hash   `json:"entry"`
	Time   perdure.Time   `json:"time"`
	Who    string         `json:"who"` // agent, policy, the name of an advisor, a tool or a person
	What   string         `json:"what"`
	Text   string         `json:"text,omitempty"`
	Tool   string         `json:"tool,omitempty"`
	Signal perdure.Signal `json:"signal,omitempty"`
	Sent
}

// Transcriber turns the lines of a memory, in their order, into a conversation. The zero Transcriber takes everybody at
// their word.
type Transcriber struct {
	Voices Voices

	last, by string // what an advisor said last, and which
}

// Said is what a line says in a conversation; ok is false for what only the runtime has to know, and for what was just
// said.
func (t *Transcriber) Said(l Line) (s Said, ok bool) {
	s, ok = transcribe(l, t.Voices)
	if _, advice := l.Body.(perdure.Advice); advice {
		t.last, t.by = s.Text, s.Who
		return s, ok
	}
	if s.What != SaidAsk || s.Who != "agent" {
		return s, ok
	}
	if answers(l.Act) {
		s.Who, s.What = cmp.Or(t.by, s.Who), SaidText
	}
	return s, ok && s.Text != t.last
}

// toldAnything is the condition under which an advisor that has answered goes on.
const toldAnything = "size(inbox) > 0"

// answers reports whether an action is a plain answer of an advisor in a conversation: it waits for whatever it is told
// next. A question waits for its answer.
func answers(act perdure.Action) bool {
	s, _ := act.(perdure.Sleep)
	either, _ := s.Trigger.(perdure.Any)
	return s.Call == "" && slices.ContainsFunc(either.Of, func(t perdure.Trigger) bool {
		when, _ := t.(perdure.When)
		return when.Condition == toldAnything
	})
}

func transcribe(l Line, voices Voices) (s Said, ok bool) {
	s = Said{Seq: l.Seq, Entry: l.Entry, Time: l.Time, Tool: l.Tool, Signal: l.Signal, Who: "agent"}
	switch b := l.Body.(type) {
	case perdure.Genesis:
		s.Who, s.What, s.Text = voices.by(l.Origin, &perdure.Event{}), SaidGoal, b.Intent.Goal
		if b.Intent.Inputs != nil {
			s.Text += "\n" + DataText(b.Intent.Inputs)
		}
	case perdure.Advice:
		s.Who, s.What, s.Text = cmp.Or(b.Model, b.Advisor, "advisor"), SaidText, b.Text
		if b.Signal != 0 {
			s.What = SaidNothing
		}
		if b.Signal == perdure.Partial {
			s.Text = strings.TrimSpace(s.Text + "\n" + cameToNothing)
		}
		return s, s.Text != "" || b.Signal != 0
	case perdure.Decision:
		return s, s.decided(&b, l.Act)
	case perdure.Outcome:
		s.Who, s.What = cmp.Or(l.Tool, "agent"), SaidResult
		s.Text = cmp.Or(b.Note, AnswerText(b.Result))
	case perdure.Event:
		return s, s.told(&b, l, voices)
	default:
		return s, false
	}
	return s, true
}

// decided is what a decision says; false for one that says nothing new.
func (s *Said) decided(b *perdure.Decision, act perdure.Action) bool {
	switch b.Verdict.Answer {
	case perdure.Deny:
		s.Who, s.What, s.Text = "policy", SaidDenied, ActionText(act)+because(b)
		return true
	case perdure.Ask:
		s.Who, s.What, s.Text = "policy", SaidAsk, "may the agent do this: "+ActionText(act)+"?"+because(b)
		return true
	case perdure.Allow:
	}
	switch a := act.(type) {
	case perdure.Execute:
		s.What, s.Text = SaidCall, ActionText(a)
	case perdure.Sleep:
		if s.What, s.Text = SaidSleep, strings.TrimPrefix(ActionText(a), "sleep "); slices.Contains(EventsOf(a.Trigger),
			perdure.AnswerEvent) {
			s.What, s.Text = SaidAsk, a.Note
			return a.Note != "" // else it only waits for what people say
		}
	case perdure.Delegate:
		s.What, s.Text = SaidChild, a.Intent.Goal
	case perdure.Mutate:
		s.What, s.Text = SaidChange, strings.Join(changedTo(&a), ", ")+Noted(a.Note)
	case perdure.End:
		s.What, s.Signal = SaidEnd, a.Signal
		s.Text = strings.TrimSpace(a.Note + "\n" + AnswerText(a.Result))
	default: // it wakes, or is not known here
		return false
	}
	return true
}

func because(b *perdure.Decision) string {
	if b.Verdict.Reason == "" {
		return ""
	}
	return " (" + b.Verdict.Reason + ")"
}

// told is what an event says; false for what only the runtime has to know.
func (s *Said) told(b *perdure.Event, l Line, voices Voices) bool {
	s.Who = voices.by(l.Origin, b)
	switch n := b.Notice.(type) {
	case nil:
		text, plain := plainText(b.Data)
		if s.What, s.Text = SaidText, text; !plain {
			s.What, s.Text = SaidEvent, strings.TrimSpace(b.Name+" "+DataText(b.Data))
		}
	case perdure.Approval:
		if s.What = SaidYes; !n.Approve {
			s.What = SaidNo
		}
		s.Text = n.Digest.Short()
		if l.Act != nil {
			s.Text = ActionText(l.Act)
		}
		s.Text += Noted(n.Note)
	case perdure.Settle, perdure.Grant, perdure.Pause, perdure.Resume, perdure.Cancel, perdure.Edit, perdure.ChildEnded:
		quiet := *b
		quiet.By = "" // it is who says it
		s.What, s.Text = SaidEvent, eventText(&quiet, l.Act)
	case perdure.Doubt:
		s.What, s.Text = SaidEvent, l.What
	default:
		return false
	}
	return true
}
