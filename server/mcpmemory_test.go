package server_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure/home"
)

// memoryTools are the tools of memory across sessions.
var memoryTools = []string{"session_open", "session_close", "memory_search", "document_read", "document_list",
	"document_write", "document_promote", "memory"}

// rememberer is an MCP client over HTTP, with a token of a name.
type rememberer struct {
	*sdk.ClientSession
	w *world
}

func (w *world) remembers(name, version string, verbs ...string) *rememberer {
	w.t.Helper()
	text, _, err := w.home.MakeToken(home.NewToken{Name: name, Verbs: verbs})
	if err != nil {
		w.t.Fatal(err)
	}
	to := &sdk.StreamableClientTransport{Endpoint: w.url + "/mcp", HTTPClient: &http.Client{Transport: bearing(text)}}
	c, err := sdk.NewClient(&sdk.Implementation{Name: "tester", Version: "1"}, nil).Connect(w.t.Context(), to,
		&sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return &rememberer{c, w}
}

// tools are those that the client is offered.
func (c *rememberer) tools() (names []string) {
	c.w.t.Helper()
	list, err := c.ListTools(c.w.t.Context(), nil)
	if err != nil {
		c.w.t.Fatal(err)
	}
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	return names
}

// said is what a tool says, whether it works or not.
func (c *rememberer) said(tool string, args map[string]any) string {
	c.w.t.Helper()
	res, err := c.CallTool(c.w.t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, part := range res.Content {
		if p, ok := part.(*sdk.TextContent); ok {
			all = append(all, p.Text)
		}
	}
	return strings.Join(all, "\n")
}

// A token that may look at documents gives an MCP client memory over HTTP, as the role of the token's name.
func TestATokenForDocumentsHasMemoryOverHTTP(t *testing.T) {
	for _, version := range mcpVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := withMCP(t)
			c := w.remembers("coder", version, home.VerbMCP, home.VerbMemory)
			for _, name := range memoryTools {
				if !slices.Contains(c.tools(), name) {
					t.Errorf("%s is not offered", name)
				}
			}
			contains(t, c.InitializeResult().Instructions, "session_open")
			var opened struct{ Session string }
			if err := json.Unmarshal([]byte(c.said("session_open", nil)), &opened); err != nil {
				t.Fatal(err)
			}
			contains(t, opened.Session, "agents/coder/sessions/")
			contains(t, c.said("document_write", map[string]any{"kind": "decision", "title": "Use Go",
				"text": "Go compiles fast."}), "decisions/use-go.md")
			contains(t, c.said("memory", map[string]any{"command": "create", "path": "/memories/a.md",
				"file_text": "a zebrafish"}), "created")
			contains(t, c.said("session_close", map[string]any{"title": "Chose Go", "happened": "We chose.",
				"session": opened.Session}), "version") // of a protocol without connections, nothing else says which
			// the next session, and another role of the same scope, find what they may
			again := w.remembers("coder", version, home.VerbMCP, home.VerbMemory)
			contains(t, again.said("session_open", nil), "Chose Go")
			contains(t, again.said("memory_search", map[string]any{"query": "zebrafish"}), "agents/coder/a.md")
			other := w.remembers("writer", version, home.VerbMCP, home.VerbMemory)
			contains(t, other.said("memory_search", map[string]any{"query": "what compiles fast?"}), "use-go.md")
			text := other.said("memory_search", map[string]any{"query": "zebrafish"})
			if strings.Contains(text, "coder") {
				t.Errorf("another role finds private notes: %s", text)
			}
			text = other.said("document_read", map[string]any{"path": "agents/coder/a.md"})
			contains(t, text, "there is no document")
		})
	}
}

// A role of another scope finds nothing, by whatever tool.
func TestAReaderOfAnotherScopeFindsNothingOverHTTP(t *testing.T) {
	t.Parallel()
	w := withMCP(t)
	keepers := w.keeping()
	w.role("outsider", "elsewhere")
	c := w.remembers("outsider", mcpVersions[0], home.VerbMCP, home.VerbMemory)
	for tool, args := range map[string]map[string]any{
		"memory_search": {"query": "zebrafish zeppelin zirconium z*"}, "document_list": nil, "session_open": nil,
		"memory": {"command": "view", "path": "/memories"}, "list_agents": nil,
	} {
		w.clean(tool, c.said(tool, args), keepers)
	}
	for _, path := range []string{"agents/insider/zebrafish.md", "plans/zeppelin.md", "plans/zirconium.md"} {
		contains(t, c.said("document_read", map[string]any{"path": path}), "there is no document")
	}
	w.role("mate", "acme/ops") // they are there for those who may
	mate := w.remembers("mate", mcpVersions[0], home.VerbMCP, home.VerbMemory)
	contains(t, mate.said("memory_search", map[string]any{"query": "zeppelin"}), "plans/zeppelin.md")
}

// A role starts and finds agents in its own scope only: one elsewhere would read for it what it does not see.
func TestARoleStartsNoAgentsInAnotherScopeOverHTTP(t *testing.T) {
	for _, version := range mcpVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := withMCP(t)
			w.role("outsider", "elsewhere")
			c := w.remembers("outsider", version, home.VerbMCP, home.VerbMemory)
			program := w.remembers("program", version, home.VerbMCP) // is no role, and may start agents everywhere
			contains(t, program.said("start_agent", map[string]any{"goal": "g", "name": "there", "scope": "acme/ops"}),
				`"there"`)
			contains(t, program.said("start_agent", map[string]any{"goal": "g", "name": "near", "scope": "elsewhere"}),
				`"near"`)
			for _, scope := range []string{"acme/ops", "acme", "elsewhere/below", "home"} {
				contains(t, c.said("start_agent", map[string]any{"goal": "g", "name": "mole", "scope": scope}),
					"starts no agents in "+scope)
			}
			contains(t, c.said("start_agent", map[string]any{"goal": "g", "name": "own"}), `"own"`)
			list := c.said("list_agents", nil)
			contains(t, list, `"near"`)
			contains(t, list, `"own"`)
			if strings.Contains(list, "there") {
				t.Errorf("an agent of another scope is listed: %s", list)
			}
			contains(t, c.said("show_agent", map[string]any{"agent": "own"}), `"scope":"elsewhere"`)
			for _, tool := range []string{"show_agent", "pause_agent", "end_agent"} {
				contains(t, c.said(tool, map[string]any{"agent": "there"}), "no agent")
			}
			contains(t, c.said("tell_agent", map[string]any{"agent": "there", "message": "tell me"}), "no agent")
			owner := w.remembers("admin", version, home.Verbs...)
			contains(t, owner.said("start_agent", map[string]any{"goal": "g", "name": "admins", "scope": "acme"}),
				`"admins"`)
			contains(t, owner.said("list_agents", nil), `"there"`)
		})
	}
}

// role makes a role in a scope.
func (w *world) role(name, scope string) {
	w.t.Helper()
	ws, err := w.home.Workspace(w.t.Context(), w.store, w.desk.Node)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = ws.Index.Close() }()
	ws.Scope = scope
	r, err := ws.As(w.t.Context(), name)
	if err == nil {
		err = r.Begin(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// Without the verb there is no memory: not in the list, not in the instructions, and not by calling it anyway.
func TestATokenWithoutTheVerbHasNoMemoryOverHTTP(t *testing.T) {
	for _, version := range mcpVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := withMCP(t)
			keepers := w.keeping()
			w.remembers("coder", version, home.VerbMCP, home.VerbMemory).tools() // whoever came before
			c := w.remembers("insider", version, home.VerbMCP, home.VerbRead)
			if tools := c.tools(); !slices.Contains(tools, "list_agents") || slices.ContainsFunc(tools,
				func(name string) bool { return slices.Contains(memoryTools, name) }) {
				t.Errorf("the tools are %v", tools)
			}
			if text := c.InitializeResult().Instructions; strings.Contains(text, "session_open") {
				t.Errorf("the instructions tell of memory: %s", text)
			}
			for tool, args := range map[string]map[string]any{"memory_search": {"query": "zebrafish"},
				"document_read": {"path": "agents/insider/zebrafish.md"}, "session_open": nil,
				"document_write": {"path": "plans/x.md", "text": "x"}} {
				text := c.said(tool, args)
				w.clean(tool, text, keepers)
				contains(t, text, "insider may not use memory")
			}
		})
	}
}
