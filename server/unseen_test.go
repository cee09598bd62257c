package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/workspace"
)

// hiddenWords are in documents, their titles and their paths.
var hiddenWords = []string{"zebrafish", "zeppelin", "zirconium"}

// keeping has a role of acme/ops write a private note, one for its team and one for acme. It returns the agents that
// keep them.
func (w *world) keeping() (keepers []perdure.AgentID) {
	w.t.Helper()
	ws, err := w.home.Workspace(w.t.Context(), w.store, w.desk.Node)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = ws.Index.Close() })
	ws.Scope = "acme/ops"
	in, err := ws.As(w.t.Context(), "insider")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range []workspace.Draft{
		{Path: "agents/insider/zebrafish.md", Text: "a zebrafish\n"},
		{Path: "plans/zeppelin.md", Title: "zeppelin", Text: "a zeppelin\n"},
		{Path: "plans/zirconium.md", Text: "zirconium\n",
			Visibility: &workspace.Visibility{Tier: workspace.Custom, Scope: "acme"}},
	} {
		doc, err := in.Write(w.t.Context(), d)
		if err != nil {
			w.t.Fatal(err)
		}
		keepers = append(keepers, doc.Agent)
	}
	return keepers
}

// bodies are what is sent to an agent, by the operation. Whatever an operation lacks here is sent without a body.
func bodies(id perdure.AgentID) map[string]any {
	zero := strings.Repeat("0", 64)
	return map[string]any{
		"fork-agent": client.Fork{Goal: "read it for me"}, "send-event": client.Event{Name: "hello"},
		"answer-agent": client.Answer{Text: "yes"}, "settle-agent": client.Settle{Decision: zero, Signal: "ok"},
		"grant-agent": client.Grant{Calls: 1}, "edit-agent": client.Edit{Labels: map[string]string{"a": "b"}},
		"approve-action": client.Ballot{Digest: zero}, "deny-action": client.Ballot{Digest: zero},
		"prepare-vote": client.ToSign{Ballot: client.Ballot{Digest: zero}, Key: anyKey().String(), Name: "me"},
		"take-vote":    client.Signed{Entries: [][]byte{{0}}}, "make-link": client.NewLink{Digest: zero},
		"explain-policy": client.Why{Tool: "pay"},
		"send-missing":   map[string]any{"agent": id.String(), "heads": []string{}},
	}
}

// anyKey is a key of somebody.
var anyKey = sync.OnceValue(func() perdure.Key {
	s, err := perdure.GenerateSigner("somebody")
	if err != nil {
		panic(err)
	}
	return s.Key()
})

// operations are all that the API has, by path and method.
func operations(t *testing.T, w *world) (found map[string]map[string]string) {
	t.Helper()
	text, err := w.server.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	found = map[string]map[string]string{}
	for path, ops := range doc.Paths {
		found[path] = map[string]string{}
		for method, op := range ops {
			found[path][strings.ToUpper(method)] = op.OperationID
		}
	}
	return found
}

// Whoever may not read documents walks every operation that the API describes, and every tool of MCP: the agents that
// keep documents are to them as agents that are not there.
func TestNoDoorShowsDocumentsToThoseWhoMayNotReadThem(t *testing.T) {
	t.Parallel()
	w := withMCP(t)
	keepers := w.keeping()
	few := without(home.VerbMemory)
	for name, token := range map[string]string{"a token without the verb memory": w.token("", few...),
		"a token of another role":  w.token("", without(home.VerbGrant)...), // reads what policy lets a role read
		"a role of the same scope": w.token("acme", without(home.VerbGrant)...),
		"a token of another scope": w.token("elsewhere", home.Verbs...)} {
		for path, ops := range operations(t, w) {
			for method, op := range ops {
				switch {
				case strings.Contains(path, "{agent}"):
					for _, id := range keepers {
						w.absent(name, token, method, path, op, id)
					}
					w.absentName(name, token, method, path, op)
				case method == http.MethodGet && path != "/v1/tail":
					_, _, text := w.raw(token, method, path, nil)
					w.clean(name+": "+path, string(text), keepers)
				}
			}
		}
		scope := "elsewhere"
		if strings.HasSuffix(name, "the same scope") {
			scope = "acme"
		}
		w.clean(name+": the tail", w.tailed(token, scope), keepers)
		for _, id := range keepers { // a receipt has the heads
			status, _, text := w.raw(token, "POST", "/v1/exchange/"+id.String()+"/entries", nil, "Content-Type",
				client.EntriesType)
			if status != http.StatusForbidden {
				t.Errorf("%s: entries of an agent that keeps documents are taken: %d %s", name, status, text)
			}
		}
	}
	token := w.token("", few...)
	for _, tool := range []string{"list_agents", "list_waits"} {
		text, _ := w.calls(token, mcpVersions[0], tool, nil)
		w.clean(tool, text, keepers)
	}
	for _, tool := range []string{"show_agent", "list_waits", "tell_agent", "pause_agent", "end_agent", "resume"} {
		for _, id := range keepers {
			args := map[string]any{"agent": id.String()}
			if tool == "tell_agent" {
				args["event"] = "hello"
			}
			text, failed := w.calls(token, mcpVersions[0], tool, args)
			if w.clean(tool, text, nil); !failed || !strings.Contains(text, "there is no agent") {
				t.Errorf("%s of an agent that keeps documents: %s", tool, text)
			}
		}
	}
	if text, failed := w.asksMCP(w.token("elsewhere", home.Verbs...)); !failed {
		t.Errorf("MCP lets in who does not see all agents: %s", text)
	}
	owner := w.token("", home.Verbs...) // `--verbs all`: the walk finds what there is for those who may
	for i, id := range keepers {
		_, _, text := w.raw(owner, "GET", "/v1/agents/"+id.String()+"/entries", nil)
		contains(t, string(text), hiddenWords[i])
	}
	contains(t, w.tailed(owner, "elsewhere"), keepers[0].String())
}

// without is every verb but one.
func without(verb string) []string {
	return slices.DeleteFunc(slices.Clone(home.Verbs), func(v string) bool { return v == verb })
}

// What an agent that works keeps as its own notes is not among the entries that others read of it.
func TestNotesOfAnAgentAreNotAmongItsEntriesForOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	owner, reader := w.token("", home.Verbs...), w.token("", home.VerbRead, home.VerbMemory)
	var made client.Created
	w.call(owner, "POST", "/v1/agents", client.Intent{Goal: "work", Name: "bot"}, 201, &made)
	ws, err := w.home.Workspace(t.Context(), w.store, w.desk.Node)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ws.Index.Close() }()
	a, err := w.desk.Load(t.Context(), perdure.AgentID(made.Agent))
	if err != nil {
		t.Fatal(err)
	}
	r, err := ws.For(t.Context(), a)
	if err == nil {
		_, err = r.Write(t.Context(), workspace.Draft{Path: "agents/bot/zebrafish.md", Text: "a zebrafish\n"})
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/entries", "/entries?last=50", "/transcript", "/page"} {
		_, _, text := w.raw(reader, "GET", "/v1/agents/bot"+path, nil)
		w.clean(path, string(text), nil)
	}
	w.clean("the tail", w.tailed(reader, "home"), nil)
	_, _, text := w.raw(owner, "GET", "/v1/agents/bot/entries", nil)
	contains(t, string(text), "zebrafish")
}

// absent fails the test if an operation on an agent that keeps documents is answered otherwise than on one that is not
// there.
func (w *world) absent(name, token, method, path, op string, id perdure.AgentID) {
	w.t.Helper()
	nobody := perdure.AgentID{1, 2, 3}
	var codes []int
	var texts []string
	for _, one := range []perdure.AgentID{id, nobody} {
		var body any
		if method != http.MethodGet {
			body = bodies(one)[op]
		}
		code, _, text := w.raw(token, method, strings.ReplaceAll(path, "{agent}", one.String()), body)
		codes = append(codes, code)
		texts = append(texts, strings.NewReplacer(one.String(), "ID", one.Short(), "ID").Replace(string(text)))
	}
	w.clean(name+": "+op, texts[0], nil)
	switch op {
	case "take-entries", "take-vote": // what comes is read before the agent is, and would make one that is not there
		return
	}
	if codes[0] != codes[1] || texts[0] != texts[1] {
		w.t.Errorf("%s: %s of an agent that keeps documents: %d %s\nof one that is not there: %d %s", name, op,
			codes[0], texts[0], codes[1], texts[1])
	}
	if method == http.MethodPost && (codes[0] == 400 || codes[0] == 422) {
		w.t.Errorf("%s: %s did not come as far as the agent: bodies lacks a good one: %d %s", name, op, codes[0],
			texts[0])
	}
}

// absentName is absent for the names of those agents.
func (w *world) absentName(name, token, method, path, op string) {
	w.t.Helper()
	for _, called := range []string{"workspace-team", "workspace-custom", "insider"} {
		var body any
		if method != http.MethodGet {
			body = bodies(perdure.AgentID{1})[op]
		}
		code, _, text := w.raw(token, method, strings.ReplaceAll(path, "{agent}", called), body)
		said := strings.ReplaceAll(string(text), called, "")
		if w.clean(name+": "+op, said, nil); code < 400 {
			w.t.Errorf("%s: %s of %s: %d %s", name, op, called, code, text)
		}
	}
}

// clean fails the test if a text has something in it that is in a document, or the id of an agent that keeps them.
func (w *world) clean(what, text string, keepers []perdure.AgentID) {
	w.t.Helper()
	words := append(slices.Clone(hiddenWords), "workspace-")
	for _, id := range keepers {
		words = append(words, id.String())
	}
	for _, word := range words {
		if strings.Contains(text, word) {
			w.t.Errorf("%s tells of %s: %.400s", what, word, text)
		}
	}
}

// tailed is what the stream of all agents has, up to an agent that is made now in a scope.
func (w *world) tailed(token, scope string) string {
	w.t.Helper()
	var made client.Created
	w.call(w.token("", home.Verbs...), "POST", "/v1/agents", client.Intent{Goal: "end here", Scope: scope}, 201, &made)
	req, err := http.NewRequestWithContext(w.t.Context(), "GET", w.url+"/v1/tail?after=start", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var all strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(all.String(), made.Agent.String()) {
		n, err := res.Body.Read(buf)
		if all.Write(buf[:n]); err != nil {
			w.t.Fatalf("the tail ended: %v: %s", err, all.String())
		}
	}
	return all.String()
}

// asksMCP asks MCP for anything.
func (w *world) asksMCP(token string) (text string, failed bool) {
	w.t.Helper()
	const hello = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	req, err := http.NewRequestWithContext(w.t.Context(), "POST", w.url+"/mcp", strings.NewReader(hello))
	if err != nil {
		w.t.Fatal(err)
	}
	for k, v := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream"} {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return fmt.Sprint(res.Status, " ", string(b)), res.StatusCode >= 400
}

// Whoever has a token of one scope makes an agent there with the name of one of the home's, and asks policy about it:
// the server finds the first, and explains the second.
func TestExplainIsAboutTheAgentThatTheVisitorSees(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	w.call(all, "POST", "/v1/agents", client.Intent{Goal: "the secret plan", Name: "payroll",
		Labels: map[string]string{"client": "hush-hush"}}, 201, nil)
	narrow := w.token("acme/ops", home.VerbRead, home.VerbCreate)
	w.problem(narrow, "GET", "/v1/agents/payroll", nil, 404)
	w.problem(narrow, "POST", "/v1/agents/payroll/explain", client.Why{Tool: "pay"}, 404)
	w.call(narrow, "POST", "/v1/agents", client.Intent{Goal: "mine", Name: "payroll"}, 201, nil)
	_, _, text := w.raw(narrow, "POST", "/v1/agents/payroll/explain", client.Why{Tool: "pay"})
	if bytes.Contains(text, []byte("hush-hush")) || bytes.Contains(text, []byte(`"home"`)) {
		t.Errorf("a token of acme/ops is told of an agent of home: %s", text)
	}
}
