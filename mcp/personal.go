package mcp

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

// addPersonal adds the tools that ask a person. A model can call them; only the person's reply is recorded.
func (s *Server) addPersonal() {
	const asks = " It asks the person, with everything they must see, and records only their reply; you cannot " +
		"answer for them."
	once := hints{destroys: true, openWorld: true}
	add(s, "approve", "Have a person approve an action",
		"Put an action that policy asks about before the person, who approves or denies exactly it."+asks, once,
		s.approve)
	add(s, "deny", "Have a person deny an action",
		"Put an action that policy asks about before the person, for them to deny it (or approve it)."+asks, once,
		s.deny)
	add(s, "answer", "Have a person answer a question",
		"Put a question that an agent asks before the person."+asks+" You may suggest an answer.", once, s.answer)
	add(s, "resume", "Have a person resume a paused agent",
		"Ask the person to end the pauses of an agent."+asks, once, s.resume)
}

// maxSheet is the longest text a person is shown through a client. An action that takes more is read in a terminal,
// which pages.
const maxSheet = 16 << 10

// question is what a person is asked.
type question struct {
	what    string         // the verb, for errors
	text    string         // what they are shown
	fields  map[string]any // of the form, by name
	need    []string       // of them
	bind    []string       // what the reply is for, and for nothing else
	command string         // that a person types instead
}

// person is the name of the one thing that is asked for in a call.
const person = "person"

// ask asks the person behind a client. Without a reply yet, it returns the result that asks for it. A reply that
// refuses to say anything, or is to another question, is none.
func (s *Server) ask(req *sdk.CallToolRequest, q *question) (reply map[string]any, asking *sdk.CallToolResult,
	err error) {
	if !elicits(req.Session) {
		return nil, nil, perdure.WithHint(fmt.Errorf("only a person can %s, and this client cannot ask them; nothing "+
			"was changed", q.what),
			"they type: "+q.command)
	}
	if len(q.text) > maxSheet {
		return nil, nil, perdure.WithHint(fmt.Errorf("there is too much to read (%d bytes) for a person to %s here; "+
			"nothing was changed",
			len(q.text), q.what), "they read it in a terminal and type: "+q.command)
	}
	given, ok := req.Params.InputResponses[person].(*sdk.ElicitResult)
	if ok && hmac.Equal([]byte(req.Params.RequestState), []byte(s.bound(q.bind))) {
		switch {
		case given.Action == "accept" && given.Content != nil:
			return given.Content, nil, nil
		case given.Action == "accept":
			return nil, nil, errors.New("the reply is empty; nothing was changed, and it can still be answered")
		}
		return nil, nil, fmt.Errorf("the person did not answer (%s); nothing was changed, and it can still be answered",
			view.OneLine(given.Action, 20))
	}
	form := map[string]any{"type": "object", "properties": q.fields, "required": q.need}
	return nil, &sdk.CallToolResult{
		InputRequests: sdk.InputRequestMap{person: &sdk.ElicitParams{Mode: "form", Message: view.InText(q.text),
			RequestedSchema: form}},
		RequestState: s.bound(q.bind),
	}, nil
}

// elicits reports whether a client can show its person a form.
func elicits(session *sdk.ServerSession) bool {
	p := session.InitializeParams()
	if p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil // one that names neither has forms
}

// bound is a word only this process can make, for what a person is asked about. A reply comes back with it, through
// the client and perhaps much later: what it is for is then checked against what is open.
func (s *Server) bound(to []string) string {
	mac := hmac.New(sha256.New, s.secret[:])
	for _, part := range to {
		fmt.Fprintf(mac, "%d:%s", len(part), part) // a hash never fails
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// toldOf is what came of a verb at the desk.
func toldOf(t *home.Told, err error) (*told, error) {
	if err != nil {
		return nil, err
	}
	return &told{
		Agent:    t.Agent.String(),
		Name:     t.Name,
		Entry:    t.Entry.String(),
		Seq:      t.Seq,
		What:     view.Cut(t.What, maxSaid),
		Standing: t.Standing,
		Before:   t.Before,
		Notes:    t.Notes,
	}, nil
}

type voteIn struct {
	Agent   string `json:"agent" jsonschema:"its name or the beginning of its id"`
	Digest  string `json:"digest,omitempty" jsonschema:"its digest or the first digits; none: the only one"`
	Expires string `json:"expires,omitempty" jsonschema:"when an unused approval lapses: a time, or such as 1h"`
}

func (s *Server) approve(ctx context.Context, req *sdk.CallToolRequest, in voteIn) (*sdk.CallToolResult, *told, error) {
	return s.vote(ctx, req, in, "approve")
}

func (s *Server) deny(ctx context.Context, req *sdk.CallToolRequest, in voteIn) (*sdk.CallToolResult, *told, error) {
	return s.vote(ctx, req, in, "deny")
}

func (s *Server) vote(ctx context.Context, req *sdk.CallToolRequest, in voteIn, verb string) (*sdk.CallToolResult,
	*told, error) {
	now := time.Now()
	until, err := home.ParseDeadline(in.Expires, now)
	if err != nil {
		return nil, nil, perdure.Invalid(fmt.Errorf("expires: %w", err))
	}
	a, err := s.find(ctx, in.Agent)
	if err != nil {
		return nil, nil, err
	}
	v, err := s.visitor(req.Extra)
	if err != nil {
		return nil, nil, err
	}
	digest, err := view.Asked(a, in.Digest)
	if _, asks := a.Fold().Question(now); asks && errors.Is(err, perdure.ErrNotFound) {
		err = perdure.WithHint(err, "it does not ask for permission: call answer")
	}
	if err != nil {
		return nil, nil, err
	}
	open, err := s.Desk.Votable(v, a, digest, verb == "approve")
	if err != nil {
		return nil, nil, err
	}
	w := view.ApprovalOf(a.Fold(), open, s.Node.Trusted(), view.Callable(a), now)
	if err := w.Describe(ctx, s.Store, a); err != nil {
		return nil, nil, err
	}
	text := fmt.Sprintf("agent %s %s\n%s\n%s", view.Called(a), a.ID(), view.InLine(w.Head()), sheet(&w, now))
	if until != 0 {
		text += "\nan approval lapses " + view.Moment(until, now)
	}
	reply, asking, err := s.ask(req, &question{
		what: verb + " an action", text: text, bind: []string{"vote", a.ID().String(), digest.String(), in.Expires},
		fields: map[string]any{
			"decision": choice("Your decision about exactly this action", "approve", "deny"),
			"note":     words("Why, for the agent (may be empty)"),
		},
		need: []string{"decision"}, command: fmt.Sprintf("perdure %s %s %s", verb, view.Callable(a), digest),
	})
	if reply == nil {
		return asking, nil, err
	}
	note, _ := reply["note"].(string)
	b := home.Ballot{Digest: digest.String(), Expires: until, Note: note}
	switch reply["decision"] {
	case "approve":
		b.Approve = true
	case "deny":
	default:
		return nil, nil, errors.New("the reply decides nothing; nothing was changed, and it can still be answered")
	}
	done, _, err := s.Desk.Vote(ctx, v, a.ID().String(), b)
	out, err := toldOf(done, err)
	return nil, out, err
}

// choice is a field of a form for one of several words.
func choice(title string, words ...string) map[string]any {
	return map[string]any{"type": "string", "title": title, "enum": words}
}

// words is a field of a form for a text. No field is filled in already: a client that sends forms back unread would
// answer with what a model suggests.
func words(title string) map[string]any { return map[string]any{"type": "string", "title": title} }

type answerIn struct {
	Agent      string `json:"agent" jsonschema:"its name or the beginning of its id"`
	Suggestion string `json:"suggestion,omitempty" jsonschema:"an answer to suggest to the person"`
}

func (s *Server) answer(ctx context.Context, req *sdk.CallToolRequest, in answerIn) (*sdk.CallToolResult, *told,
	error) {
	a, err := s.find(ctx, in.Agent)
	if err != nil {
		return nil, nil, err
	}
	if s.Node.Trusted().Ended(a) != nil {
		return nil, nil, fmt.Errorf("%s: %w", view.Called(a), perdure.ErrTerminated)
	}
	q, asks := a.Fold().Question(time.Now())
	if !asks {
		hint := "see show_agent for what it waits for"
		if len(a.Fold().Asks) > 0 {
			hint = "it asks for permission: call approve"
		}
		return nil, nil, perdure.WithHint(perdure.Missing(view.Called(a)+" asks no question"), hint)
	}
	text := fmt.Sprintf("agent %s %s asks:\n%s", view.Called(a), a.ID(), quoted(q.Text))
	if in.Suggestion != "" {
		text += "\na model suggests to answer:\n" + quoted(in.Suggestion)
	}
	reply, asking, err := s.ask(req, &question{
		what: "answer it", text: text, fields: map[string]any{"answer": words("Your answer")}, need: []string{"answer"},
		bind:    []string{"answer", a.ID().String(), a.Fold().Sleep.Decision.String()},
		command: "perdure answer " + view.Callable(a) + " TEXT",
	})
	if reply == nil {
		return asking, nil, err
	}
	answer, _ := reply["answer"].(string)
	v, err := s.visitor(req.Extra)
	if err != nil {
		return nil, nil, err
	}
	out, err := toldOf(s.Desk.Answer(asShown(ctx, a), v, a.ID().String(), answer))
	return nil, out, err
}

// asShown has what a person replied be recorded only while the agent is as they were shown it: they end no pause, and
// answer no question, that came since.
func asShown(ctx context.Context, a *perdure.Agent) context.Context {
	return perdure.WithHeads(ctx, a.Heads())
}

// quoted is a text of somebody else in lines that cannot pass for ours.
func quoted(text string) string {
	return "| " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n| ")
}

type agentIn struct {
	Agent string `json:"agent" jsonschema:"its name or the beginning of its id"`
}

func (s *Server) resume(ctx context.Context, req *sdk.CallToolRequest, in agentIn) (*sdk.CallToolResult, *told, error) {
	a, err := s.find(ctx, in.Agent)
	if err != nil {
		return nil, nil, err
	}
	v, err := s.visitor(req.Extra)
	if err != nil {
		return nil, nil, err
	}
	f, typed := a.Fold(), "perdure resume "+view.Callable(a)
	trust := s.Node.Trusted()
	switch {
	case trust.Ended(a) != nil:
		return nil, nil, fmt.Errorf("%s: %w", view.Called(a), perdure.ErrTerminated)
	case trust.Counts(a) != nil:
		return nil, nil, perdure.WithHint(fmt.Errorf("%s is held: %s", view.Called(a), view.HeldText(trust.Counts(a))),
			"a person looks at it with perdure show, and admits it with perdure resume "+a.ID().Short())
	case len(f.Paused) == 0:
		return nil, nil, perdure.WithHint(fmt.Errorf("%s is not paused", view.Called(a)),
			"see show_agent for what it waits for")
	}
	bind := []string{"resume", a.ID().String()}
	for _, p := range f.Paused {
		bind = append(bind, p.String())
	}
	idle, _ := perdure.Plan(a, perdure.Capabilities{All: true, Trust: trust}, time.Now()).(perdure.Idle)
	reply, asking, err := s.ask(req, &question{
		what: "resume it", command: typed, bind: bind,
		text: fmt.Sprintf("agent %s %s\n%s\ngoal:\n%s", view.Called(a), a.ID(), view.OneLine(view.Why(idle), 0),
			quoted(view.Cut(f.Intent.Goal, maxSaid))),
		fields: map[string]any{
			"decision": choice("Let it go on?", "resume", "leave it paused"),
			"note":     words("Why (may be empty)"),
		},
		need: []string{"decision"},
	})
	if reply == nil {
		return asking, nil, err
	}
	if reply["decision"] != "resume" {
		return nil, nil, errors.New("the person leaves it paused; nothing was changed")
	}
	note, _ := reply["note"].(string)
	out, err := toldOf(s.Desk.Resume(asShown(ctx, a), v, a.ID().String(), note))
	return nil, out, err
}
