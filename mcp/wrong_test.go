package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
)

// hidden is what must not reach a reader as it is: an escape sequence, a turn of direction, what has no width.
const hidden = "\x1b[2J\u202eevil\u200b\u0007"

// Whatever a model writes, it gets an answer that says what to do, and nothing is written for it.
func TestWrongCallsAreRefusedInWords(t *testing.T) {
	each(t, func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}, func(w *world, c *client) {
		c.call("start_agent", map[string]any{"goal": "say hello", "name": "hello"})
		c.call("start_agent", map[string]any{"goal": "over", "name": "over"})
		c.call("end_agent", map[string]any{"agent": "over"})
		if was := c.call("start_agent", map[string]any{"goal": "twin", "name": "twin"}); was["notes"] != nil {
			c.t.Errorf("a name that is free: %v", was)
		}
		second := c.call("start_agent", map[string]any{"goal": "twin", "name": "twin"})
		if text := fmt.Sprint(second["notes"]); !strings.Contains(text, "another agent is also called twin") {
			c.t.Errorf("a name that is taken: %v, want a note", second)
		}
		w.run("hello")
		before := w.entries()
		big := strings.Repeat("x", 1<<20)
		for _, wrong := range []struct {
			tool  string
			args  map[string]any
			words []string
		}{
			{"no_such_tool", nil, []string{"unknown tool"}},
			{"start_agent", nil, []string{"goal"}},
			{"start_agent", map[string]any{"goal": "  "}, []string{"goal is empty"}},
			{"start_agent", map[string]any{"goal": 7}, []string{"goal"}},
			{"start_agent", map[string]any{"goal": "x", "gaol": "y"}, []string{"gaol"}},
			{"start_agent", map[string]any{"goal": "x", "name": "a/b"}, []string{"commands take it for a file"}},
			{"start_agent", map[string]any{"goal": "x", "name": hidden}, []string{"cannot be seen"}},
			{"start_agent", map[string]any{"goal": "x", "scope": "../up"}, []string{"scope"}},
			{"start_agent", map[string]any{"goal": "x", "deadline": "yesterday"},
				[]string{"deadline", "duration such as"}},
			{"start_agent", map[string]any{"goal": "x", "deadline": "2001-01-01"}, []string{"has passed"}},
			{"start_agent", map[string]any{"goal": "x", "budget": map[string]any{"cost": "much"}},
				[]string{"US dollars"}},
			{"start_agent", map[string]any{"goal": "x", "budget": map[string]any{"calls": -1}},
				[]string{"want 0 or more"}},
			{"start_agent", map[string]any{"goal": "x", "inputs": "text"}, []string{"inputs"}},
			{"show_agent", map[string]any{"agent": ""}, []string{"name an agent"}},
			{"show_agent", map[string]any{"agent": "nobody"}, []string{"there is no agent", "list_agents"}},
			{"show_agent", map[string]any{"agent": hidden}, []string{"there is no agent"}},
			{"show_agent", map[string]any{"agent": big}, []string{"there is no agent"}},
			{"show_agent", map[string]any{"agent": "twin"}, []string{"could be", "use its id"}},
			{"show_agent", map[string]any{"agent": "hello@"}, []string{"after the @"}},
			{"show_agent", map[string]any{"agent": "hello@999"}, []string{"there is no entry"}},
			{"show_agent", map[string]any{"agent": "hello", "wait": 3600}, []string{"want wait from 0 to 50"}},
			{"show_agent", map[string]any{"agent": "hello@0", "wait": 1}, []string{"as it is now"}},
			{"show_agent", map[string]any{"agent": "hello", "wait": "3s"}, []string{"the arguments: wait: 3s has"}},
			{"show_agent", map[string]any{}, []string{`the arguments: missing: ["agent"]`,
				"hint: show_agent takes agent, "}},
			{"tell_agent", map[string]any{"agent": "hello", "text": "x"}, []string{`unknown: ["text"]`,
				"hint: tell_agent takes agent, data, event, id, message"}},
			{"list_agents", map[string]any{"limit": 1e9}, []string{"limit"}},
			{"list_agents", map[string]any{"limit": 0}, []string{"the arguments: limit 0: want at least 1\n"}},
			{"list_waits", map[string]any{"limit": -1}, []string{"limit -1: want at least 1"}},
			{"list_agents", map[string]any{"scope": "a b"}, []string{"scope"}},
			{"list_waits", map[string]any{"agent": "nobody"}, []string{"there is no agent"}},
			{"tell_agent", map[string]any{"agent": "hello"}, []string{"either a message or an event"}},
			{"tell_agent", map[string]any{"agent": "hello", "message": "x", "event": "y"},
				[]string{"either a message or an event"}},
			{"tell_agent", map[string]any{"agent": "hello", "message": "x", "data": map[string]any{}},
				[]string{"data belongs to an event"}},
			{"tell_agent", map[string]any{"agent": "over", "message": "x"}, []string{"has ended"}},
			{"tell_agent", map[string]any{"agent": "hello@1", "message": "x"}, []string{"as it is now"}},
			{"pause_agent", map[string]any{"agent": "over"}, []string{"has ended"}},
			{"approve", map[string]any{"agent": "hello", "digest": "zz"}, []string{"hex digits"}},
			{"approve", map[string]any{"agent": "hello", "digest": strings.Repeat("0", 64)},
				[]string{"has no open question"}},
			{"approve", map[string]any{"agent": "hello", "expires": "1h ago"}, []string{"expires"}},
			{"approve", map[string]any{"agent": "over"}, []string{"has ended"}},
			{"approve", map[string]any{"agent": "twin"}, []string{"could be"}},
			{"deny", map[string]any{"agent": "hello"}, []string{"did not answer"}},
			{"answer", map[string]any{"agent": "hello"}, []string{"asks no question", "approve"}},
			{"resume", map[string]any{"agent": "hello"}, []string{"is not paused"}},
			{"resume", map[string]any{"agent": "over"}, []string{"has ended"}},
		} {
			res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: wrong.tool, Arguments: wrong.args})
			text := fmt.Sprint(err)
			if err == nil {
				if text = textOf(res); !res.IsError {
					t.Errorf("%s %.80v: it worked: %s", wrong.tool, wrong.args, text)
				}
			}
			for _, word := range wrong.words {
				if !strings.Contains(text, word) {
					t.Errorf("%s %.80v: got %.300q, want %q in it", wrong.tool, wrong.args, text, word)
				}
			}
			plain(t, fmt.Sprintf("%s %.80v", wrong.tool, wrong.args), text)
			if len(text) > 10<<10 {
				t.Errorf("%s: an error of %d bytes", wrong.tool, len(text))
			}
		}
		if after := w.entries(); after != before {
			t.Errorf("%d entries were written", after-before)
		}
	})
}

// entries is how many entries the store has.
func (w *world) entries() (n int) {
	w.t.Helper()
	l := w.store.(perdure.Lister)
	for one, err := range l.List(w.t.Context(), perdure.Filter{}) {
		if err != nil {
			w.t.Fatal(err)
		}
		for _, err := range perdure.Memory(w.t.Context(), w.store, one.Agent) {
			if err != nil {
				w.t.Fatal(err)
			}
			n++
		}
	}
	return n
}

// plain fails if a text holds what is hidden.
func plain(t *testing.T, what, text string) {
	t.Helper()
	if strings.ContainsAny(text, "\x1b\u202e\u200b\u0007") {
		t.Errorf("%s shows what is hidden: %.300q", what, text)
	}
}

// What agents and strangers wrote reaches nobody as it is, by whatever way it is read.
func TestNothingHiddenIsServed(t *testing.T) {
	var shown []string
	each(t, func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		text, err := json.Marshal(r.Params)
		var v any
		if err == nil {
			err = json.Unmarshal(text, &v)
		}
		shown = append(shown, fmt.Sprint(v))
		return &sdk.ElicitResult{Action: "cancel"}, err
	}, func(w *world, c *client) {
		shown = nil
		data, err := perdure.DataOf(map[string]any{"k" + hidden: []any{hidden}})
		if err != nil {
			t.Fatal(err)
		}
		a, err := w.server.Node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "n" + hidden,
			Goal: "g" + hidden, Kind: hidden,
			Inputs: data, Labels: map[string]string{hidden: hidden}}, Charter: perdure.Charter{Scope: "home"}})
		if err != nil {
			t.Fatal(err)
		}
		id := a.ID().String()
		if err := w.store.(perdure.Lister).Index(t.Context(), a.Heads(), a.Listing(time.Now())); err != nil {
			t.Fatal(err)
		}
		if _, err := w.server.Node.Tell(t.Context(), a.ID(),
			perdure.Event{Name: "e" + hidden, By: hidden, Data: data}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.server.Node.Pause(t.Context(), a.ID(), hidden); err != nil {
			t.Fatal(err)
		}
		for _, call := range []struct {
			tool string
			args map[string]any
		}{
			{"list_agents", nil}, {"show_agent", map[string]any{"agent": id}}, {"list_waits", nil},
			{"resume", map[string]any{"agent": id}},
			{"tell_agent", map[string]any{"agent": id, "event": "x" + hidden}},
			{"pause_agent", map[string]any{"agent": id, "note": hidden}},
			{"end_agent", map[string]any{"agent": id, "note": hidden}}, {"show_agent", map[string]any{"agent": id}},
		} {
			res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: call.tool, Arguments: call.args})
			if err != nil {
				t.Fatal(err)
			}
			plain(t, call.tool, textOf(res))
			plain(t, call.tool, fmt.Sprint(res.StructuredContent))
		}
		for _, text := range shown {
			plain(t, "a form", text)
		}
		if len(shown) == 0 {
			t.Error("nobody was asked")
		}
		for _, part := range []string{"log", "transcript"} {
			res, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "agent://" + id + "/" + part})
			if err != nil {
				t.Fatal(err)
			}
			plain(t, part, res.Contents[0].Text)
		}
		res, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "agent://" + id + "/state"})
		if err != nil {
			t.Fatal(err)
		}
		plain(t, "state", res.Contents[0].Text)
		list, err := c.ListResources(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.Resources {
			plain(t, "resources", r.Name+r.URI)
		}
		for _, name := range []string{"resume", "handoff"} {
			res, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: name,
				Arguments: map[string]string{"agent": id, "to": hidden}})
			if err != nil {
				t.Fatal(err)
			}
			plain(t, name, res.Messages[0].Content.(*sdk.TextContent).Text)
		}
	})
}

// Two who approve at once are one vote, and the second is told.
func TestApprovingTwiceAtOnceIsOneVote(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			inWorld(t, func(w *world) {
				var together sync.WaitGroup
				together.Add(2)
				person := func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					together.Done()
					together.Wait() // both have the form before one sends it
					return accept(map[string]any{"decision": "approve"}), nil
				}
				one, two := w.connect("pipe", version, person), w.connect("http", version, person)
				one.call("start_agent", map[string]any{"goal": "say hello", "name": "hello"})
				w.run("hello")
				answers := make(chan string, 2)
				for _, c := range []*client{one, two} {
					go func() {
						res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "approve",
							Arguments: map[string]any{"agent": "hello"}})
						if err != nil {
							answers <- err.Error()
							return
						}
						answers <- textOf(res)
					}()
				}
				both := <-answers + "\n" + <-answers
				votes := 0
				for _, e := range w.events("hello") {
					if strings.HasPrefix(e, "approval by") {
						votes++
					}
				}
				w.run("hello")
				if votes != 1 || !strings.Contains(both, "approves") || !strings.Contains(both, "already approved") {
					t.Errorf("%d votes: %s", votes, both)
				}
				if got := one.call("show_agent", map[string]any{"agent": "hello"}); !strings.Contains(
					fmt.Sprint(got["waits"]), "colour") {
					t.Errorf("it did not go on once: %v", got)
				}
			})
		})
	}
}

// A call that is given up is answered by nobody, and the server goes on.
func TestCancelledCallsEnd(t *testing.T) {
	var gone chan struct{}
	each(t, func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-gone: // not every client is told that nobody waits for the reply
			return nil, errors.New("too late")
		}
	}, func(w *world, c *client) {
		gone = make(chan struct{})
		defer close(gone)
		c.call("start_agent", map[string]any{"goal": "say hello", "name": "hello"})
		for _, call := range []*sdk.CallToolParams{
			{Name: "show_agent", Arguments: map[string]any{"agent": "hello", "wait": 50}},
			{Name: "approve", Arguments: map[string]any{"agent": "hello"}},
		} {
			if call.Name == "approve" {
				w.run("hello")
			}
			ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, err := c.CallTool(ctx, call)
			stop()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", call.Name, err)
			}
		}
		if got := c.call("list_waits", nil)["waits"].([]any); len(got) != 1 {
			t.Errorf("waits: %v", got)
		}
	})
}

// What is no call at all does not take the server down.
func TestRawNonsenseIsRefused(t *testing.T) {
	inWorld(t, func(w *world) {
		web := httptest.NewServer(w.server.Handler(t.Context()))
		defer web.Close()
		post := func(version, body string) (int, string) {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, web.URL, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			if version != "" {
				req.Header.Set("Mcp-Protocol-Version", version)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			text := make([]byte, 2000)
			n, _ := res.Body.Read(text)
			return res.StatusCode, string(text[:n])
		}
		for _, body := range []string{"", "{", "[]", "null", "7", `{"jsonrpc":"1.0"}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"show_agent","arguments":"x"}}`,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"show_agent","arguments":[1]}}`,
			`{"jsonrpc":"2.0","id":1,"method":"nothing"}`, strings.Repeat("[", 100000), strings.Repeat("x", 17<<20)} {
			for _, version := range []string{"", "2025-11-25", "2026-07-28", "2099-01-01", "nonsense"} {
				if code, text := post(version, body); code == http.StatusInternalServerError || code == http.StatusOK &&
					!strings.Contains(text, "error") {
					t.Errorf("%.60s in %q: %d %s", body, version, code, text)
				}
			}
		}
		c := w.connect("http", "2026-07-28", nil)
		c.call("list_agents", nil)
	})
}
