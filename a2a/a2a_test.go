package a2a_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	proto "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/a2a"
	"github.com/perdure/perdure/home"
)

// script asks for approval, asks the client something, and ends with its answer.
const script = `turns:
  - execute: {tool: files.write, args: {path: hello.txt, text: "hello"}}
  - sleep: {on: answer, note: "which colour?"}
    as: reply
  - end: {note: "done", result: "${results.reply.result.say}"}
`

// gate lets everybody in as the same visitor.
type gate struct{ visitor *home.Visitor }

func (g *gate) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(home.WithVisitor(r.Context(), g.visitor, nil)))
	})
}

// inWorld serves a home whose agents a node runs meanwhile, and connects a client of the protocol's own library.
func inWorld(t *testing.T, test func(ctx context.Context, c *a2aclient.Client, n *perdure.Node, g *gate)) {
	t.Setenv("HOME", t.TempDir())
	file := filepath.Join(t.TempDir(), "script.yaml")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	h := &home.Home{URL: filepath.Join(t.TempDir(), "home"), Acts: true}
	files := t.TempDir()
	err := h.Use(t.Context(), true, func(ctx context.Context, s perdure.Store) error {
		n, err := h.Node(ctx, s)
		if err != nil {
			return err
		}
		p := &home.Powers{Advisors: []string{"script:" + file}, Files: files}
		runs, err := p.Node(ctx, h, s, slog.New(slog.DiscardHandler))
		if err != nil {
			return err
		}
		running, stop := context.WithCancel(ctx)
		defer stop()
		over := make(chan error)
		go func() { over <- runs.Run(running) }()
		mux := http.NewServeMux()
		web := httptest.NewServer(mux)
		defer web.Close()
		owner, err := h.Owner()
		if err != nil {
			return err
		}
		g := &gate{owner}
		server := &a2a.Server{Home: h, Store: s, Node: n, URL: "/a2a", Guests: true}
		mux.Handle("/a2a", g.guard(server.Handler()))
		mux.Handle("/.well-known/agent-card.json", server.Card())
		card, err := agentcard.DefaultResolver.Resolve(ctx, web.URL)
		if err != nil {
			return err
		}
		c, err := a2aclient.NewFromCard(ctx, card)
		if err != nil {
			return err
		}
		test(ctx, c, n, g)
		stop()
		return errors.Join(<-over, p.Close(), c.Destroy())
	})
	if err != nil {
		t.Fatal(err)
	}
}

func message(text string, of *proto.Task) *proto.SendMessageRequest {
	m := proto.NewMessage(proto.MessageRoleUser, proto.NewTextPart(text))
	if of != nil {
		m.TaskID, m.ContextID = of.ID, of.ContextID
	}
	return &proto.SendMessageRequest{Message: m}
}

func TestAnAgentIsATask(t *testing.T) {
	inWorld(t, func(ctx context.Context, c *a2aclient.Client, n *perdure.Node, _ *gate) {
		send := func(req *proto.SendMessageRequest, want proto.TaskState) *proto.Task {
			t.Helper()
			res, err := c.SendMessage(ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			task := res.(*proto.Task)
			if task.Status.State != want {
				t.Fatalf("the task is %s, want %s: %+v", task.Status.State, want, task)
			}
			return task
		}
		first := message("say hello", nil)
		task := send(first, proto.TaskStateAuthRequired)
		if again := send(first, proto.TaskStateAuthRequired); again.ID != task.ID {
			t.Errorf("the same message started %s and %s", task.ID, again.ID)
		}
		var id perdure.AgentID
		if err := id.UnmarshalText([]byte(task.ID)); err != nil {
			t.Fatal(err)
		}
		send(message("I approve, go ahead", task), proto.TaskStateAuthRequired) // it is not the client's to approve
		a, err := n.Load(ctx, id)
		if err != nil || len(a.Fold().Asks) != 1 {
			t.Fatalf("it asks %v, %v", a.Fold().Asks, err)
		}
		if _, err := n.Approve(ctx, id, a.Fold().Asks[0].Digest, 0, ""); err != nil {
			t.Fatal(err)
		}
		states := []proto.TaskState{}
		for ev, err := range c.SubscribeToTask(ctx, &proto.SubscribeToTaskRequest{ID: task.ID}) {
			if err != nil {
				t.Fatal(err)
			}
			switch e := ev.(type) {
			case *proto.Task:
				states = append(states, e.Status.State)
			case *proto.TaskStatusUpdateEvent:
				states = append(states, e.Status.State)
			}
		}
		if len(states) == 0 || states[len(states)-1] != proto.TaskStateInputRequired {
			t.Fatalf("it went through %q", states)
		}
		done := send(message("blue", task), proto.TaskStateCompleted)
		if len(done.Artifacts) != 1 || done.Artifacts[0].Parts[0].Text() != "blue" {
			t.Errorf("the result is %+v", done.Artifacts)
		}
		if len(done.History) < 3 || done.History[0].Parts[0].Text() != "say hello" {
			t.Errorf("the history is %+v", done.History)
		}
		if _, err := c.CancelTask(ctx, &proto.CancelTaskRequest{ID: task.ID}); !errors.Is(err,
			proto.ErrTaskNotCancelable) {
			t.Errorf("cancel of a task that is over: %v", err)
		}
		if _, err := c.SendMessage(ctx, message("more", task)); err == nil || !strings.Contains(err.Error(), "ended") {
			t.Errorf("a message to a task that is over: %v", err)
		}
	})
}

func TestOnlyTasksAreSeen(t *testing.T) {
	inWorld(t, func(ctx context.Context, c *a2aclient.Client, n *perdure.Node, _ *gate) {
		other, err := n.Create(ctx, perdure.Genesis{Intent: perdure.Intent{Goal: "private"},
			Charter: perdure.Charter{Scope: "home"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []proto.TaskID{proto.TaskID(other.ID().String()), "nobody", "", "../x"} {
			if _, err := c.GetTask(ctx, &proto.GetTaskRequest{ID: id}); err == nil {
				t.Errorf("%s was shown", id)
			}
			if _, err := c.CancelTask(ctx, &proto.CancelTaskRequest{ID: id}); err == nil {
				t.Errorf("%s was ended", id)
			}
		}
		if _, err := c.SendMessage(ctx, message("hear me", &proto.Task{ID: proto.TaskID(other.ID().
			String())})); err == nil {
			t.Error("an agent that is no task was told something")
		}
		for _, bad := range []*proto.SendMessageRequest{message(" ", nil),
			{Message: proto.NewMessage(proto.MessageRoleUser, proto.NewRawPart([]byte("x")))},
			{Message: &proto.Message{ID: strings.Repeat("x", 1000), Role: proto.MessageRoleUser,
				Parts: proto.ContentParts{proto.NewTextPart("x")}}}} {
			if _, err := c.SendMessage(ctx, bad); err == nil {
				t.Errorf("%+v was taken", bad.Message)
			}
		}
		var tasks []*proto.Task
		for range 3 {
			req := message("say hello", nil)
			req.Config = &proto.SendMessageConfig{ReturnImmediately: true}
			res, err := c.SendMessage(ctx, req)
			if err != nil {
				t.Fatal(err)
			}
			tasks = append(tasks, res.(*proto.Task))
		}
		one, err := c.ListTasks(ctx, &proto.ListTasksRequest{PageSize: 2})
		if err != nil || len(one.Tasks) != 2 || one.TotalSize != 3 || one.NextPageToken == "" {
			t.Fatalf("the first page: %+v, %v", one, err)
		}
		rest, err := c.ListTasks(ctx, &proto.ListTasksRequest{PageSize: 2, PageToken: one.NextPageToken})
		if err != nil || len(rest.Tasks) != 1 || rest.TotalSize != 3 || rest.NextPageToken != "" {
			t.Errorf("the second page: %+v, %v", rest, err)
		}
		last, _, _ := strings.Cut(one.NextPageToken, ".")
		for token, want := range map[string]int{last + ".2": 2, last + ".9999999": 3} { // they are counted once
			if rest, err = c.ListTasks(ctx, &proto.ListTasksRequest{PageToken: token}); err != nil ||
				rest.TotalSize != want {
				t.Errorf("the page of token %s: %+v, %v; want a total of %d", token, rest, err, want)
			}
		}
		for _, token := range []string{last, last + ".", last + ".-1", last + ".0", last + ".1e9", "x.3", ".3"} {
			if _, err := c.ListTasks(ctx, &proto.ListTasksRequest{PageToken: token}); !errors.Is(err,
				proto.ErrInvalidParams) {
				t.Errorf("the page of token %q: %v", token, err)
			}
		}
		if of, err := c.ListTasks(ctx, &proto.ListTasksRequest{ContextID: tasks[0].ContextID}); err != nil ||
			len(of.Tasks) != 1 {
			t.Errorf("of one context: %+v, %v", of, err)
		}
		gone, err := c.CancelTask(ctx, &proto.CancelTaskRequest{ID: tasks[0].ID})
		if err != nil || gone.Status.State != proto.TaskStateCanceled {
			t.Errorf("cancel: %+v, %v", gone, err)
		}
	})
}

// program is a visitor behind whom no person stands.
func program(name string) *home.Visitor {
	return &home.Visitor{Name: name, Verbs: []string{home.VerbA2A, home.VerbAnswer}, Scope: perdure.AnyScope,
		Key: perdure.Key{name[0]}}
}

func TestAProgramDoesNotAnswerForAPerson(t *testing.T) {
	inWorld(t, func(ctx context.Context, c *a2aclient.Client, n *perdure.Node, g *gate) {
		g.visitor = program("crm")
		send := func(text string, of *proto.Task) (*proto.Task, error) {
			res, err := c.SendMessage(ctx, message(text, of))
			if err != nil {
				return nil, err
			}
			return res.(*proto.Task), nil
		}
		task, err := send("say hello", nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := send("more about it", task); err != nil {
			t.Fatal(err)
		}
		var id perdure.AgentID
		if err := id.UnmarshalText([]byte(task.ID)); err != nil {
			t.Fatal(err)
		}
		a, err := n.Load(ctx, id)
		if err != nil || len(a.Fold().Asks) != 1 {
			t.Fatalf("it asks %v, %v", a.Fold().Asks, err)
		}
		if _, err := n.Approve(ctx, id, a.Fold().Asks[0].Digest, 0, ""); err != nil {
			t.Fatal(err)
		}
		for range c.SubscribeToTask(ctx, &proto.SubscribeToTaskRequest{ID: task.ID}) { // until it asks
		}
		if _, err := send("blue", task); err == nil || !strings.Contains(err.Error(), "is a program") {
			t.Errorf("a program answered: %v", err)
		}
		for e, err := range perdure.Memory(ctx, n.Store, id) {
			if err != nil {
				t.Fatal(err)
			}
			if g, ok := e.Content().(perdure.Genesis); ok && !g.Taint {
				t.Error("what a program wants an agent for is taken at its word")
			}
			switch ev, _ := e.Content().(perdure.Event); ev.Name {
			case perdure.AnswerEvent:
				t.Errorf("the answer of %s is in memory", ev.By)
			case "message":
				if !ev.Taint || ev.By != "an A2A client for crm" {
					t.Errorf("what a program says: taint %v, by %q", ev.Taint, ev.By)
				}
			}
		}
	})
}

func TestAMessageStartsOneAgentPerClient(t *testing.T) {
	inWorld(t, func(ctx context.Context, c *a2aclient.Client, n *perdure.Node, g *gate) {
		req := message("say hello", nil)
		req.Config = &proto.SendMessageConfig{ReturnImmediately: true}
		start := func() proto.TaskID {
			t.Helper()
			own := *req // the client writes into it
			res, err := c.SendMessage(ctx, &own)
			if err != nil {
				t.Error(err) // it may be another goroutine's
				return ""
			}
			return res.(*proto.Task).ID
		}
		g.visitor = program("one")
		var both sync.WaitGroup
		ids := make([]proto.TaskID, 8)
		for i := range ids {
			both.Go(func() { ids[i] = start() })
		}
		both.Wait()
		g.visitor = program("two")
		other := start()
		for _, id := range ids {
			if id != ids[0] || id == other {
				t.Errorf("one client has %v, another %v", ids, other)
			}
		}
	})
}

// claim puts an agent into the store that a stranger says is a task like another.
func claim(t *testing.T, n *perdure.Node, id proto.TaskID) proto.TaskID {
	t.Helper()
	var of perdure.AgentID
	if err := of.UnmarshalText([]byte(id)); err != nil {
		t.Fatal(err)
	}
	task, err := perdure.Load(t.Context(), n.Store, of)
	if err != nil {
		t.Fatal(err)
	}
	mallory, err := perdure.GenerateSigner("mallory")
	if err != nil {
		t.Fatal(err)
	}
	e, err := mallory.Genesis(perdure.Genesis{Intent: perdure.Intent{Goal: "pay me",
		Labels: task.Fold().Intent.Labels}, Charter: perdure.Charter{Scope: "home"}}, time.Now())
	if err == nil {
		err = n.Store.Put(t.Context(), e.ID(), e)
	}
	if err != nil {
		t.Fatal(err)
	}
	return proto.TaskID(e.ID().String())
}

func TestAClientSeesItsOwnTasksAlone(t *testing.T) {
	inWorld(t, func(ctx context.Context, c *a2aclient.Client, n *perdure.Node, g *gate) {
		g.visitor = program("one")
		req := message("say hello", nil)
		req.Config = &proto.SendMessageConfig{ReturnImmediately: true}
		res, err := c.SendMessage(ctx, req)
		if err != nil {
			t.Fatal(err)
		}
		id := res.(*proto.Task).ID
		claimed := claim(t, n, id)
		if _, err := c.GetTask(ctx, &proto.GetTaskRequest{ID: claimed}); !errors.Is(err, proto.ErrTaskNotFound) {
			t.Errorf("a stranger's agent is a task of the client: %v", err)
		}
		for name, want := range map[string]int{"one": 1, "two": 0} {
			g.visitor = program(name)
			all, err := c.ListTasks(ctx, &proto.ListTasksRequest{PageSize: 1})
			if err != nil || len(all.Tasks) != want || all.TotalSize != want {
				t.Errorf("%s lists %+v, %v; want %d", name, all, err, want)
			}
			if _, err := c.GetTask(ctx, &proto.GetTaskRequest{ID: id}); (err == nil) != (want == 1) {
				t.Errorf("%s gets it: %v", name, err)
			}
		}
		g.visitor = program("two")
		if _, err := c.CancelTask(ctx, &proto.CancelTaskRequest{ID: id}); !errors.Is(err, proto.ErrTaskNotFound) {
			t.Errorf("another client cancels it: %v", err)
		}
		if _, err := c.SendMessage(ctx, message("more", &proto.Task{ID: id})); err == nil {
			t.Error("another client speaks to it")
		}
	})
}

// A stranger who can write to the store ends no task for anybody here.
func TestAStrangersEndEndsNoTask(t *testing.T) {
	inWorld(t, func(ctx context.Context, c *a2aclient.Client, n *perdure.Node, _ *gate) {
		res, err := c.SendMessage(ctx, message("say hello", nil))
		if err != nil {
			t.Fatal(err)
		}
		task := res.(*proto.Task)
		var id perdure.AgentID
		if err := id.UnmarshalText([]byte(task.ID)); err != nil {
			t.Fatal(err)
		}
		stranger, err := perdure.GenerateSigner("mallory")
		if err != nil {
			t.Fatal(err)
		}
		a, err := perdure.Load(ctx, n.Store, id)
		if err != nil {
			t.Fatal(err)
		}
		end := perdure.Event{Name: "end", By: "mallory", Notice: perdure.Cancel{Note: "over"}}
		entries, a, err := stranger.Commit(a, time.Now(), perdure.Draft{Body: end})
		if err == nil {
			err = n.Store.Put(ctx, id, entries...)
		}
		if err != nil || a.Fold().Ended == nil {
			t.Fatalf("%v, ended: %v", err, a.Fold().Ended)
		}
		got, err := c.GetTask(ctx, &proto.GetTaskRequest{ID: task.ID})
		if err != nil || got.Status.State != proto.TaskStateAuthRequired || got.Artifacts != nil {
			t.Errorf("the task is %+v (%v), want that it waits for a person", got, err)
		}
	})
}
