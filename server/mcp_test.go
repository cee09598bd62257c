package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/mcp"
	"github.com/perdure/perdure/server"
)

// bearing sends a token with each request.
type bearing string

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// withMCP mounts MCP.
func withMCP(t *testing.T) *world {
	var w *world
	var m *mcp.Server
	w = newWorld(t, func(s *server.Server) {
		m = &mcp.Server{Home: s.Desk.Home, Store: s.Desk.Store, Node: s.Desk.Node, Desk: s.Desk,
			Visitor: func(_ context.Context, req *sdk.CallToolRequest) (*home.Visitor, error) {
				return s.Visitor(req.Extra.Header)
			}}
		ctx, stop := context.WithCancel(context.Background())
		t.Cleanup(stop)
		s.MCP = m.Handler(ctx)
	})
	return w
}

// calls has a client with a token call a tool, whose person says yes to everything.
func (w *world) calls(token, tool string, args map[string]any) (text string, failed bool) {
	w.t.Helper()
	yes := func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve", "note": "yes"}}, nil
	}
	c := sdk.NewClient(&sdk.Implementation{Name: "tester", Version: "1"}, &sdk.ClientOptions{ElicitationHandler: yes,
		Capabilities: &sdk.ClientCapabilities{
			Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}},
		}})
	to := &sdk.StreamableClientTransport{Endpoint: w.url + "/mcp", HTTPClient: &http.Client{Transport: bearing(token)}}
	s, err := c.Connect(w.t.Context(), to, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	res, err := s.CallTool(w.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error(), true
	}
	var all []string
	for _, part := range res.Content {
		if p, ok := part.(*sdk.TextContent); ok {
			all = append(all, p.Text)
		}
	}
	return strings.Join(all, "\n"), res.IsError
}

func TestThePersonOfATokenDecidesThroughMCPWithTheirOwnKey(t *testing.T) {
	w := withMCP(t)
	_, ana := w.person("ana")
	text, _, err := w.home.MakeToken(
		home.NewToken{Name: "ana", Verbs: []string{home.VerbMCP, home.VerbApprove}, Person: ana},
	)
	if err != nil {
		t.Fatal(err)
	}
	id, digest := w.asking()
	args := map[string]any{"agent": id.String(), "digest": digest.String()}
	if said, failed := w.calls(w.token("", home.Verbs...), "approve", args); !failed ||
		!strings.Contains(said, "unlocks none") {
		t.Errorf("a program's person: %v %s", failed, said)
	}
	if said, failed := w.calls(text, "approve", args); failed || !strings.Contains(said, "approves") {
		t.Fatalf("got %v %s", failed, said)
	}
	for e, err := range perdure.Memory(t.Context(), w.store, id) {
		if err != nil {
			t.Fatal(err)
		}
		if ev, ok := e.Content().(perdure.Event); ok && ev.Name == "approval" && e.Origin != ana.Key() {
			t.Errorf("the vote is signed by %s, want %s", e.Origin.Short(), ana.Key().Short())
		}
	}
	if w.run(id); w.paid != 1 {
		t.Errorf("it paid %d times, want once", w.paid)
	}
}
