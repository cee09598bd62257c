// Package notify tells people and programs outside what happens to agents: each destination gets the events it asked
// for, at least once and in the order of the store's feed, by webhook (CloudEvents, signed by Standard Webhooks),
// Slack-compatible webhook, e-mail or command.
package notify

import (
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/glyph"
)

// The types of events, as node.yaml names them. Do NOT rename.
const (
	ApprovalRequested = "approval.requested" // policy asks people about an effect, or now asks more of them
	QuestionAsked     = "question.asked"     // the agent asks people something
	Dormant           = "dormant"            // it sleeps, and asks nothing
	Ended             = "ended"
	Diverged          = "diverged" // the same was decided twice, in two places
	InDoubt           = "in-doubt" // nobody can tell whether an effect happened
	BudgetLow         = "budget.low"

	// Unread is the type of what is said where an entry could not be read, so that nobody knows what happened by it. It
	// is sent by perdure notify retry alone.
	Unread = "unread"
	// Test is the type of what perdure notify test sends.
	Test = "test"
)

// Types are all there are.
var Types = []string{ApprovalRequested, QuestionAsked, Dormant, Ended, Diverged, InDoubt, BudgetLow}

// typePrefix begins the types of events outside.
const typePrefix = "dev.perdure."

// Event is one thing that happened, as a CloudEvent in its structured JSON form. Its id is the same however often it is
// sent.
type Event struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject,omitempty"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	TraceParent     string    `json:"traceparent,omitempty"`
	Data            Data      `json:"data"`

	// Once is set when it is sent once per destination although memory shows it again and again.
	Once bool `json:"-"`
}

// Data is what happened to which agent, and what a person is to decide.
type Data struct {
	Agent   perdure.AgentID `json:"agent"`
	Name    string          `json:"name,omitempty"`
	Scope   string          `json:"scope"`
	Entry   perdure.Hash    `json:"entry,omitzero"` // by which it happened
	Summary string          `json:"summary"`        // one line for people

	Decision perdure.Hash `json:"decision,omitzero"`
	Digest   perdure.Hash `json:"digest,omitzero"` // what an approval binds
	Tool     string       `json:"tool,omitempty"`
	Asked    []string     `json:"asked,omitempty"` // who is asked
	Quorum   int64        `json:"quorum,omitempty"`
	Expires  time.Time    `json:"expires,omitzero"`
	Signal   string       `json:"signal,omitempty"` // how it ended
	Answer   string       `json:"answer,omitempty"` // the command that answers

	// What is decided about, whole: only where the destination is to have it.
	Detail string `json:"detail,omitempty"` // the question, the result, why
	Action any    `json:"action,omitempty"` // with its arguments

	Link   string `json:"link,omitempty"`   // where people look at it
	Resume string `json:"resume,omitempty"` // where a webhook answers it
}

// NewEvent is an event of a type with its id.
func NewEvent(kind, id string, d Data) Event {
	name := d.Name
	if name == "" {
		name = d.Agent.Short()
	}
	return Event{
		SpecVersion: "1.0", ID: id, Type: typePrefix + kind, Source: "urn:perdure:agent:" + d.Agent.String(),
		Subject:         name,
		DataContentType: "application/json", Data: d,
	}
}

// Kind is the type as node.yaml names it.
func (e *Event) Kind() string { return strings.TrimPrefix(e.Type, typePrefix) }

// bare is the event without what people decide about.
func (e Event) bare() Event {
	e.Data.Detail, e.Data.Action = "", nil
	return e
}

// Title is one line that says what happened.
func (e *Event) Title() string { return oneLine(e.Data.Summary) }

// Text is the event as people read it. Words of the agent are quoted, so that no line of theirs looks like one of ours.
func (e *Event) Text() string {
	var b strings.Builder
	line := func(label, text string) {
		if text != "" {
			b.WriteString(label + oneLine(text) + "\n")
		}
	}
	line("", e.Data.Summary)
	if detail := strings.TrimSpace(e.Data.Detail); detail != "" {
		for text := range strings.SplitSeq(detail, "\n") {
			b.WriteString(strings.TrimRight("> "+oneLine(text), " ") + "\n")
		}
	}
	line("who is asked: ", strings.Join(e.Data.Asked, ", "))
	if !e.Data.Expires.IsZero() {
		line("until: ", e.Data.Expires.Format(time.RFC3339))
	}
	line("answer: ", e.Data.Answer)
	line("see: ", e.Data.Link)
	return strings.TrimSpace(b.String())
}

// oneLine is text on one line, in which everything is shown as it is: what is hidden is escaped.
func oneLine(s string) string {
	return glyph.InLine(strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return r == '\n' || r == '\r' || r == '\t'
	}), " "))
}
