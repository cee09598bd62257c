package mcp_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/workspace"
)

// remembering gives the server of a world the memory of a role in a scope, and returns its workspace.
func (w *world) remembering(role, scope string) *workspace.Workspace {
	w.t.Helper()
	ws, err := w.home.Workspace(w.t.Context(), w.store, w.server.Node)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = ws.Index.Close() })
	r := w.reader(ws, role, scope)
	w.server.Memory = func(context.Context, *home.Visitor) (*workspace.Reader, error) { return r, nil }
	return ws
}

// reader is a role in a scope, listed as every agent is.
func (w *world) reader(ws *workspace.Workspace, role, scope string) *workspace.Reader {
	w.t.Helper()
	a, err := w.server.Node.CreateAsleep(w.t.Context(), perdure.Genesis{
		Intent: perdure.Intent{Name: role, Kind: "role", Goal: "remember"}, Charter: perdure.Charter{Scope: scope}})
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := ws.For(w.t.Context(), a)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// said is everything that a call of a tool returned, as text.
func (c *client) said(name string, args map[string]any) string {
	c.t.Helper()
	res, err := c.CallTool(c.t.Context(), &sdk.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		return err.Error()
	}
	b, err := json.Marshal(res)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(b)
}

// A client whose role is in another scope learns nothing of documents by any tool or resource.
func TestClientsOfAnotherScopeLearnNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		ws := w.remembering("outsider", "elsewhere")
		in := w.reader(ws, "insider", "acme/ops")
		var ids []string
		for _, d := range []workspace.Draft{
			{Path: "agents/insider/zebrafish.md", Text: "zebrafish\n"}, {Path: "plans/zeppelin.md", Text: "zeppelin\n"},
		} {
			doc, err := in.Write(t.Context(), d)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, doc.Agent.String())
		}
		c := w.connect("pipe", versions[1], nil)
		learned := func(what, text string) {
			t.Helper()
			for _, word := range append([]string{"zebrafish", "zeppelin", "insider", "workspace-team"}, ids...) {
				if strings.Contains(text, word) {
					t.Errorf("%s tells of %s: %.300s", what, word, text)
				}
			}
		}
		learned("list_agents", c.said("list_agents", nil))
		learned("memory_search", c.said("memory_search", map[string]any{"query": "zebra fish or an airship, zep*"}))
		learned("document_list", c.said("document_list", nil))
		learned("session_open", c.said("session_open", nil))
		learned("memory", c.said("memory", map[string]any{"command": "view", "path": "/memories"}))
		for _, id := range ids { // what it names itself it may hear again
			text := c.said("show_agent", map[string]any{"agent": id})
			if !strings.Contains(text, "there is no agent") || strings.Contains(text, "zep") ||
				strings.Contains(text, "zebra") {
				t.Errorf("show_agent: %s", text)
			}
			for _, part := range []string{"log", "state", "transcript"} {
				res, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "agent://" + id + "/" + part})
				if err == nil {
					t.Errorf("resource %s: %v", part, res.Contents[0].Text)
				}
			}
		}
		for _, path := range []string{"agents/insider/zebrafish.md", "plans/zeppelin.md"} {
			if text := c.said("document_read", map[string]any{"path": path}); !strings.Contains(text,
				"there is no document") {
				t.Errorf("document_read: %s", text)
			}
		}
		list, err := c.ListResources(t.Context(), nil)
		if err != nil || slices.ContainsFunc(list.Resources, func(r *sdk.Resource) bool {
			return strings.Contains(r.URI, ids[0]) || strings.Contains(r.URI, ids[1])
		}) {
			t.Errorf("resources: %v, %v", list, err)
		}
	})
}

// Without a name, a client closes the session that it opened: never one that another client of the role has open.
func TestAClientClosesTheSessionItOpened(t *testing.T) {
	inWorld(t, func(w *world) {
		w.remembering("coder", "home")
		a, b, c := w.connect("pipe", versions[1], nil), w.connect("pipe", versions[1], nil),
			w.connect("pipe", versions[1], nil)
		a.said("session_open", nil)
		b.said("session_open", nil)
		closing := func(c *client, title string) string {
			return c.said("session_close", map[string]any{"title": title, "happened": "Something."})
		}
		if text := closing(c, "by nobody"); !strings.Contains(text, "has opened no session") {
			t.Errorf("a client that opened none closes one: %s", text)
		}
		first, second := closing(a, "by the first"), closing(b, "by the second")
		if strings.Contains(first+second, `"isError":true`) {
			t.Errorf("closing: %s\n%s", first, second)
		}
		for _, title := range []string{"by the first", "by the second"} {
			if text := a.said("memory_search", map[string]any{"query": title}); !strings.Contains(text, title) {
				t.Errorf("the summary %q is gone: %s", title, text)
			}
		}
	})
}

// A model cannot stop what keeps the documents of its team: that would only keep others from passing them on.
func TestAClientCannotStopWhatKeepsDocuments(t *testing.T) {
	inWorld(t, func(w *world) {
		w.remembering("coder", "home")
		c := w.connect("pipe", versions[1], nil)
		c.said("document_write", map[string]any{"path": "notes/a.md", "text": "a"})
		for _, tool := range []string{"pause_agent", "end_agent"} {
			for _, name := range []string{"workspace-team", "coder"} {
				if text := c.said(tool, map[string]any{"agent": name}); !strings.Contains(text, "keeps documents") {
					t.Errorf("%s of %s: %s", tool, name, text)
				}
			}
		}
	})
}

// A client keeps and finds what it was told to, by the tools alone.
func TestClientsRemember(t *testing.T) {
	inWorld(t, func(w *world) {
		ws := w.remembering("coder", "home")
		c := w.connect("pipe", versions[1], nil)
		want := func(text, part string) {
			t.Helper()
			if !strings.Contains(text, part) {
				t.Errorf("got %.400s, want %q in it", text, part)
			}
		}
		want(c.said("session_open", nil), "agents/coder/sessions/")
		wrote := c.said("document_write", map[string]any{"kind": "decision", "title": "Use Go",
			"text": "Go compiles fast."})
		want(wrote, "decisions/use-go.md")
		want(c.said("document_write", map[string]any{"path": "decisions/use-go.md", "text": "No."}),
			"exists: version")
		want(c.said("document_write", map[string]any{"path": "decisions/use-go.md", "text": "And links.",
			"append": true}), "version")
		want(c.said("document_read", map[string]any{"path": "decisions/use-go.md"}), "And links.")
		want(c.said("memory_search", map[string]any{"query": "which language compiles fast?"}), "decisions/use-go.md")
		ws.Embed = &workspace.Embeddings{URL: "http://127.0.0.1:1/v1", Model: "m"} // where nobody answers
		want(c.said("memory_search", map[string]any{"query": "which language compiles fast?"}), "words alone")
		ws.Embed = nil
		want(c.said("memory", map[string]any{"command": "create", "path": "/memories/a.md", "file_text": "mine"}),
			"created")
		want(c.said("document_promote", map[string]any{"path": "agents/coder/a.md", "to": "team"}), "a.md")
		want(c.said("session_close", map[string]any{"title": "Chose Go", "happened": "We chose.",
			"open_threads": []string{"begin"}}), "version")
		want(c.said("session_close", map[string]any{"title": "Again", "happened": "Nothing."}),
			"hint: call session_open")
		want(c.said("document_read", map[string]any{"path": "notes/none.md"}),
			"hint: see document_list, or memory_search")
		for _, x := range []struct{ tool, arg string }{{"document_read", "version"}, {"document_write", "base"}} {
			in := map[string]any{"path": "decisions/use-go.md", "text": "No."}
			if in[x.arg] = "0000"; x.arg == "version" {
				delete(in, "text")
			} else {
				in[x.arg] = []string{"0000"}
			}
			text := c.said(x.tool, in)
			want(text, "hint: document_read has the current version of decisions/use-go.md")
			if strings.Contains(text, "perdure doc") || strings.Contains(text, "--store") {
				t.Errorf("%s names a command: %s", x.tool, text)
			}
		}
		want(c.said("session_open", nil), "open: begin")
		if got := c.InitializeResult(); got != nil {
			want(got.Instructions, "session_open")
		}
	})
}

// TestAServerMakesADamagedIndexAnew: who begins to serve the memory of roles finds the file of the index damaged.
func TestAServerMakesADamagedIndexAnew(t *testing.T) {
	inWorld(t, func(w *world) {
		ws, err := w.home.Workspace(t.Context(), w.store, w.server.Node)
		if err != nil {
			t.Fatal(err)
		}
		r := w.reader(ws, "coder", "home")
		for _, path := range []string{"a.md", "b.md", "c.md", "d.md", "e.md", "f.md"} {
			draft := workspace.Draft{Path: path, Text: path + strings.Repeat(" a walrus", 4000)}
			if _, err := r.Write(t.Context(), draft); err != nil {
				t.Fatal(err)
			}
		}
		if err := ws.Index.Close(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(w.home.Dir, workspace.IndexFile)
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		half := len(whole) / 2
		spoilt := append(whole[:half:half], strings.Repeat("d", half)...)
		if err := os.WriteFile(file, spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		now, err := w.home.Workspace(t.Context(), w.store, w.server.Node)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = now.Index.Close() }()
		if r, err = now.As(t.Context(), "coder"); err == nil {
			_, err = r.Write(t.Context(), workspace.Draft{Path: "a.md", Text: "a walrus"})
		}
		if err != nil {
			t.Error(err)
		}
	})
}
