package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/keeper"
)

func TestAnAgentIsDrivenOverHTTP(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	ana, _ := w.person("ana")
	var made client.Created
	w.call(
		all,
		"POST",
		"/v1/agents",
		client.Intent{
			Goal:   "pay the bill",
			Name:   "bill",
			Labels: map[string]string{"team": "ops"},
			Inputs: json.RawMessage(`{"big":12345678901234567890}`),
		},
		201,
		&made,
	)
	path := "/v1/agents/bill"
	w.run(made.Agent)

	var seen client.Agent
	h := w.call(all, "GET", path, nil, 200, &seen)
	if seen.Standing != "waiting" || len(seen.Waits) != 1 || seen.Waits[0].Kind != "approval" ||
		len(seen.Waits[0].Sheet) == 0 {
		t.Fatalf("show: got %+v", seen)
	}
	contains(t, string(seen.Intent), "12345678901234567890")
	tag := h.Get("ETag")
	w.call(all, "GET", path, nil, 304, nil, "If-None-Match", tag)
	digest := seen.Waits[0].Digest.String()
	w.problem(ana, "POST", path+"/approve", map[string]string{"digest": ""}, 400) // a variable that was never set
	if p := w.problem(all, "POST", path+"/approve", client.Ballot{Digest: digest}, 403); p.Kind != "denied" {
		t.Errorf("a program approved: %+v", p)
	}
	var told client.Told
	w.call(ana, "POST", path+"/approve", client.Ballot{Digest: digest, Note: "fine"}, 200, &told)
	if told.About == nil || told.About.Digest.String() != digest || !strings.Contains(told.What, "approves") {
		t.Errorf("approve: got %+v", told)
	}
	p := w.problem(ana, "POST", path+"/approve", client.Ballot{Digest: digest}, 409)
	contains(t, p.Detail, "already approved")
	w.problem(all, "POST", path+"/events", client.Event{Name: "late"}, 412, "If-Match", tag)
	w.run(made.Agent)
	if w.paid != 1 {
		t.Errorf("it paid %d times, want once", w.paid)
	}
	p = w.problem(all, "POST", path+"/answer", client.Answer{Text: "go"}, 403)
	contains(t, p.Detail, "program")
	w.call(ana, "POST", path+"/answer", client.Answer{Text: "go"}, 200, &told)
	if f := w.run(made.Agent); f.Ended == nil {
		t.Error("it has not ended")
	}
	w.problem(ana, "POST", path+"/answer", client.Answer{Text: "go"}, 409)

	var lines client.Lines
	w.call(all, "GET", path+"/entries?limit=3", nil, 200, &lines)
	n := len(lines.Entries)
	for lines.Next != "" {
		next := lines.Next
		lines = client.Lines{}
		w.call(all, "GET", path+"/entries?limit=3&after="+next, nil, 200, &lines)
		n += len(lines.Entries)
	}
	w.call(all, "GET", path, nil, 200, &seen)
	if int64(n) != seen.Entries {
		t.Errorf("pages of entries have %d, the agent %d", n, seen.Entries)
	}
	var talk client.Transcript
	w.call(all, "GET", path+"/transcript", nil, 200, &talk)
	if len(talk.Said) < 5 {
		t.Errorf("transcript: got %+v", talk)
	}
	var diff client.Diff
	w.call(all, "GET", path+"/diff?from=1", nil, 200, &diff)
	if len(diff.Changes) == 0 {
		t.Error("nothing differs between the beginning and the end")
	}
	var state map[string]any
	w.call(all, "GET", path+"/state?at=1", nil, 200, &state)
	if state["agent"] != made.Agent.String() {
		t.Errorf("state: got %v", state)
	}
	var checked client.Verified
	w.call(all, "POST", path+"/verify", nil, 200, &checked)
	if !checked.OK || len(checked.Rows) == 0 {
		t.Errorf("verify: got %+v", checked)
	}
	var page client.Page
	w.call(all, "GET", path+"/page", nil, 200, &page)
	var why client.Explained
	w.call(all, "POST", path+"/explain", client.Why{Tool: "files.read"}, 200, &why)
	var forked client.Forked
	w.call(all, "POST", path+"/fork", client.Fork{At: "1", Name: "again"}, 200, &forked)
	if !forked.Rehearse || forked.From != made.Agent {
		t.Errorf("fork: got %+v", forked)
	}
	w.call(all, "POST", "/v1/agents/again/pause", client.Note{Note: "wait"}, 200, &told)
	w.problem(all, "POST", "/v1/agents/again/resume", nil, 403) // a program does not let it go on
	w.call(w.human(), "POST", "/v1/agents/again/resume", nil, 200, &told)
	w.call(all, "POST", "/v1/agents/again/edit",
		client.Edit{Goal: new("something else"), Set: map[string]json.RawMessage{"x": json.RawMessage("1")}},
		200, &told)
	w.call(all, "POST", "/v1/agents/again/end", client.Note{}, 200, &told)
	var nodes client.Nodes
	w.call(all, "GET", "/v1/nodes", nil, 200, &nodes)
	var tools client.Tools
	w.call(all, "GET", "/v1/tools", nil, 200, &tools)
	w.call("", "GET", "/v1/health", nil, 200, nil)
	w.call("", "GET", "/v1/ready", nil, 200, nil)
	_, _, text := w.raw("", "GET", "/docs", nil)
	contains(t, string(text), "openapi.json")
	contains(t, string(text), w.url+"/v1/agents")
}

func TestListsArePaged(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	for i := range 25 {
		w.call(
			all,
			"POST",
			"/v1/agents",
			client.Intent{
				Goal:   "x",
				Name:   fmt.Sprintf("a%02d", i),
				Scope:  []string{"acme/ops", "acme/dev"}[i%2],
				Labels: map[string]string{"odd": fmt.Sprint(i % 2)},
			},
			201,
			nil,
		)
	}
	read := func(token, query string) (names []string) {
		for cursor := ""; ; {
			var l client.List
			w.call(token, "GET", "/v1/agents?limit=4&"+query+cursor, nil, 200, &l)
			for _, a := range l.Agents {
				names = append(names, a.Name)
			}
			if l.Next == "" {
				return names
			}
			cursor = "&cursor=" + l.Next
		}
	}
	if got := read(all, ""); len(got) != 25 || got[0] != "a00" || got[24] != "a24" {
		t.Errorf("got %v", got)
	}
	if got := read(all, "label=odd=1"); len(got) != 12 {
		t.Errorf("by label: got %v", got)
	}
	if got := read(w.token("acme/ops", home.VerbRead), ""); len(got) != 13 {
		t.Errorf("by a token of a scope: got %v", got)
	}
	if got := read(w.token("acme/ops", home.VerbRead), "scope=acme/dev"); len(got) != 0 {
		t.Errorf("another scope than the token's: got %v", got)
	}
	w.problem(all, "GET", "/v1/agents?cursor=nonsense", nil, 400)
	w.problem(all, "GET", "/v1/agents?state=nonsense", nil, 400)
}

func TestIdempotencyKeysHold(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	var first, second client.Created
	w.call(all, "POST", "/v1/agents", client.Intent{Goal: "once"}, 201, &first, "Idempotency-Key", "k1")
	h := w.call(all, "POST", "/v1/agents", client.Intent{Goal: "once"}, 201, &second, "Idempotency-Key", "k1")
	if first.Agent != second.Agent || h.Get("Idempotency-Replayed") != "true" {
		t.Errorf("got %v and %v", first, second)
	}
	other := client.Intent{Goal: "other"}
	if p := w.problem(all, "POST", "/v1/agents", other, 422, "Idempotency-Key", "k1"); p.Kind != "misuse" {
		t.Errorf("got %+v", p)
	}
	w.call(w.token("", home.Verbs...), "POST", "/v1/agents", client.Intent{Goal: "other"}, 201, &second,
		"Idempotency-Key", "k1") // somebody else's key
	if first.Agent == second.Agent {
		t.Error("two visitors share keys")
	}
	path := "/v1/agents/" + first.Agent.String()
	var a, b client.Recorded
	w.call(all, "POST", path+"/events", client.Event{Name: "ping"}, 200, &a, "Idempotency-Key", "e1")
	w.call(all, "POST", path+"/events", client.Event{Name: "ping"}, 200, &b, "Idempotency-Key", "e1")
	if a != b || a.Before {
		t.Errorf("events: got %+v and %+v", a, b)
	}
	var p1, p2 client.Told
	w.call(all, "POST", path+"/pause", nil, 200, &p1, "Idempotency-Key", "p1")
	w.call(all, "POST", path+"/pause", nil, 200, &p2, "Idempotency-Key", "p1")
	if p1.Entry != p2.Entry {
		t.Errorf("pauses: got %v and %v", p1.Entry, p2.Entry)
	}
}

func TestProblemsSayWhat(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	if p := w.problem(all, "GET", "/v1/agents/nobody", nil, 404); p.Kind != "not-found" || p.Hint == "" || p.Exit != 3 {
		t.Errorf("got %+v", p)
	}
	if p := w.problem(all, "POST", "/v1/agents", map[string]any{"goal": 7}, 400); p.Kind != "invalid" ||
		len(p.Errors) == 0 || p.Hint != client.SeeDocs {
		t.Errorf("got %+v", p)
	}
	for _, goal := range []string{"\xff", `\ud800`} {
		w.problem(all, "POST", "/v1/agents", json.RawMessage(`{"goal": "`+goal+`"}`), 400)
	}
	w.problem(all, "POST", "/v1/agents", map[string]any{"goal": " "}, 400)
	w.problem(all, "POST", "/v1/agents", map[string]any{"goal": "x", "policies": []string{"/etc/passwd"}}, 400)
	w.problem(all, "GET", "/v1/nothing", nil, 404)
	contains(t, w.problem(all, "GET", "/foo/v1/agents", nil, 404).Hint, "leave /foo out of the address")
	for body, want := range map[string]string{"xyz": "it is not JSON from byte 1 on", `{"goal": 1,`: "it is not JSON from byte 11 on"} {
		for _, path := range []string{"/v1/agents", "/v1/agents/" + w.agent("").String() + "/events"} {
			contains(t, w.problem(all, "POST", path, []byte(body), 400).Detail, want)
		}
	}
	p := w.problem(all, "POST", "/v1/import", []byte("this is no capsule"), 422)
	if p.Rejection == nil || p.Rejection.Predicate == "" {
		t.Errorf("got %+v", p)
	}
	for _, id := range []string{"", "once"} {
		nobody := "/v1/agents/" + strings.Repeat("0", 64) + "/events"
		p := w.problem(all, "POST", nobody, client.Event{Name: "x", ID: id}, 404)
		if contains(t, p.Detail, "there is no agent"); p.Hint == "" {
			t.Errorf("got %+v", p)
		}
	}
	own, err := os.ReadFile(filepath.Join(w.home.Dir, home.KeyFile))
	if err != nil {
		t.Fatal(err)
	}
	w.agent("a")
	told := map[string]any{"name": "x", "data": strings.TrimSpace(string(own))}
	if p := w.problem(all, "POST", "/v1/agents/a/events", told, 422); p.Kind != "guarded" {
		t.Errorf("got %+v", p)
	}
	err = p
	var r *perdure.Rejection
	if !asRejection(err, &r) || r.Predicate != p.Rejection.Predicate {
		t.Error("the rejection is not found in the error")
	}
}

func TestAnEditThatWidensOrRemakesIsRefusedByName(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	calls, depth, elsewhere, role := int64(5), int64(3), "elsewhere", keeper.Role
	tools, more := []string{"files.read"}, []string{"files.read", "files.write"}
	w.call(all, "POST", "/v1/agents", client.Intent{Goal: "x", Name: "a", Scope: "acme", Tools: &tools, Depth: 1,
		Budget: &client.Budget{Calls: &calls}, Deadline: "24h"}, 201, nil)
	calls = 6
	for _, c := range []struct {
		edit client.Edit
		want string
	}{
		{client.Edit{Scope: &elsewhere}, "its scope is acme; want one inside it, got elsewhere"},
		{client.Edit{Tools: &more}, "tools can be taken away, not added"},
		{client.Edit{Depth: &depth}, "want that many or fewer, got 3"},
		{client.Edit{Budget: &client.Budget{Calls: &calls}}, "never larger"},
		{client.Edit{Deadline: "48h"}, "cannot be put off"},
		{client.Edit{Kind: &role}, "no agent becomes one"},
	} {
		p := w.problem(all, "POST", "/v1/agents/a/edit", c.edit, 400)
		if contains(t, p.Detail, c.want); p.Kind != "invalid" || p.Hint == "" || p.Exit != 2 {
			t.Errorf("%+v: got %+v", c.edit, p)
		}
	}
}

// TestWhatWaitsIsPaged walks through what waits by pages: each looks at so many agents and no more, and together they
// have what is there once.
func TestWhatWaitsIsPaged(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	const many = 7
	want := map[perdure.AgentID]bool{}
	for range many {
		id, _ := w.asking()
		want[id] = true
	}
	c, pages, cursor := w.client(all, nil), 0, ""
	for {
		page, err := c.WaitsPage(t.Context(), cursor, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Waits) > 2 {
			t.Errorf("%d waits on a page for 2 agents", len(page.Waits))
		}
		for _, one := range page.Waits {
			if !want[one.Agent] {
				t.Errorf("%s twice, or for nothing", one.Agent.Short())
			}
			delete(want, one.Agent)
		}
		if pages++; page.Next == "" {
			break
		}
		cursor = page.Next
	}
	if len(want) > 0 || pages < many/2 {
		t.Errorf("%d are missing after %d pages", len(want), pages)
	}
	if whole, err := c.Waits(t.Context(), ""); err != nil || len(whole.Waits) != many {
		t.Errorf("got %d, %v, want %d", len(whole.Waits), err, many)
	}
	w.problem(all, "GET", "/v1/waits?cursor=nonsense", nil, 400)
}

// looking is a tool of the node that runs, which node.yaml does not name: an MCP server offers it.
type looking struct{}

func (looking) Spec() perdure.Spec { return perdure.Spec{Name: "eyes.look", Effect: perdure.Read} }
func (looking) Call(context.Context, perdure.Call) (perdure.Result, error) {
	return perdure.Result{}, nil
}

// What policy says of a tool depends on its class: explain takes the one that the tool has, and says where it has to
// assume one.
func TestExplainKnowsTheClassOfTools(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.desk.Node.Tools = []perdure.Tool{looking{}}
	all := w.token("", home.Verbs...)
	var made client.Created
	w.call(all, "POST", "/v1/agents", client.Intent{Goal: "x", Name: "seer"}, 201, &made)
	for _, c := range []struct{ tool, class, want, note string }{
		{"now", "", "read", ""},
		{"eyes.look", "", "read", ""},
		{"eyes.look", "once", "once", ""},
		{"gone", "", "once", "no tool here is called gone"},
	} {
		var got struct {
			client.Explained
			Facts struct{ Context struct{ Effect string } } `json:"facts"`
		}
		w.call(all, "POST", "/v1/agents/seer/explain", client.Why{Tool: c.tool, Effect: c.class}, 200, &got)
		if got.Facts.Context.Effect != c.want || !strings.Contains(got.Note, c.note) || c.note == "" && got.Note != "" {
			t.Errorf("%s as %q: got class %q and note %q, want %q and %q", c.tool, c.class, got.Facts.Context.Effect,
				got.Note, c.want, c.note)
		}
	}
	w.problem(all, "POST", "/v1/agents/seer/explain", client.Why{Decision: "3", Tool: "now"}, 400)
}
