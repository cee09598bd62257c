package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

// Named is the agent that a request is about.
type Named struct {
	Agent string `path:"agent" maxLength:"200" doc:"its name, or 4 or more digits of its id"`
}

// Pointed is an agent at a point in its memory.
type Pointed struct {
	Named
	At string `query:"at" maxLength:"80" doc:"a seq, a hash, a time or how long ago; default now"`
}

func (a *Pointed) point() string {
	if a.At == "" {
		return a.Agent
	}
	return a.Agent + "@" + a.At
}

// reply is an answer that is not about heads.
type reply[T any] struct {
	Body plain[T]
}

// tagged is an answer about an agent, with the ETag of its heads.
type tagged[T any] struct {
	ETag string `header:"ETag" doc:"names the heads of the agent, for If-Match"`
	Body plain[T]
}

func replied[T any](v any, err error) (*reply[T], error) {
	if err != nil {
		return nil, err
	}
	return &reply[T]{plain[T]{v}}, nil
}

// reads adds what only looks.
func (s *Server) reads() {
	operation(s, get("/v1/agents", "list-agents", "agents", "List agents"), home.VerbRead, s.list)
	show := get("/v1/agents/{agent}", "show-agent", "agents", "Show an agent")
	show.Responses = map[string]*huma.Response{"304": {Description: "Nothing has happened to the agent since."}}
	operation(s, show, home.VerbRead, s.show)
	operation(s, s.costly(get("/v1/agents/{agent}/page", "show-page", "agents", "Show an agent as rows for people")),
		home.VerbRead, s.page)
	operation(s, s.costly(get("/v1/agents/{agent}/state", "show-state", "agents",
		"Show everything derived from an agent's memory")), home.VerbRead, s.state)
	operation(s, s.costly(get("/v1/agents/{agent}/diff", "diff-agent", "agents", "Compare two points of memory")),
		home.VerbRead, s.diff)
	operation(s, s.costly(get("/v1/agents/{agent}/entries", "list-entries", "agents",
		"List entries of an agent's memory")), home.VerbRead, s.entries)
	operation(s, s.costly(get("/v1/agents/{agent}/transcript", "show-transcript", "agents",
		"Show the conversation: who said what, calls, results, decisions")), home.VerbRead, s.transcript)
	operation(
		s,
		get("/v1/agents/{agent}/waits", "list-agent-waits", "agents", "List what of an agent waits for a person"),
		home.VerbRead,
		s.agentWaits,
	)
	operation(s, get("/v1/waits", "list-waits", "agents", "List what waits for a person, of all agents"),
		home.VerbRead, s.waits)
	verify := post("/v1/agents/{agent}/verify", "verify-agent", "agents",
		"Verify every link, hash and signature of an agent's memory")
	verify.Middlewares = append(verify.Middlewares, withRequest)
	operation(s, s.costly(verify), home.VerbRead, s.verify)
	operation(s, s.costly(post("/v1/agents/{agent}/explain", "explain-policy", "agents",
		"Explain what policy says, or said, of an action")), home.VerbRead, s.explain)
	operation(
		s,
		get("/v1/tools", "list-tools", "server", "List the tools of the node, and whether an agent may call them"),
		home.VerbRead,
		s.tools,
	)
}

type listIn struct {
	Name    string   `query:"name" maxLength:"200" doc:"only those of this name; * and ? are wildcards"`
	Kind    string   `query:"kind" maxLength:"200"`
	Scope   string   `query:"scope" maxLength:"200" doc:"only those in this scope or below"`
	State   []string `query:"state,explode" maxItems:"10" doc:"only those in one of these states"`
	Label   []string `query:"label,explode" maxItems:"50" doc:"only those with this label, name=value"`
	Since   string   `query:"since" maxLength:"80" doc:"only those with an entry since this time, or within this duration"`
	Waiting bool     `query:"waiting" doc:"only those that wait for a person"`
	Limit   int      `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	Cursor  string   `query:"cursor" maxLength:"1000" doc:"next of the answer before"`
}

func (in *listIn) filter(now time.Time) (perdure.Filter, error) {
	x := home.Selection{Name: in.Name, Kind: in.Kind, Scope: in.Scope, States: in.State, Since: in.Since,
		Waiting: in.Waiting}
	for _, text := range in.Label {
		name, value, ok := strings.Cut(text, "=")
		if !ok {
			return perdure.Filter{}, fmt.Errorf("label %q: want name=value", text)
		}
		if x.Labels == nil {
			x.Labels = map[string]string{}
		}
		x.Labels[name] = value
	}
	return x.Filter(now)
}

func (s *Server) list(ctx context.Context, v *home.Visitor, in *listIn) (*reply[client.List], error) {
	f, err := in.filter(time.Now())
	if err != nil {
		return nil, perdure.Invalid(err)
	}
	lines, next, err := s.Desk.List(ctx, v, f, in.Cursor, in.Limit)
	if err != nil {
		return nil, err
	}
	type line struct {
		home.Listed
		Wrong string `json:"wrong,omitempty"`
	}
	out := struct {
		Agents []line `json:"agents"`
		Next   string `json:"next,omitempty"`
	}{[]line{}, next}
	for i := range lines {
		out.Agents = append(out.Agents, line{Listed: lines[i], Wrong: lines[i].WrongText()})
	}
	return replied[client.List](out, nil)
}

type showIn struct {
	Pointed
	Have string `header:"If-None-Match" doc:"the ETag you have: 304 if nothing has changed"`
}

// summary is an agent on one screen, and its ETag.
func (s *Server) summary(
	ctx context.Context,
	v *home.Visitor,
	in *Pointed,
) (sum view.Summary, now time.Time, tag string, err error) {
	p, err := s.Desk.Point(ctx, v, in.point())
	if err != nil {
		return sum, now, "", err
	}
	sum, now, err = s.Desk.Summary(ctx, v, p)
	return sum, now, etag(p.Agent.Heads()), err
}

func (s *Server) show(ctx context.Context, v *home.Visitor, in *showIn) (*tagged[client.Agent], error) {
	if in.Have != "" && in.At == "" {
		id, err := s.Desk.Find(ctx, v, in.Agent)
		if err != nil {
			return nil, err
		}
		heads, err := s.Desk.Store.Heads(ctx, id)
		if err == nil && notModified(in.Have, etag(heads)) {
			return nil, huma.Status304NotModified()
		}
	}
	if in.At != "" { // the memory is read to that point, as for a page
		free, err := s.places.take(ctx)
		if err != nil {
			return nil, err
		}
		defer free()
	}
	sum, now, tag, err := s.summary(ctx, v, &in.Pointed)
	if err != nil {
		return nil, err
	}
	return &tagged[client.Agent]{ETag: tag, Body: plain[client.Agent]{shown{sum, waitsOf(sum.Waits, now)}}}, nil
}

// shown is a summary whose waits are whole.
type shown struct {
	view.Summary
	Waits []wait `json:"waits"`
}

func (s *Server) page(ctx context.Context, v *home.Visitor, in *struct {
	Pointed
	Brief bool `query:"brief" doc:"cut lines to fit"`
}) (*tagged[client.Page], error) {
	sum, now, tag, err := s.summary(ctx, v, &in.Pointed)
	if err != nil {
		return nil, err
	}
	return &tagged[client.Page]{
		ETag: tag,
		Body: plain[client.Page]{client.Page{Rows: rows(sum.Page(now, in.Brief))}},
	}, nil
}

func rows(of []view.PageRow) []client.PageRow {
	out := make([]client.PageRow, 0, len(of))
	for _, r := range of {
		out = append(out, client.PageRow{Label: r.Label, Text: r.Text, Do: r.Do})
	}
	return out
}

func (s *Server) state(ctx context.Context, v *home.Visitor, in *Pointed) (*tagged[client.State], error) {
	p, err := s.Desk.Point(ctx, v, in.point())
	if err != nil {
		return nil, err
	}
	return &tagged[client.State]{ETag: etag(p.Agent.Heads()), Body: plain[client.State]{p.Agent.Fold()}}, nil
}

func (s *Server) diff(ctx context.Context, v *home.Visitor, in *struct {
	Named
	From string `query:"from" maxLength:"80" doc:"a point in its memory; default now"`
	To   string `query:"to" maxLength:"80" doc:"another one; default now"`
	With string `query:"with" maxLength:"200" doc:"another agent to compare with; default the same"`
}) (*reply[client.Diff], error) {
	from, err := s.Desk.Point(ctx, v, (&Pointed{Named{in.Agent}, in.From}).point())
	if err != nil {
		return nil, err
	}
	other := Pointed{Named: Named{in.Agent}, At: in.To}
	if in.With != "" {
		other.Agent = in.With
	}
	to, err := s.Desk.Point(ctx, v, other.point())
	if err != nil {
		return nil, err
	}
	return replied[client.Diff](home.DiffOf(from, to), nil)
}

type entriesIn struct {
	Named
	After string   `query:"after" maxLength:"100" doc:"the cursor of an entry: only what arrived after it"`
	Last  int      `query:"last" minimum:"0" maximum:"1000" doc:"only the last so many, instead of from the beginning"`
	Limit int      `query:"limit" minimum:"1" maximum:"1000" default:"100"`
	Kind  []string `query:"kind,explode" maxItems:"6" doc:"only entries of these kinds"`
	Tool  string   `query:"tool" maxLength:"200"`
	Sig   []string `query:"signal,explode" maxItems:"10" doc:"only outcomes with these signals"`
}

// choice is which lines are asked for.
func choice(kinds, signals []string, tool string) (c view.Choice, err error) {
	for _, word := range kinds {
		k, err := view.ParseName[perdure.Kind]("kind", word)
		if err != nil {
			return c, perdure.Invalid(err)
		}
		c.Kinds = append(c.Kinds, k)
	}
	for _, word := range signals {
		g, err := view.ParseName[perdure.Signal]("signal", word)
		if err != nil {
			return c, perdure.Invalid(err)
		}
		c.Signals = append(c.Signals, g)
	}
	c.Tool = tool
	return c, nil
}

// line is a line with its position.
type line struct {
	Cursor string `json:"cursor,omitempty"`
	view.Line
}

func (s *Server) entries(ctx context.Context, v *home.Visitor, in *entriesIn) (*reply[client.Lines], error) {
	c, err := choice(in.Kind, in.Sig, in.Tool)
	if err != nil {
		return nil, err
	}
	id, err := s.Desk.Find(ctx, v, in.Agent)
	if err != nil {
		return nil, err
	}
	feed, err := s.feed(ctx)
	if err != nil {
		return nil, err
	}
	notes := sync.OnceValue(func() bool { return s.Desk.ShowsNotes(ctx, v, id) })
	fits := func(l view.Line) bool { return c.Fits(l) && (!l.IsDocument() || notes()) }
	var out lines
	if in.Last > 0 {
		err = out.recent(ctx, s.Desk, id, feed, in.Last, fits)
	} else {
		err = out.after(ctx, s.Desk, id, feed, in, fits)
	}
	return replied[client.Lines](out, err)
}

// feed is the order of arrival that positions are of.
func (s *Server) feed(ctx context.Context) (perdure.Hash, error) {
	f, ok := s.Desk.Store.(perdure.Feeder)
	if !ok {
		return perdure.Hash{}, nil
	}
	feed, _, err := f.FeedEnd(ctx)
	return feed, err
}

// maxPage is how many bytes of bodies a page has at most, unless one entry alone has more.
const maxPage = 4 << 20

// lines is a part of a memory, as it is answered with.
type lines struct {
	Entries  []line `json:"entries"`
	Next     string `json:"next,omitempty"`
	Position string `json:"position"`
	Before   bool   `json:"before,omitempty"`
}

// recent reads the last lines.
func (l *lines) recent(ctx context.Context, d *home.Desk, id perdure.AgentID, feed perdure.Hash, last int,
	fits func(view.Line) bool) error {
	w, found, err := view.FollowRecent(ctx, d.Store, id, last+1, view.Fitting(fits))
	if err != nil {
		return err
	}
	if len(found) > last {
		found, l.Before = found[len(found)-last:], true
	}
	size := int64(0)
	for i := len(found) - 1; i >= 0; i-- {
		if size += found[i].Size; size > maxPage && i < len(found)-1 {
			found, l.Before = found[i+1:], true
			break
		}
	}
	l.Entries = []line{}
	voices := d.Voices(ctx, id)
	for _, one := range found {
		one.Call(voices)
		l.Entries = append(l.Entries, line{Line: one})
	}
	l.Position = position(feed, w.Place())
	return nil
}

// after reads a page of lines behind a position.
func (l *lines) after(ctx context.Context, d *home.Desk, id perdure.AgentID, feed perdure.Hash, in *entriesIn,
	fits func(view.Line) bool) error {
	w := view.Follow(d.Store, id)
	if in.After != "" {
		at, mark, ours, err := parsePosition(in.After, feed, true)
		if err == nil && ours {
			w, err = view.FollowMarked(ctx, d.Store, id, at, mark)
		}
		if err == nil && !ours || errors.Is(err, view.ErrReordered) {
			err = perdure.WithHint(perdure.Missing(
				"after: the store was restored or rebuilt, or this memory written anew, since this position"),
				"begin without one")
		}
		if err != nil {
			return err
		}
	}
	l.Entries, l.Position = []line{}, position(feed, w.Place())
	enough, voices := errors.New("enough"), d.Voices(ctx, id)
	size := int64(0)
	err := w.Next(ctx, func(one view.Line) error {
		if len(l.Entries) == in.Limit || len(l.Entries) > 0 && size+one.Size > maxPage {
			l.Next = l.Position
			return enough
		}
		if l.Position = position(feed, w.Place()); fits(one) {
			one.Call(voices)
			l.Entries = append(l.Entries, line{l.Position, one})
			size += one.Size
		}
		return nil
	})
	if errors.Is(err, enough) {
		return nil
	}
	return err
}

func (s *Server) transcript(ctx context.Context, v *home.Visitor, in *struct {
	Pointed
	Last int `query:"last" minimum:"1" maximum:"1000" default:"100" doc:"of so many entries"`
}) (*reply[client.Transcript], error) {
	p, err := s.Desk.Point(ctx, v, in.point())
	if err != nil {
		return nil, err
	}
	lines, more, err := view.LinesAt(ctx, s.Desk.Store, p.Agent, p.Entry, in.Last)
	if err != nil {
		return nil, err
	}
	out := struct {
		Said   []view.Said `json:"said"`
		Before bool        `json:"before,omitempty"`
	}{[]view.Said{}, more}
	t := view.Transcriber{Voices: s.Desk.Home.VoicesIn(p.Agent)}
	for _, one := range lines {
		if said, ok := t.Said(one); ok {
			out.Said = append(out.Said, said)
		}
	}
	return replied[client.Transcript](out, nil)
}

// wait is something that waits for a person, with what they must see.
type wait struct {
	view.Wait
	Head  string       `json:"head,omitempty"`
	Sheet []client.Row `json:"sheet,omitempty"`
}

func waitsOf(found []view.Wait, now time.Time) []wait {
	out := make([]wait, 0, len(found))
	for i := range found {
		out = append(out, *waitOf(&found[i], now))
	}
	return out
}

func waitOf(w *view.Wait, now time.Time) *wait {
	if w == nil {
		return nil
	}
	one := &wait{Wait: *w, Head: w.Head()}
	for _, r := range w.Sheet(now) {
		one.Sheet = append(one.Sheet, client.Row{Label: r.Label, Text: r.Text})
	}
	return one
}

// waiting is what waits, as it is answered with.
type waiting struct {
	Waits  []wait `json:"waits"`
	Faults string `json:"faults,omitempty"`
	Next   string `json:"next,omitempty"`
}

func (s *Server) agentWaits(ctx context.Context, v *home.Visitor, in *Named) (*reply[client.Waits], error) {
	sum, now, _, err := s.summary(ctx, v, &Pointed{Named: *in})
	return replied[client.Waits](waiting{Waits: waitsOf(sum.Waits, now)}, err)
}

func (s *Server) waits(ctx context.Context, v *home.Visitor, in *struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"of how many agents"`
	Cursor string `query:"cursor" maxLength:"1000" doc:"next of the answer before"`
}) (*reply[client.Waits], error) {
	now := time.Now()
	found, next, faults, err := s.Desk.InboxPage(ctx, v, in.Cursor, in.Limit, now)
	out := waiting{Waits: waitsOf(found, now), Next: next}
	if faults != nil {
		out.Faults = faults.Error()
	}
	return replied[client.Waits](out, err)
}

func (s *Server) verify(ctx context.Context, v *home.Visitor, in *Named) (*reply[client.Verified], error) {
	if x, ok := ctx.Value(requestKey{}).(raw); ok {
		defer s.answering(x.w)
	}
	id, err := s.Desk.Find(ctx, v, in.Agent)
	if err != nil {
		return nil, err
	}
	r, err := s.Desk.Home.VerifyStored(ctx, s.Desk.Store, id, home.Verification{})
	if err != nil {
		return nil, err
	}
	return replied[client.Verified](struct {
		*home.Checked
		Rows []client.PageRow `json:"rows"`
	}{r, rows(r.Page())}, nil)
}

func (s *Server) explain(ctx context.Context, v *home.Visitor, in *struct {
	Pointed
	Body client.Why
}) (*reply[client.Explained], error) {
	q := home.WhyQuestion{
		Decision:  in.Body.Decision,
		Tool:      in.Body.Tool,
		Approvals: in.Body.Approvals,
		Admit:     in.Body.Admit,
		Trusted:   in.Body.Trusted,
		Set:       in.Body.Set,
	}
	var err error
	if q.Args, err = dataOf(in.Body.Args); err != nil {
		return nil, err
	}
	if in.Body.Effect != "" {
		if q.Effect, err = view.ParseName[perdure.Effect]("effect", in.Body.Effect); err != nil {
			return nil, perdure.Invalid(err)
		}
	}
	out, err := s.Desk.Explain(ctx, v, in.point(), q)
	if err != nil {
		return nil, err
	}
	return replied[client.Explained](struct {
		*home.Explained
		Rows [][]string `json:"rows"`
	}{out, out.Page()}, nil)
}

func (s *Server) tools(ctx context.Context, v *home.Visitor, in *struct {
	Agent string `query:"agent" maxLength:"200" doc:"the agent that would call them; default: one such as would be created"`
}) (*reply[client.Tools], error) {
	var a *perdure.Agent
	var err error
	if in.Agent != "" {
		a, err = s.Desk.Agent(ctx, v, in.Agent)
	} else {
		a, err = s.Desk.Home.Newcomer(ctx)
	}
	if err != nil {
		return nil, err
	}
	out := struct {
		Tools []home.ToolUse `json:"tools"`
	}{[]home.ToolUse{}}
	if s.Tools != nil {
		if out.Tools, err = s.Tools(ctx, a); err != nil {
			return nil, err
		}
	}
	return replied[client.Tools](out, nil)
}
