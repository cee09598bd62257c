package server_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
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
		m = &mcp.Server{Home: s.Desk.Home, Store: s.Desk.Store, Node: s.Desk.Node, Desk: s.Desk, Guests: true}
		ctx, stop := context.WithCancel(context.Background())
		t.Cleanup(stop)
		s.MCP = m.Handler(ctx)
	})
	return w
}

// calls has a client with a token call a tool, whose person says yes to everything.
func (w *world) calls(token, tool string, args map[string]any) (text string, failed bool) {
	w.t.Helper()
	return w.callsBy(bearing(token), tool, args, "approve")
}

// callsBy is calls by a way of one's own, with what the person decides.
func (w *world) callsBy(by http.RoundTripper, tool string, args map[string]any, decide string) (text string,
	failed bool) {
	w.t.Helper()
	yes := func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": decide, "note": "yes"}}, nil
	}
	c := sdk.NewClient(&sdk.Implementation{Name: "tester", Version: "1"}, &sdk.ClientOptions{ElicitationHandler: yes,
		Capabilities: &sdk.ClientCapabilities{
			Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}},
		}})
	to := &sdk.StreamableClientTransport{Endpoint: w.url + "/mcp", HTTPClient: &http.Client{Transport: by}}
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

func TestAProgramDoesNotChatAsAPersonThroughMCP(t *testing.T) {
	w := withMCP(t)
	all := w.token("", home.Verbs...)
	var chat, plain client.Created
	w.call(all, "POST", "/v1/agents", client.Intent{Goal: "talk", Name: "chat", Kind: perdure.ChatKind}, 201, &chat)
	w.call(all, "POST", "/v1/agents", client.Intent{Goal: "work", Name: "plain"}, 201, &plain)
	if said, failed := w.calls(all, "tell_agent", map[string]any{"agent": "chat", "message": "hi"}); !failed ||
		!strings.Contains(said, "is a program") {
		t.Errorf("a program chats: %v %s", failed, said)
	}
	if said, failed := w.calls(all, "tell_agent", map[string]any{"agent": "plain", "message": "hi"}); failed {
		t.Errorf("a program says something: %s", said)
	}
	_, ana := w.person("ana")
	verbs := []string{home.VerbMCP, home.VerbAnswer}
	person, _, err := w.home.MakeToken(home.NewToken{Name: "ana", Verbs: verbs, Person: ana})
	if err != nil {
		t.Fatal(err)
	}
	if said, failed := w.calls(person, "tell_agent", map[string]any{"agent": "chat", "message": "hi"}); failed {
		t.Errorf("a person's client chats: %s", said)
	}
	var got []string
	for _, id := range []perdure.AgentID{chat.Agent, plain.Agent} {
		for e, err := range perdure.Memory(t.Context(), w.store, id) {
			if err != nil {
				t.Fatal(err)
			}
			if ev, ok := e.Content().(perdure.Event); ok && ev.Notice == nil {
				got = append(got, fmt.Sprint(ev.Name, " by ", ev.By, " ", ev.Taint))
			}
		}
	}
	want := []string{"answer by tester for ana false", "message by tester for prog true"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheOwnerDecidesThroughMCPOnASocket(t *testing.T) {
	w := withMCP(t)
	var made client.Created
	all := w.token("", home.Verbs...)
	w.call(all, "POST", "/v1/agents", client.Intent{Goal: "x", Name: "a"}, 201, &made)
	w.call(all, "POST", "/v1/agents/a/pause", nil, 200, nil)
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	local := httptest.NewUnstartedServer(w.http.Config.Handler)
	local.Listener, local.Config.ConnContext = ln, server.LocalConn
	local.Start()
	t.Cleanup(local.Close)
	dial := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	t.Cleanup(dial.CloseIdleConnections)
	if said, failed := w.callsBy(dial, "resume", map[string]any{"agent": "a"}, "resume"); failed {
		t.Errorf("got %s", said)
	}
	a, err := w.node.Load(t.Context(), made.Agent)
	if err != nil || len(a.Fold().Paused) != 0 {
		t.Errorf("it is paused still: %v", err)
	}
}

func TestASessionOfMCPIsOfWhoBeganIt(t *testing.T) {
	w := withMCP(t)
	one, two := w.token("", home.Verbs...), w.token("", home.Verbs...)
	begin := []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	accept := []string{"Accept", "application/json, text/event-stream"}
	_, h, text := w.raw(one, "POST", "/mcp", begin, accept...)
	session := h.Get("Mcp-Session-Id")
	if session == "" {
		t.Fatalf("no session: %s", text)
	}
	list := []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	for token, want := range map[string]int{one: 200, two: 403} {
		if code, _, text := w.raw(token, "POST", "/mcp", list, append(accept, "Mcp-Session-Id", session)...); code != want {
			t.Errorf("got %d, want %d: %.200s", code, want, text)
		}
	}
}
