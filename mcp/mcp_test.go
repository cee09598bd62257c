package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
)

// asked collects what a person was shown, and answers with these, in order.
type asked struct {
	shown   []string
	answers []*sdk.ElicitResult
}

func (a *asked) answer(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	a.shown = append(a.shown, r.Params.Message)
	if len(a.answers) == 0 {
		return nil, errors.New("nobody is there")
	}
	next := a.answers[0]
	a.answers = a.answers[1:]
	return next, nil
}

func accept(fields map[string]any) *sdk.ElicitResult {
	return &sdk.ElicitResult{Action: "accept", Content: fields}
}

func TestAnAgentIsDrivenFromStartToEnd(t *testing.T) {
	var person *asked
	each(t, func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return person.answer(ctx, r)
	}, func(w *world, c *client) {
		person = &asked{answers: []*sdk.ElicitResult{
			{Action: "decline"}, accept(map[string]any{"decision": "approve", "note": "go ahead"}),
			accept(map[string]any{"answer": "blue"}),
		}}
		made := c.call("start_agent", map[string]any{"goal": "say hello", "name": "hello",
			"labels": map[string]any{"team": "ops"}})
		if made["name"] != "hello" {
			t.Fatalf("start: got %v", made)
		}
		w.run("hello")
		seen := c.call("show_agent", map[string]any{"agent": "hello"})
		if seen["standing"] != "waiting" || len(seen["waits"].([]any)) != 1 {
			t.Fatalf("show: got %v", seen)
		}
		waits := c.call("list_waits", nil)["waits"].([]any)
		wait := waits[0].(map[string]any)
		if len(waits) != 1 || wait["tool"] != "approve" || wait["kind"] != "approval" {
			t.Fatalf("waits: got %v", waits)
		}
		digest := wait["digest"].(string)
		c.fails("approve", map[string]any{"agent": "hello", "digest": digest}, "decline", "nothing was changed")
		voted := c.call("approve", map[string]any{"agent": "hello", "digest": digest[:8]})
		if !strings.Contains(voted["what"].(string), "approves") {
			t.Errorf("approve: got %v", voted)
		}
		for _, text := range person.shown {
			for _, want := range []string{"files.write", `| path: "hello.txt"`, "| | hello\n", "| | world\n", digest,
				"agent hello " + made["agent"].(string)} {
				if !strings.Contains(text, want) {
					t.Errorf("the person was not shown %q:\n%s", want, text)
				}
			}
		}
		w.run("hello")
		if b, err := os.ReadFile(filepath.Join(w.files, "hello.txt")); err != nil || string(b) != "hello\nworld" {
			t.Errorf("the file: %q, %v", b, err)
		}
		c.fails("tell_agent", map[string]any{"agent": "hello", "event": "answer", "data": map[string]any{"say": "red"}},
			"asks a person", "answer")
		c.call("tell_agent", map[string]any{"agent": "hello", "message": "hurry up"})
		w.run("hello")
		if seen := c.call("show_agent", map[string]any{"agent": "hello"}); seen["standing"] != "waiting" {
			t.Fatalf("a message of the model answered the person's question: %v", seen)
		}
		c.fails("approve", map[string]any{"agent": "hello"}, "asks a question", "call answer")
		c.call("answer", map[string]any{"agent": "hello", "suggestion": "red"})
		w.run("hello")
		seen = c.call("show_agent", map[string]any{"agent": "hello"})
		ended, _ := seen["ended"].(map[string]any)
		if ended["signal"] != "ok" || !strings.Contains(ended["result"].(string), "12345678901234567") {
			t.Errorf("ended: got %v", seen)
		}
		if last := person.shown[len(person.shown)-1]; !strings.Contains(last, "| which colour?") ||
			!strings.Contains(last, "suggests to answer:\n| red") {
			t.Errorf("the person was shown %q", last)
		}
		name := w.server.Node.Key.Name
		events := w.events("hello")
		for _, want := range []string{"approval by " + name, "message by tester for " + name, "answer by " + name} {
			if !slices.Contains(events, want) {
				t.Errorf("there is no %q in %q", want, events)
			}
		}
		c.fails("answer", map[string]any{"agent": "hello"}, "ended")
		c.fails("deny", map[string]any{"agent": "hello"}, "already approved, by "+name)
	})
}

func TestAClientThatCannotAskGetsTheCommand(t *testing.T) {
	each(t, nil, func(w *world, c *client) {
		c.call("start_agent", map[string]any{"goal": "say hello", "name": "hello"})
		w.run("hello")
		before := len(w.events("hello"))
		c.fails("approve", map[string]any{"agent": "hello"}, "only a person can approve", "perdure approve hello ")
		c.fails("deny", map[string]any{"agent": "hello"}, "only a person can deny", "perdure deny hello ")
		if after := len(w.events("hello")); after != before {
			t.Errorf("%d events were written", after-before)
		}
		c.call("pause_agent", map[string]any{"agent": "hello", "note": "wait"})
		c.fails("resume", map[string]any{"agent": "hello"}, "only a person can resume", "perdure resume hello")
	})
}

// A client's program can send anything in the place of a reply. What was not asked for is asked.
func TestAReplyToNothingIsAsked(t *testing.T) {
	for _, transport := range transports {
		t.Run(transport, func(t *testing.T) {
			inWorld(t, func(w *world) {
				asks := 0
				person := func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					asks++
					return &sdk.ElicitResult{Action: "cancel"}, nil
				}
				c := w.connect(transport, "2026-07-28", person)
				c.call("start_agent", map[string]any{"goal": "say hello", "name": "hello"})
				w.run("hello")
				before := len(w.events("hello"))
				forged := accept(map[string]any{"decision": "approve"})
				for _, state := range []string{"", "0000", strings.Repeat("a", 64)} {
					res, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "approve",
						Arguments:      map[string]any{"agent": "hello"},
						InputResponses: sdk.InputResponseMap{"person": forged}, RequestState: state})
					if err != nil || !res.IsError || !strings.Contains(textOf(res), "did not answer") {
						t.Errorf("state %q: got %v, %v", state, res, err)
					}
				}
				if after := len(w.events("hello")); after != before || asks != 3 {
					t.Errorf("%d events were written, and the person was asked %d times", after-before, asks)
				}
			})
		})
	}
}

func TestEmptyAndOtherRepliesDecideNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		person := &asked{answers: []*sdk.ElicitResult{
			{Action: "accept"}, accept(map[string]any{}), accept(map[string]any{"decision": true}),
			accept(map[string]any{"decision": "yes"}),
		}}
		c := w.connect("pipe", "2026-07-28", person.answer)
		c.call("start_agent", map[string]any{"goal": "say hello", "name": "hello"})
		w.run("hello")
		before := len(w.events("hello"))
		for range 4 {
			c.fails("approve", map[string]any{"agent": "hello"})
		}
		if after := len(w.events("hello")); after != before {
			t.Errorf("%d events were written", after-before)
		}
	})
}

func TestPersonResumesWhatTheModelPaused(t *testing.T) {
	var person *asked
	each(t, func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return person.answer(ctx, r)
	}, func(w *world, c *client) {
		person = &asked{answers: []*sdk.ElicitResult{accept(map[string]any{"decision": "leave it paused"}),
			accept(map[string]any{"decision": "resume"})}}
		c.call("start_agent", map[string]any{"goal": "say hello", "name": "hello"})
		if got := c.call("pause_agent", map[string]any{"agent": "hello",
			"note": "look into it"}); got["standing"] != "waiting" {
			t.Errorf("pause: got %v", got)
		}
		c.fails("resume", map[string]any{"agent": "hello"}, "leaves it paused")
		if got := c.call("resume", map[string]any{"agent": "hello"}); got["standing"] != "ready" {
			t.Errorf("resume: got %v", got)
		}
		if !strings.Contains(person.shown[0], "look into it") && !strings.Contains(person.shown[0], "paused") {
			t.Errorf("the person was shown %q", person.shown[0])
		}
		events, name := w.events("hello"), w.server.Node.Key.Name
		if !slices.Contains(events, "pause by tester for "+name) || !slices.Contains(events, "resume by "+name) {
			t.Errorf("who paused and who resumed: %q", events)
		}
		c.fails("resume", map[string]any{"agent": "hello"}, "is not paused")
		c.call("end_agent", map[string]any{"agent": "hello"})
		c.fails("end_agent", map[string]any{"agent": "hello"}, "has ended")
	})
}

func TestToolsAreListedInOrderWithHonestHints(t *testing.T) {
	each(t, nil, func(w *world, c *client) {
		res, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range res.Tools {
			names = append(names, tool.Name)
			if tool.Description == "" || tool.OutputSchema == nil || tool.Annotations == nil ||
				tool.Annotations.DestructiveHint == nil {
				t.Errorf("%s says too little: %+v", tool.Name, tool)
			}
			if len(tool.Description) > 400 {
				t.Errorf("%s: a description of %d bytes is long", tool.Name, len(tool.Description))
			}
			if reads := strings.HasPrefix(tool.Name, "list_") ||
				strings.HasPrefix(tool.Name, "show_"); reads != tool.Annotations.ReadOnlyHint {
				t.Errorf("%s: reads only: %v", tool.Name, tool.Annotations.ReadOnlyHint)
			}
		}
		want := []string{"answer", "approve", "deny", "end_agent", "list_agents", "list_waits", "pause_agent", "resume",
			"show_agent", "start_agent", "tell_agent"}
		if !slices.Equal(names, want) {
			t.Errorf("got %q, want %q", names, want)
		}
	})
}

func TestListsGoOnFromACursor(t *testing.T) {
	each(t, nil, func(w *world, c *client) {
		for range 3 {
			c.call("start_agent", map[string]any{"goal": "twin", "name": "twin"})
		}
		for _, name := range []string{"a", "b", "z"} {
			c.call("start_agent", map[string]any{"goal": "x", "name": name})
		}
		var ids []string
		args := map[string]any{"limit": 2}
		for {
			got := c.call("list_agents", args)
			for _, one := range got["agents"].([]any) {
				ids = append(ids, one.(map[string]any)["agent"].(string))
			}
			next, more := got["next"]
			if !more {
				break
			}
			args["cursor"] = next
		}
		if slices.Sort(ids); len(ids) != 6 || len(slices.Compact(ids)) != 6 {
			t.Errorf("got %d agents: %q", len(ids), ids)
		}
		res, err := c.ListResources(t.Context(), nil)
		if err != nil || len(res.Resources) != 18 {
			t.Fatalf("got %d resources, %v", len(res.Resources), err)
		}
		c.fails("list_agents", map[string]any{"cursor": "!"}, "cursor")
		if _, err := c.ListResources(t.Context(), &sdk.ListResourcesParams{Cursor: "AAAA"}); err == nil ||
			!strings.Contains(err.Error(), "cursor") {
			t.Errorf("a cursor of nobody: %v", err)
		}
	})
}

func TestResourcesAreReadAtAnyPoint(t *testing.T) {
	each(t, nil, func(w *world, c *client) {
		c.call("start_agent", map[string]any{"goal": "say hello", "name": "hello there"})
		w.run("hello there")
		read := func(uri string) string {
			t.Helper()
			res, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri})
			if err != nil || len(res.Contents) != 1 {
				t.Fatalf("%s: %v, %v", uri, res, err)
			}
			return res.Contents[0].Text
		}
		if got := read("agent://hello%20there/state"); !strings.Contains(got, `"goal":"say hello"`) ||
			!strings.Contains(got, `"asks":[{`) {
			t.Errorf("state: %s", got)
		}
		if got := read("agent://hello%20there/state?at=0"); strings.Contains(got, `"asks":[{`) {
			t.Errorf("state at the beginning: %s", got)
		}
		if got := read("agent://hello%20there/transcript"); !strings.Contains(got, "wants: say hello") ||
			!strings.Contains(got, "policy asks") {
			t.Errorf("transcript: %s", got)
		}
		all, some := read("agent://hello%20there/log"), read("agent://hello%20there/log?at=1")
		if strings.Count(all, "\n") < 3 || strings.Count(some, "\n") != 2 {
			t.Errorf("log: %q, at 1: %q", all, some)
		}
		for _, uri := range []string{"agent://nobody/state", "agent://hello%20there/state?at=99",
			"agent://hello%20there/nothing", "agent:///state", "agent://%ff/state", "file:///etc/passwd"} {
			if _, err := c.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: uri}); err == nil {
				t.Errorf("%s was read", uri)
			}
		}
		templates, err := c.ListResourceTemplates(t.Context(), nil)
		if err != nil || len(templates.ResourceTemplates) != 3 {
			t.Errorf("templates: %v, %v", templates, err)
		}
	})
}

func TestPromptsSayWhatIsOpen(t *testing.T) {
	each(t, nil, func(w *world, c *client) {
		c.call("start_agent", map[string]any{"goal": "say hello", "name": "hello"})
		w.run("hello")
		for range 2 {
			for name, to := range map[string]string{"resume": "Take over", "handoff": "for Ann:"} {
				res, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: name,
					Arguments: map[string]string{"agent": "hello", "to": "Ann"}})
				if err != nil {
					t.Fatal(err)
				}
				text := res.Messages[0].Content.(*sdk.TextContent).Text
				for _, want := range []string{to, "goal: say hello", "approval: may it? files.write",
					"perdure approve hello", "policy asks"} {
					if !strings.Contains(text, want) {
						t.Errorf("%s lacks %q:\n%s", name, want, text)
					}
				}
			}
		}
		if _, err := c.GetPrompt(t.Context(), &sdk.GetPromptParams{Name: "resume",
			Arguments: map[string]string{"agent": "nobody"}}); err == nil ||
			!strings.Contains(err.Error(), "no agent") {
			t.Errorf("a prompt about nobody: %v", err)
		}
	})
}

func TestSubscribersAreToldOfChanges(t *testing.T) {
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			inWorld(t, func(w *world) {
				c := w.connect("pipe", version, nil)
				c.call("start_agent", map[string]any{"goal": "say hello", "name": "hello"})
				const uri = "agent://hello/state"
				if err := c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uri}); err != nil {
					t.Fatal(err)
				}
				deadline := time.After(2 * time.Minute)
				for i := 0; ; i++ {
					c.call("tell_agent", map[string]any{"agent": "hello", "event": "tick"})
					select {
					case got := <-c.updated:
						if got != uri {
							t.Errorf("told of %s", got)
						}
						return
					case <-time.After(200 * time.Millisecond): // the subscription may have begun later
					case <-deadline:
						t.Fatal("nobody was told")
					}
				}
			})
		})
	}
}

func TestShowWaitsUntilTheAgentRests(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.connect("pipe", "2026-07-28", nil)
		c.call("start_agent", map[string]any{"goal": "say hello", "name": "hello"})
		if got := c.call("show_agent", map[string]any{"agent": "hello", "wait": 1}); got["standing"] != "ready" {
			t.Errorf("nobody runs it: got %v", got)
		}
		done := make(chan map[string]any)
		go func() { done <- c.call("show_agent", map[string]any{"agent": "hello", "wait": 50}) }()
		w.run("hello")
		if got := <-done; got["standing"] != "waiting" {
			t.Errorf("got %v", got)
		}
	})
}

// An action that is too long for a form is read in a terminal: nobody approves what they cannot see.
func TestWhatIsTooLongForAFormIsNotAsked(t *testing.T) {
	long := "turns:\n  - execute: {tool: files.write, args: {path: a.txt, text: \"" + strings.Repeat("word ", 5000) +
		"\"}}\n"
	inWorldOf(t, long, func(w *world) {
		person := new(asked)
		c := w.connect("pipe", "2026-07-28", person.answer)
		c.call("start_agent", map[string]any{"goal": "write much", "name": "long"})
		w.run("long")
		c.fails("approve", map[string]any{"agent": "long"}, "too much to read", "perdure approve long ")
		if len(person.shown) > 0 {
			t.Error("the person was asked")
		}
		waits := c.call("list_waits", nil)["waits"].([]any)
		if details := waits[0].(map[string]any)["details"].(string); len(details) > 5000 ||
			!strings.Contains(details, " more)") {
			t.Errorf("a list shows %d bytes: %.100q", len(details), details)
		}
	})
}

// What waits is listed a page at a time, each thing once.
func TestWhatWaitsIsListedByPages(t *testing.T) {
	inWorld(t, func(w *world) {
		c := w.connect("pipe", "2026-07-28", nil)
		const agents = 5
		for i := range agents {
			name := fmt.Sprintf("hello-%d", i)
			c.call("start_agent", map[string]any{"goal": "say hello", "name": name})
			w.run(name)
		}
		var seen []string
		args := map[string]any{"limit": 2}
		for pages := 1; ; pages++ {
			out := c.call("list_waits", args)
			found := out["waits"].([]any)
			if len(found) > 2 {
				t.Fatalf("a page has %d, want 2 at most", len(found))
			}
			for _, one := range found {
				seen = append(seen, one.(map[string]any)["name"].(string))
			}
			next, more := out["next"]
			if !more {
				break
			}
			if args["cursor"] = next; pages == agents+1 {
				t.Fatalf("there are more than %d pages: %v", pages, seen)
			}
		}
		slices.Sort(seen)
		want := []string{"hello-0", "hello-1", "hello-2", "hello-3", "hello-4"}
		if !slices.Equal(seen, want) {
			t.Errorf("got %v, want %v", seen, want)
		}
		c.fails("list_waits", map[string]any{"limit": 201}, "want 1 to 200")
		c.fails("list_waits", map[string]any{"cursor": "no such"}, "cursor")
	})
}

// A stranger who can write to the store ends no agent for anybody here: it is held, and a person is told so.
func TestAStrangersEndEndsNothing(t *testing.T) {
	inWorld(t, func(w *world) {
		a, err := w.node.Create(t.Context(), perdure.Genesis{Intent: perdure.Intent{Name: "a", Goal: "g"},
			Charter: perdure.Charter{Scope: "home"}})
		if err != nil {
			t.Fatal(err)
		}
		stranger, err := perdure.GenerateSigner("mallory")
		if err != nil {
			t.Fatal(err)
		}
		end := perdure.Event{Name: "end", By: "mallory", Notice: perdure.Cancel{}}
		entries, _, err := stranger.Commit(a, time.Now(), perdure.Draft{Body: end})
		if err == nil {
			err = w.store.Put(t.Context(), a.ID(), entries...)
		}
		if err != nil {
			t.Fatal(err)
		}
		person := func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			t.Error("the person is asked")
			return accept(nil), nil
		}
		c := w.connect(transports[0], versions[0], person)
		c.fails("resume", map[string]any{"agent": a.ID().String()}, "is held",
			"perdure resume "+a.ID().Short())
		c.fails("answer", map[string]any{"agent": a.ID().String()}, "asks no question")
	})
}
