package server_test

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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
func withMCP(t *testing.T, change ...func(*server.Server)) *world {
	return newWorld(t, append(change, func(s *server.Server) {
		kept := &home.Memories{Desk: s.Desk}
		t.Cleanup(func() { _ = kept.Close() })
		m := &mcp.Server{Home: s.Desk.Home, Store: s.Desk.Store, Node: s.Desk.Node, Desk: s.Desk, Guests: true,
			Memory: kept.Of}
		ctx, stop := context.WithCancel(context.Background())
		t.Cleanup(stop)
		s.MCP = m.Handler(ctx)
	})...)
}

// mcpVersions are the protocols in which people are asked: one by requests of the server, the other by its answers.
var mcpVersions = []string{"2026-07-28", "2025-11-25"}

// caller is an MCP client whose person says yes to everything.
type caller struct {
	w       *world
	http    http.RoundTripper
	version string
	asked   func() // when the person is asked
	decides string // empty: approve
}

// calls has a client with a token call a tool.
func (w *world) calls(token, version, tool string, args map[string]any) (text string, failed bool) {
	w.t.Helper()
	return (&caller{w: w, http: bearing(token), version: version}).call(tool, args)
}

func (c *caller) call(tool string, args map[string]any) (text string, failed bool) {
	t := c.w.t
	t.Helper()
	yes := func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		if c.asked != nil {
			c.asked()
		}
		return &sdk.ElicitResult{Action: "accept",
			Content: map[string]any{"decision": cmp.Or(c.decides, "approve"), "note": "yes", "answer": "go on"}}, nil
	}
	m := sdk.NewClient(&sdk.Implementation{Name: "tester", Version: "1"}, &sdk.ClientOptions{ElicitationHandler: yes,
		Capabilities: &sdk.ClientCapabilities{
			Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}},
		}})
	to := &sdk.StreamableClientTransport{Endpoint: c.w.url + "/mcp", HTTPClient: &http.Client{Transport: c.http}}
	s, err := m.Connect(t.Context(), to, &sdk.ClientSessionOptions{ProtocolVersion: c.version})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if got := s.InitializeResult().ProtocolVersion; got != c.version {
		t.Fatalf("the protocol is %s, want %s", got, c.version)
	}
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
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

// mcpToken is a token with which a person decides through MCP.
func (w *world) mcpToken(key *perdure.Signer) (string, *home.Token) {
	w.t.Helper()
	text, token, err := w.home.MakeToken(
		home.NewToken{Name: key.Name, Verbs: []string{home.VerbMCP, home.VerbApprove}, Person: key},
	)
	if err != nil {
		w.t.Fatal(err)
	}
	return text, token
}

// voters are the keys that signed approvals of an agent.
func (w *world) voters(id perdure.AgentID) (all []perdure.Key) {
	w.t.Helper()
	for e, err := range perdure.Memory(w.t.Context(), w.store, id) {
		if err != nil {
			w.t.Fatal(err)
		}
		ev, _ := e.Content().(perdure.Event)
		if _, ok := ev.Notice.(perdure.Approval); ok {
			all = append(all, e.Origin)
		}
	}
	return all
}

func TestThePersonOfATokenDecidesThroughMCPWithTheirOwnKey(t *testing.T) {
	for _, version := range mcpVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := withMCP(t)
			_, ana := w.person("ana")
			text, _ := w.mcpToken(ana)
			id, digest := w.asking()
			args := map[string]any{"agent": id.String(), "digest": digest.String()}
			said, failed := w.calls(w.token("", home.Verbs...), version, "approve", args)
			if !failed || !strings.Contains(said, "unlocks none") {
				t.Errorf("a program's person: %v %s", failed, said)
			}
			if said, failed := w.calls(text, version, "approve", args); failed || !strings.Contains(said, "approves") {
				t.Fatalf("got %v %s", failed, said)
			}
			if got := w.voters(id); !slices.Equal(got, []perdure.Key{ana.Key()}) {
				t.Errorf("the votes are signed by %v, want %s alone", got, ana.Key())
			}
			if w.run(id); w.paid != 1 {
				t.Errorf("it paid %d times, want once", w.paid)
			}
		})
	}
}

// Whatever shows what waits offers a client the tool that answers it only if the visitor may: the list of all, that of
// one agent, and the agent itself, in every protocol.
func TestEveryListOfWhatWaitsOffersWhatTheVisitorMay(t *testing.T) {
	t.Parallel()
	w := withMCP(t)
	_, ana := w.person("ana")
	anas, _ := w.mcpToken(ana)
	prog := w.token("", home.VerbMCP, home.VerbRead)
	id, _ := w.asking()
	one := map[string]any{"agent": id.String()}
	for token, may := range map[string]bool{anas: true, prog: false} {
		for door, text := range map[string]func() string{
			"list_waits": func() string { s, _ := w.calls(token, mcpVersions[0], "list_waits", nil); return s },
			"list_waits of an agent": func() string {
				s, _ := w.calls(token, mcpVersions[0], "list_waits", one)
				return s
			},
			"show_agent": func() string { s, _ := w.calls(token, mcpVersions[0], "show_agent", one); return s },
		} {
			got := text()
			if offers := strings.Contains(got, `"tool":"approve"`); offers != may ||
				strings.Contains(got, "somebody else must") == may {
				t.Errorf("%s offers to approve: %v, want %v: %s", door, offers, may, got)
			}
		}
	}
	for _, path := range []string{"/v1/waits", "/v1/agents/" + id.String() + "/waits", "/v1/agents/" + id.String()} {
		for token, may := range map[string]bool{w.again(ana): true, prog: false} {
			var out struct{ Waits []client.Wait }
			w.call(token, "GET", path, nil, 200, &out)
			if len(out.Waits) != 1 || (out.Waits[0].Answer != "") != may || (out.Waits[0].Others == "") != may {
				t.Errorf("%s offers to approve otherwise than %v: %+v", path, may, out.Waits)
			}
		}
		var out struct{ Waits []client.Wait } // a program may bring an answer that somebody has signed
		w.call(w.token("", home.VerbRead, home.VerbApprove), "GET", path, nil, 200, &out)
		if len(out.Waits) != 1 || out.Waits[0].Answer == "" ||
			!strings.Contains(out.Waits[0].Others, "this token unlocks none") {
			t.Errorf("%s does not say whose key signs: %+v", path, out.Waits)
		}
	}
}

func TestTwoPeopleAreTwoVotesThroughMCPAndOnePersonTwiceIsOne(t *testing.T) {
	for _, version := range mcpVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := withMCP(t)
			w.quorum = 2
			_, ana := w.person("ana")
			_, bob := w.person("bob")
			first, _ := w.mcpToken(ana)
			second, _ := w.mcpToken(ana)
			bobs, _ := w.mcpToken(bob)
			id, digest := w.asking()
			args := map[string]any{"agent": id.String(), "digest": digest.String()}
			if said, failed := w.calls(first, version, "approve", args); failed {
				t.Fatalf("ana: %s", said)
			}
			for _, again := range []string{first, second} {
				if said, failed := w.calls(again, version, "approve", args); !failed ||
					!strings.Contains(said, "already approved") {
					t.Errorf("ana again: %v %s", failed, said)
				}
			}
			if w.run(id); w.paid != 0 {
				t.Fatal("one person's approvals were two votes")
			}
			if said, failed := w.calls(bobs, version, "approve", args); failed {
				t.Fatalf("bob: %s", said)
			}
			if got := w.voters(id); !slices.Equal(got, []perdure.Key{ana.Key(), bob.Key()}) {
				t.Errorf("the votes are signed by %v, want ana's and bob's keys", got)
			}
			if w.run(id); w.paid != 1 {
				t.Errorf("it paid %d times, want once", w.paid)
			}
		})
	}
}

func TestWhatIsTakenBackWhileAPersonIsAskedThroughMCPCountsAtOnce(t *testing.T) {
	for _, version := range mcpVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := withMCP(t)
			_, ana := w.person("ana")
			_, bob := w.person("bob")
			anas, token := w.mcpToken(ana)
			bobs, _ := w.mcpToken(bob)
			id, digest := w.asking()
			args := map[string]any{"agent": id.String(), "digest": digest.String()}
			revoke := func() {
				if _, err := w.home.RevokeToken(token.ID); err != nil {
					t.Error(err)
				}
			}
			c := &caller{w: w, http: bearing(anas), version: version, asked: revoke}
			if said, failed := c.call("approve", args); !failed {
				t.Errorf("a token that was revoked meanwhile: %s", said)
			}
			distrust := func() {
				if err := w.home.TrustKey(perdure.Trustee{Key: bob.Key(), Revoked: true}); err != nil {
					t.Error(err)
				}
			}
			c = &caller{w: w, http: bearing(bobs), version: version, asked: distrust}
			if said, failed := c.call("approve", args); !failed {
				t.Errorf("a key that was revoked meanwhile: %s", said)
			}
			if got := w.voters(id); len(got) != 0 {
				t.Errorf("there are votes by %v", got)
			}
		})
	}
}

// A person who lets an agent go on through MCP ends the pauses they were shown, and none that came since.
func TestAPersonResumesThroughMCPWhatTheyWereShown(t *testing.T) {
	for _, version := range mcpVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := withMCP(t)
			_, ana := w.person("ana")
			text, _, err := w.home.MakeToken(home.NewToken{Name: "ana", Person: ana,
				Verbs: []string{home.VerbMCP, home.VerbResume}})
			if err != nil {
				t.Fatal(err)
			}
			id := w.agent("a")
			if _, err := w.desk.Node.Pause(t.Context(), id, "lunch"); err != nil {
				t.Fatal(err)
			}
			paused := make(chan struct{})
			incident := sync.OnceFunc(func() {
				done, err := w.desk.Turns.Take(t.Context(), id) // the reply waits for the agent's turn
				if err != nil {
					t.Error(err)
				}
				go func() {
					defer close(paused)
					defer done()
					<-time.After(time.Second)                                    // by now it does
					other := &perdure.Node{Store: w.store, Key: w.desk.Node.Key} // the command line, say
					if _, err := other.Pause(t.Context(), id, "incident: stop it"); err != nil {
						t.Error(err)
					}
				}()
			})
			c := &caller{w: w, http: bearing(text), version: version, asked: incident, decides: "resume"}
			said, _ := c.call("resume", map[string]any{"agent": id.String()})
			<-paused
			a, err := perdure.Load(t.Context(), w.store, id)
			if err != nil {
				t.Fatal(err)
			}
			if got := a.Fold().Paused; len(got) != 2 {
				t.Errorf("pauses that nobody was shown have ended: %d are left of 2 (%s)", len(got), said)
			}
		})
	}
}

func TestTheOwnerAnswersThroughMCPOnASocketAndNobodyPassesForThem(t *testing.T) {
	w := withMCP(t)
	_, ana := w.person("ana")
	id, digest := w.asking()
	w.call(w.again(ana), "POST", "/v1/agents/"+id.String()+"/approve", client.Ballot{Digest: digest.String()}, 200, nil)
	w.run(id)
	path := filepath.Join(t.TempDir(), "s")
	ln, err := server.Listen(t.Context(), server.Listening{Address: "unix:" + path})
	if err != nil {
		t.Fatal(err)
	}
	local := &http.Server{Handler: w.http.Config.Handler, ConnContext: server.LocalConn,
		ReadHeaderTimeout: time.Minute}
	t.Cleanup(func() { _ = local.Close() })
	go func() { _ = local.Serve(ln) }()
	args := map[string]any{"agent": id.String()}
	code, _, text := w.raw("", "POST", "/mcp", map[string]any{}, "Perdure-Guest", "owner")
	if code != http.StatusUnauthorized {
		t.Errorf("somebody without a token: %d %s", code, text)
	}
	prog := w.token("", home.Verbs...)
	if said, failed := w.calls(prog, mcpVersions[0], "answer", args); !failed {
		t.Errorf("a program answered for a person: %s", said)
	}
	c := &caller{w: w, version: mcpVersions[0], http: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}
	if said, failed := c.call("answer", args); failed || !strings.Contains(said, "go on") {
		t.Errorf("the owner: %v %s", failed, said)
	}
}

func TestAProgramDoesNotChatAsAPersonThroughMCP(t *testing.T) {
	w := withMCP(t)
	all := w.token("", home.Verbs...)
	var chat, plain client.Created
	w.call(all, "POST", "/v1/agents", client.Intent{Goal: "talk", Name: "chat", Kind: perdure.ChatKind}, 201, &chat)
	w.call(all, "POST", "/v1/agents", client.Intent{Goal: "work", Name: "plain"}, 201, &plain)
	if said, failed := w.calls(all, mcpVersions[0], "tell_agent",
		map[string]any{"agent": "chat", "message": "hi"}); !failed ||
		!strings.Contains(said, "is a program") {
		t.Errorf("a program chats: %v %s", failed, said)
	}
	if said, failed := w.calls(all, mcpVersions[0], "tell_agent",
		map[string]any{"agent": "plain", "message": "hi"}); failed {
		t.Errorf("a program says something: %s", said)
	}
	_, ana := w.person("ana")
	verbs := []string{home.VerbMCP, home.VerbAnswer}
	person, _, err := w.home.MakeToken(home.NewToken{Name: "ana", Verbs: verbs, Person: ana})
	if err != nil {
		t.Fatal(err)
	}
	if said, failed := w.calls(person, mcpVersions[1], "tell_agent",
		map[string]any{"agent": "chat", "message": "hi"}); failed {
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

func TestWhatIsNoMessageIsRefusedOverHTTPAsOnStdio(t *testing.T) {
	w := withMCP(t)
	token := w.token("", home.Verbs...)
	for body, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"name":"` + "\xff" + `"}}`: "-32700",
		`{"jsonrpc": oops`: "-32700",
		`{"hello": 1}`:     "-32600",
	} {
		code, _, text := w.raw(token, "POST", "/mcp", []byte(body), "Accept", "application/json, text/event-stream")
		if code != 400 || !strings.Contains(string(text), want) {
			t.Errorf("%q: got %d %s, want %s", body, code, text, want)
		}
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
		if code, _, text := w.raw(token, "POST", "/mcp", list,
			append(accept, "Mcp-Session-Id", session)...); code != want {
			t.Errorf("got %d, want %d: %.200s", code, want, text)
		}
	}
}
