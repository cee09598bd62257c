package mcp

import (
	"context"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/phase"
	"github.com/perdure/perdure/view"
)

type showIn struct {
	Agent string `json:"agent" jsonschema:"its name or the beginning of its id; NAME@12 or NAME@10m is the agent at that entry, or that long ago"`
	Wait  int    `json:"wait,omitempty" jsonschema:"let it work for up to so many seconds, until it rests; at most 50"`
	Last  int    `json:"last,omitempty" jsonschema:"how many of the last things said and done to include, up to 100; default 10"`
}

type showOut struct {
	Agent    string         `json:"agent" jsonschema:"its id"`
	Name     string         `json:"name,omitempty"`
	Goal     string         `json:"goal"`
	Standing phase.Standing `json:"standing" jsonschema:"ready, running, dormant, waiting (for a person), handed over, older or terminated"`
	Why      string         `json:"why,omitempty" jsonschema:"why it rests"`
	Next     string         `json:"next" jsonschema:"what a node would do next"`
	Due      string         `json:"due,omitempty" jsonschema:"when it is looked at next"`
	Needs    string         `json:"needs,omitempty" jsonschema:"what a node must have to go on with it"`
	Lacks    string         `json:"lacks,omitempty" jsonschema:"what keeps the node here from going on with it"`
	Ended    *endedOut      `json:"ended,omitempty"`
	Waits    []waitOut      `json:"waits" jsonschema:"what only a person can answer"`
	Children []childOut     `json:"children,omitempty"`
	Spent    string         `json:"spent"`
	Owner    string         `json:"owner"`
	Scope    string         `json:"scope"`
	Entries  int64          `json:"entries" jsonschema:"how long its memory is"`
	Updated  string         `json:"updated"`
	Recent   []recentOut    `json:"recent" jsonschema:"the last things said and done, oldest first"`
}

type endedOut struct {
	Signal string `json:"signal" jsonschema:"ok, or how it failed"`
	Note   string `json:"note,omitempty"`
	Result string `json:"result,omitempty" jsonschema:"its text, or JSON"`
}

type childOut struct {
	Agent string `json:"agent"`
	Name  string `json:"name,omitempty"`
	Ended bool   `json:"ended"`
}

type recentOut struct {
	Seq  int64  `json:"seq" jsonschema:"the entry; NAME@SEQ is the agent at it"`
	Time string `json:"time"`
	Who  string `json:"who"`
	What string `json:"what"`
	Text string `json:"text,omitempty"`
}

const (
	// maxWait is how long show_agent waits, in seconds: clients give up on a call after a minute.
	maxWait = 50
	// maxRecent is how many of the last things said and done are included, and usualRecent if nobody says.
	maxRecent, usualRecent = 100, 10
	// maxSaid is how much of each of them is.
	maxSaid = 2000
)

func (s *Server) show(ctx context.Context, req *sdk.CallToolRequest, in showIn) (*sdk.CallToolResult, *showOut, error) {
	if in.Wait < 0 || in.Wait > maxWait || in.Last < 0 || in.Last > maxRecent {
		return nil, nil, perdure.Invalid(fmt.Errorf("want wait from 0 to %d seconds, and last from 0 to %d", maxWait,
			maxRecent))
	}
	if in.Last == 0 {
		in.Last = usualRecent
	}
	if in.Wait > 0 {
		a, err := s.find(ctx, in.Agent)
		if err != nil {
			return nil, nil, err
		}
		err = view.AwaitRest(ctx, s.Store, time.Duration(in.Wait)*time.Second,
			func(ctx context.Context) (phase.Standing, error) {
				_, standing, err := s.standing(ctx, a.ID())
				return standing, err
			})
		if err != nil {
			return nil, nil, err
		}
	}
	p, err := s.point(ctx, in.Agent)
	if err != nil {
		return nil, nil, err
	}
	v, now, err := s.summary(ctx, req.Extra, p)
	if err != nil {
		return nil, nil, err
	}
	out := s.shown(&v, now)
	lines, _, err := s.lines(ctx, p, in.Last)
	for _, one := range lines {
		out.Recent = append(out.Recent, recentOut{one.Seq, one.Time.String(), one.Who, saidHead(&one),
			view.Cut(one.Text, maxSaid)})
	}
	return nil, out, err
}

// summary is an agent on one screen, for whom a request is of.
func (s *Server) summary(ctx context.Context, x *sdk.RequestExtra, p *home.Point) (sum view.Summary, now time.Time,
	err error) {
	v, err := s.visitor(x)
	if err != nil {
		return sum, now, err
	}
	return s.Desk.Summary(ctx, v, p)
}

// shown is a summary for a client.
func (s *Server) shown(v *view.Summary, now time.Time) *showOut {
	out := &showOut{Agent: v.Agent.String(), Name: v.Name, Goal: v.Intent.Goal, Standing: v.Standing,
		Why: v.WhyText(now), Next: v.Next,
		Needs: v.Needs, Waits: s.waitsOf(v.Waits, now), Spent: v.SpentText(), Owner: v.Owner, Scope: v.Charter.Scope,
		Entries: v.Entries, Updated: v.Updated.String(), Recent: []recentOut{}}
	if v.Due != 0 {
		out.Due = v.Due.String()
	}
	if v.Ended != nil {
		out.Ended = &endedOut{Signal: v.Ended.Signal.String(), Note: v.Ended.Note,
			Result: view.AnswerText(v.Ended.Result)}
	}
	for _, c := range v.Cannot {
		if c.Node == s.Node.Key.Key() && v.Ended == nil {
			out.Lacks = c.Note
			if c.What == phase.Advisor("") {
				out.Lacks = s.typed(view.AddAdvisor(home.NodeFileName))
			}
		}
	}
	for i := range min(len(v.Children), view.MaxChildren) {
		c := &v.Children[i]
		out.Children = append(out.Children, childOut{c.Agent.String(), c.Name, c.Ended})
	}
	return out
}

// standing is an agent, and how people see it.
func (s *Server) standing(ctx context.Context, id perdure.AgentID) (*perdure.Agent, phase.Standing, error) {
	a, err := s.Desk.Load(ctx, id)
	if err != nil {
		return nil, "", err
	}
	is, err := s.Desk.Home.Standing(ctx, s.Desk.Store, a, time.Now())
	return a, is, err
}
