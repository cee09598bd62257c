package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/view"
)

const (
	// page is how many agents are listed at once, and maxPage the most.
	page, maxPage = 50, 200
	// maxLines is how many lines of a log or a transcript are read: the last.
	maxLines = 500
)

// scheme is that of the resources.
const scheme = "agent://"

// parts are what there is of every agent.
var parts = []struct{ name, title, mime, description string }{
	{"log", "log", "text/plain",
		"the entries of its memory, one line each, oldest first; ?at= is a seq, a hash, a time or how long ago"},
	{"state", "state", "application/json",
		"its whole state, derived from its memory; ?at= is a seq, a hash, a time or how long ago"},
	{"transcript", "transcript", "text/plain",
		"the conversation: what people and models said, calls and results, decisions and answers"},
}

func (s *Server) addResources() {
	for _, p := range parts {
		template := scheme + "{id}/" + p.name
		if p.name != "transcript" {
			template += "{?at}"
		}
		s.server.AddResourceTemplate(&sdk.ResourceTemplate{Name: "agent " + p.title, Title: "An agent's " + p.title,
			MIMEType:    p.mime,
			URITemplate: template, Description: "Of an agent, by its id or name: " + p.description + "."}, s.read)
	}
}

// read is what a resource holds.
func (s *Server) read(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	arg, part, ok := parseURI(uri)
	if !ok {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	p, err := s.point(ctx, arg)
	if errors.Is(err, perdure.ErrNotFound) {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	var text string
	if err == nil {
		text, err = s.text(ctx, p, part)
	}
	if err != nil {
		return nil, s.refused(err)
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, Text: text}}}, nil
}

// refused is an error for a request that is no call of a tool.
func (s *Server) refused(err error) error {
	code := int64(jsonrpc.CodeInternalError)
	if errors.Is(err, perdure.ErrInvalid) || errors.Is(err, perdure.ErrNotFound) {
		code = jsonrpc.CodeInvalidParams
	}
	return &jsonrpc.Error{Code: code, Message: view.Cut(view.InText(s.problem(err).Error()), maxProblem)}
}

// parseURI is the agent, as AGENT or AGENT@REF, and the part that a URI names.
func parseURI(uri string) (arg, part string, ok bool) {
	rest, ok := strings.CutPrefix(uri, scheme)
	rest, query, _ := strings.Cut(rest, "?")
	name, part, found := strings.Cut(rest, "/")
	name, err := url.PathUnescape(name)
	values, bad := url.ParseQuery(query)
	if !ok || !found || err != nil || bad != nil || name == "" {
		return "", "", false
	}
	if at := values.Get("at"); at != "" {
		name += "@" + at
	}
	return name, part, true
}

// text is a part of an agent.
func (s *Server) text(ctx context.Context, p *home.Point, part string) (string, error) {
	switch part {
	case "state":
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(view.Readable(p.Agent.Fold())); err != nil {
			return "", err
		}
		return string(view.EscapeJSON(b.Bytes())), nil
	case "transcript":
		said, more, err := s.lines(ctx, p, maxLines)
		return cutHead(more) + transcript(said), err
	}
	lines, more, err := view.LinesAt(ctx, s.Store, p.Agent, p.Entry, maxLines)
	voices := s.Home.VoicesIn(p.Agent)
	var b strings.Builder
	b.WriteString(cutHead(more))
	for i := range lines {
		l := &lines[i]
		if l.IsDocument() {
			continue // who may read it is another question: see document_read
		}
		l.Call(voices)
		fmt.Fprintf(&b, "%d %s %s", l.Seq, l.Time, l.Kind)
		if l.Signal != 0 {
			fmt.Fprintf(&b, " %s", l.Signal)
		}
		fmt.Fprintf(&b, " %s\n", l.Said())
	}
	return b.String(), err
}

// cutHead says that there is more before the first line.
func cutHead(more bool) string {
	if !more {
		return ""
	}
	return fmt.Sprintf("(only the last %d lines)\n", maxLines)
}

// lines is the end of the conversation with an agent, and whether there is more before it.
func (s *Server) lines(ctx context.Context, p *home.Point, last int) (all []view.Said, more bool, err error) {
	lines, _, err := view.LinesAt(ctx, s.Store, p.Agent, p.Entry, maxLines)
	heard := view.Transcriber{Voices: s.Home.VoicesIn(p.Agent)}
	for _, l := range lines {
		if said, ok := heard.Said(l); ok {
			all = append(all, said)
		}
	}
	if more = len(lines) == maxLines; len(all) > last {
		all, more = all[len(all)-last:], true
	}
	return all, more, err
}

// saidHead is what somebody does in a conversation, and how that ended if not well.
func saidHead(s *view.Said) string {
	if s.Signal != 0 && s.Signal != perdure.OK {
		return s.What + " " + s.Signal.String()
	}
	return s.What
}

// transcript is a conversation as text. Each thing begins on a line of its own; its further lines are indented, so that
// none can pass for a beginning.
func transcript(of []view.Said) string {
	var b strings.Builder
	for i := range of {
		text := strings.ReplaceAll(strings.TrimSpace(view.InText(of[i].Text)), "\n", "\n  ")
		b.WriteString(strings.TrimRight(fmt.Sprintf("%d %s %s: %s", of[i].Seq, view.InLine(of[i].Who), saidHead(&of[i]),
			text), ": ") + "\n")
	}
	return b.String()
}

// listing answers what resources there are from the store: agents come and go.
func (s *Server) listing(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if method != "resources/list" {
			return next(ctx, method, req)
		}
		cursor := ""
		if p, ok := req.GetParams().(*sdk.ListResourcesParams); ok && p != nil {
			cursor = p.Cursor
		}
		found, after, err := home.Page(ctx, s.Store, perdure.Filter{}, cursor, page, s.hidden(ctx))
		if err != nil {
			return nil, s.refused(err)
		}
		res, err := next(ctx, method, listAgain(req))
		list, ok := res.(*sdk.ListResourcesResult)
		if !ok || err != nil {
			return res, err
		}
		list.Resources, list.NextCursor = []*sdk.Resource{}, after
		for _, one := range found {
			name := view.InLine(one.Name)
			for _, p := range parts {
				list.Resources = append(list.Resources, &sdk.Resource{URI: scheme + one.Agent.String() + "/" + p.name,
					Name: strings.TrimSpace(name + " " + p.title), MIMEType: p.mime})
			}
		}
		return list, nil
	}
}

// listAgain is the request from its beginning: the cursor is ours.
func listAgain(req sdk.Request) sdk.Request {
	if r, ok := req.(*sdk.ListResourcesRequest); ok && r.Params != nil {
		fresh := *r
		params := *r.Params
		params.Cursor = ""
		fresh.Params = &params
		return &fresh
	}
	return req
}
