package mcp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/view"
)

// hints say what a tool does to the world.
type hints struct {
	reads     bool // it changes nothing
	destroys  bool // what it does cannot be taken back
	repeats   bool // doing it again changes nothing more
	openWorld bool // what comes of it reaches beyond the store
}

func (h hints) annotations(title string) *sdk.ToolAnnotations {
	return &sdk.ToolAnnotations{Title: title, ReadOnlyHint: h.reads, DestructiveHint: &h.destroys,
		IdempotentHint: h.repeats,
		OpenWorldHint:  &h.openWorld}
}

// add adds a tool. What do returns is made plain, and its error is said in the words of the command line.
func add[In, Out any](
	s *Server, name, title, description string, h hints,
	do func(context.Context, *sdk.CallToolRequest, In) (*sdk.CallToolResult, *Out, error),
) {
	t := &sdk.Tool{Name: name, Title: title, Description: description, Annotations: h.annotations(title),
		OutputSchema: schemaOf[Out]()}
	in := schemaOf[In]()
	t.InputSchema, s.takes[name] = in, slices.Sorted(maps.Keys(in.Properties))
	sdk.AddTool(s.server, t, func(ctx context.Context, req *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out,
		error) {
		res, out, err := do(home.WithNotes(ctx), req, in)
		if err != nil || out == nil {
			var none Out
			if err != nil {
				err = s.problem(err)
			}
			return res, none, err
		}
		tidy(out)
		return res, *out, nil
	})
}

// addTools adds every tool. Clients list them by name.
func (s *Server) addTools() {
	look := hints{reads: true, repeats: true}
	add(s, "start_agent", "Start an agent",
		"Create an agent that works on a goal by itself and keeps its state through restarts. Returns its name and "+
			"id at once;"+
			" follow it with show_agent. Use it for work that takes long, waits for something, or needs approvals.",
		hints{openWorld: true}, s.start)
	add(s, "list_agents", "List agents",
		"List agents by name, with where each stands: ready, running, dormant, waiting (for a person) or terminated.",
		look, s.list)
	add(s, "show_agent", "Show an agent",
		"Show one agent: goal, standing and why, result if it ended, what it waits for, spending, children and the "+
			"last things"+
			" said and done. With wait it first lets the agent work until it rests.", look, s.show)
	add(s, "list_waits", "List what waits for a person",
		"List what only a person can answer, of one agent or all: approvals with the exact action and digest, "+
			"questions, effects"+
			" in doubt, pauses, used-up budgets; each with the tool or command that answers it. Of many agents it"+
			" lists a page: with next, ask for the rest.", look, s.waits)
	add(s, "tell_agent", "Tell an agent something",
		"Send an agent a message (text for its advisor) or a named event with data, which may wake it. It cannot "+
			"answer what"+
			" an agent asks a person: use answer for that. The same id twice counts once.", hints{openWorld: true},
		s.tell)
	add(s, "pause_agent", "Pause an agent",
		"Keep an agent from deciding anything until it is resumed. A call under way is cut off where its tool can "+
			"stop.",
		hints{repeats: true}, s.pause)
	add(s, "end_agent", "End an agent",
		"End an agent for good. Its memory stays readable, but it never runs again. To stop it for a while, use "+
			"pause_agent.",
		hints{destroys: true}, s.end)
	s.addPersonal()
}

type startIn struct {
	Goal     string            `json:"goal" jsonschema:"what the agent is to achieve, with everything it must know"`
	Name     string            `json:"name,omitempty" jsonschema:"what to call it; default: the first words of the goal"`
	Inputs   object            `json:"inputs,omitempty" jsonschema:"data it works on"`
	Advisor  string            `json:"advisor,omitempty" jsonschema:"the advisor that proposes what it does, by its name in node.yaml; default: the one for agents that name none"`
	Tools    []string          `json:"tools,omitempty" jsonschema:"the only tools it may use; default: whatever policy permits"`
	Kind     string            `json:"kind,omitempty" jsonschema:"what kind of agent it is; chat: it answers messages until it is ended"`
	Scope    string            `json:"scope,omitempty" jsonschema:"where it belongs, a path such as acme/ops; default: your own, and no other for a role"`
	Labels   map[string]string `json:"labels,omitempty" jsonschema:"labels to find it by"`
	Budget   *budgetIn         `json:"budget,omitempty" jsonschema:"the most it may spend"`
	Deadline string            `json:"deadline,omitempty" jsonschema:"when it must have ended: a time, or a duration from now such as 24h"`
}

type budgetIn struct {
	Cost   string `json:"cost,omitempty" jsonschema:"US dollars, such as 1.50"`
	Tokens *int64 `json:"tokens,omitempty" jsonschema:"model tokens"`
	Calls  *int64 `json:"calls,omitempty" jsonschema:"tool calls"`
}

type startOut struct {
	Agent string   `json:"agent" jsonschema:"its id"`
	Name  string   `json:"name" jsonschema:"its name"`
	Next  string   `json:"next" jsonschema:"what happens now"`
	Notes []string `json:"notes,omitempty" jsonschema:"what else to know, such as that another agent has the name"`
}

func (s *Server) start(ctx context.Context, req *sdk.CallToolRequest, in startIn) (*sdk.CallToolResult, *startOut,
	error) {
	scope, err := s.within(ctx, in.Scope)
	if err != nil {
		return nil, nil, err
	}
	f := home.IntentFile{Name: in.Name, Goal: in.Goal, Kind: in.Kind, Inputs: exact(req, "inputs"),
		Deadline: in.Deadline, Advisor: in.Advisor,
		Tools: in.Tools, Labels: in.Labels, Scope: scope}
	if in.Budget != nil {
		f.Budget = home.BudgetFile{Cost: in.Budget.Cost, Tokens: in.Budget.Tokens, Calls: in.Budget.Calls}
	}
	v, err := s.speaker(req)
	if err != nil {
		return nil, nil, err
	}
	a, err := s.Desk.Create(ctx, v, &f)
	if err != nil {
		return nil, nil, err
	}
	next := "it works by itself; see show_agent"
	if s.Running != nil {
		if why := s.Running(); why != nil {
			message, hint := view.Explain(why, "perdure")
			next = strings.TrimSuffix("nothing runs it yet ("+message+"; "+hint, "; ") + "); a person types " +
				"perdure run " + view.Callable(a) + ", or perdure node for every agent"
		}
	}
	next = s.typed(next)
	return nil, &startOut{a.ID().String(), a.Fold().Intent.Name, next, home.NotesIn(ctx)}, nil
}

type listIn struct {
	Name    string     `json:"name,omitempty" jsonschema:"only those with this name; * and ? are wildcards"`
	Scope   string     `json:"scope,omitempty" jsonschema:"only those in this scope or below"`
	Waiting bool       `json:"waiting,omitempty" jsonschema:"only those that wait for a person"`
	Limit   view.Limit `json:"limit,omitempty" jsonschema:"at most so many, up to 200; default 50"`
	Cursor  string     `json:"cursor,omitempty" jsonschema:"next of the answer before, for what comes after it"`
}

type listOut struct {
	Agents []agentLine `json:"agents"`
	Next   string      `json:"next,omitempty" jsonschema:"the cursor for more; absent: these are all"`
}

type agentLine struct {
	Agent    string         `json:"agent" jsonschema:"its id"`
	Name     string         `json:"name,omitempty"`
	Standing phase.Standing `json:"standing" jsonschema:"ready, running, dormant, waiting, handed over, terminated, or what is wrong: damaged, older, gone"`
	Kind     string         `json:"kind,omitempty"`
	Scope    string         `json:"scope"`
	Entries  int64          `json:"entries" jsonschema:"how long its memory is"`
	Updated  string         `json:"updated"`
	Wrong    string         `json:"wrong,omitempty" jsonschema:"what is wrong with it and what to do"`
}

func (s *Server) list(ctx context.Context, _ *sdk.CallToolRequest, in listIn) (*sdk.CallToolResult, *listOut, error) {
	limit, err := pageOf(in.Limit)
	if err != nil {
		return nil, nil, err
	}
	if in.Scope != "" {
		if err := perdure.CheckScope(in.Scope); err != nil {
			return nil, nil, perdure.Invalid(err)
		}
	}
	found, next, err := home.Page(ctx, s.Store,
		perdure.Filter{Name: in.Name, Scope: in.Scope, Waiting: in.Waiting}, in.Cursor, limit, s.hidden(ctx))
	if err != nil {
		return nil, nil, err
	}
	lines, err := s.Home.Check(ctx, s.Store, found, false)
	if err != nil {
		return nil, nil, err
	}
	out := &listOut{Agents: []agentLine{}, Next: next}
	for i := range lines {
		l := &lines[i]
		one := agentLine{Agent: l.Agent.String(), Name: l.Name, Standing: l.Standing, Kind: l.Kind, Scope: l.Scope,
			Entries: l.Entries, Updated: l.Updated.String()}
		if what, fix := l.Wrong(); what != "" {
			one.Wrong = what + "; " + s.typed(fix)
		}
		out.Agents = append(out.Agents, one)
	}
	return nil, out, nil
}

type waitsIn struct {
	Agent  string     `json:"agent,omitempty" jsonschema:"only those of this agent, by its name or the beginning of its id"`
	Limit  view.Limit `json:"limit,omitempty" jsonschema:"of at most so many agents, up to 200; default 50"`
	Cursor string     `json:"cursor,omitempty" jsonschema:"next of the answer before, for what comes after it"`
}

type waitsOut struct {
	Waits   []waitOut `json:"waits"`
	LeftOut string    `json:"left_out,omitempty" jsonschema:"agents that could not be read, and why"`
	Next    string    `json:"next,omitempty" jsonschema:"the cursor for what other agents wait for; absent: this is all"`
}

type waitOut struct {
	Agent   string `json:"agent" jsonschema:"the id of the agent"`
	Name    string `json:"name,omitempty"`
	Kind    string `json:"kind" jsonschema:"approval, question, in-doubt, paused, held, budget, seat, doubled, older or other"`
	What    string `json:"what" jsonschema:"what is asked"`
	Details string `json:"details,omitempty" jsonschema:"the action and the circumstances"`
	Digest  string `json:"digest,omitempty" jsonschema:"what an approval is bound to"`
	Since   string `json:"since,omitempty"`
	Tool    string `json:"tool,omitempty" jsonschema:"the tool that asks the person"`
	Command string `json:"command,omitempty" jsonschema:"what a person types to answer it"`
	Others  string `json:"others,omitempty" jsonschema:"why nobody here can answer it, and who can"`
}

func (s *Server) waits(ctx context.Context, req *sdk.CallToolRequest, in waitsIn) (*sdk.CallToolResult, *waitsOut,
	error) {
	out := &waitsOut{Waits: []waitOut{}}
	now := time.Now()
	limit, err := pageOf(in.Limit)
	if err != nil {
		return nil, nil, err
	}
	if in.Agent != "" {
		p, err := s.point(ctx, in.Agent)
		if err != nil {
			return nil, nil, err
		}
		sum, now, err := s.summary(ctx, req.Extra, p)
		if err != nil {
			return nil, nil, err
		}
		out.Waits = s.waitsOf(sum.Waits, now)
		return nil, out, nil
	}
	v, err := s.visitor(req.Extra)
	if err != nil {
		return nil, nil, err
	}
	out.Next = in.Cursor
	shows := s.shows(ctx)
	for range emptyPages { // a page may have nothing that waits, and who asks wants to know what does
		found, next, faults, err := s.Desk.InboxPage(ctx, v, out.Next, limit, now)
		if err != nil {
			return nil, nil, err
		}
		if faults != nil {
			out.LeftOut = strings.TrimPrefix(out.LeftOut+"\n"+faults.Error(), "\n")
		}
		found = slices.DeleteFunc(found, func(w view.Wait) bool { return !shows(w.Agent) })
		out.Waits, out.Next = s.waitsOf(found, now), next
		if len(found) > 0 || next == "" {
			break
		}
	}
	return nil, out, nil
}

// emptyPages is how many pages of agents one call looks through for something that waits.
const emptyPages = 8

// pageOf is how many a page has, as a client says.
func pageOf(limit view.Limit) (int, error) {
	switch {
	case limit > maxPage:
		return 0, perdure.Invalid(fmt.Errorf("limit %d: want 1 to %d", limit, maxPage))
	case limit == 0:
		return page, nil
	}
	return int(limit), nil
}

// waitsOf is what waits for a person, for a client.
func (s *Server) waitsOf(found []view.Wait, now time.Time) []waitOut {
	out := []waitOut{}
	for i := range found {
		w := &found[i]
		one := waitOut{Agent: w.Agent.String(), Name: w.Name, Kind: w.Kind, What: w.Head(),
			Details: view.Cut(sheet(w, now), maxDetails),
			Command: s.typed(w.Answer), Others: w.Others}
		if w.Since != 0 {
			one.Since = w.Since.String()
		}
		if !w.Digest.IsZero() {
			one.Digest = w.Digest.String()
		}
		if w.Answer != "" {
			one.Tool = map[string]string{view.WaitApproval: "approve", view.WaitQuestion: "answer",
				view.WaitPause: "resume"}[w.Kind]
		}
		out = append(out, one)
	}
	return out
}

// maxDetails is how much of an action a list shows. A person who is asked about it sees all of it.
const maxDetails = 4000

// sheet is what a person answers for, whole, as lines.
func sheet(w *view.Wait, now time.Time) string {
	var lines []string
	for _, r := range w.Sheet(now) {
		for i, text := range r.Text {
			if r.Label != "" && i == 0 {
				text = r.Label + " " + text
			}
			lines = append(lines, text)
		}
	}
	return strings.Join(lines, "\n")
}
