package server_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/server"
)

func TestAKeyHoldsAlsoWithIfMatch(t *testing.T) {
	w := newWorld(t)
	all := w.human()
	path := "/v1/agents/" + w.agent("a").String()
	for _, x := range []struct {
		to   string
		body any
	}{{"/pause", nil}, {"/resume", client.Note{Note: "go"}}, {"/events", client.Event{Name: "ping"}},
		{"/events", client.Event{Name: "ping", ID: "mine"}}} {
		tag := w.call(all, "GET", path, nil, 200, nil).Get("ETag")
		if tag == "" {
			t.Fatal("there is no ETag")
		}
		var first, second struct{ Entry string }
		with := []string{"If-Match", tag, "Idempotency-Key", "key " + tag}
		w.call(all, "POST", path+x.to, x.body, 200, &first, with...)
		w.call(all, "POST", path+x.to, x.body, 200, &second, with...)
		if first != second || first.Entry == "" {
			t.Errorf("%s: got %v and %v", x.to, first, second)
		}
		if p := w.problem(all, "POST", path+"/events", client.Event{Name: "x"}, 412, "If-Match",
			tag); p.Kind != "moved" {
			t.Errorf("%s: got %+v", x.to, p)
		}
	}
}

func TestAForkMindsIfMatch(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	path := "/v1/agents/" + w.agent("a").String()
	tag := w.call(all, "GET", path, nil, 200, nil).Get("ETag")
	w.call(all, "POST", path+"/fork", client.Fork{Name: "b"}, 200, nil, "If-Match", tag)
	w.call(all, "POST", path+"/events", client.Event{Name: "x"}, 200, nil)
	w.problem(all, "POST", path+"/fork", client.Fork{Name: "c"}, 412, "If-Match", tag)
}

func TestAKeyOfAnEventIsForThatEvent(t *testing.T) {
	w := newWorld(t)
	all := w.human()
	path := "/v1/agents/" + w.agent("a").String() + "/events"
	pay := map[string]any{"name": "pay", "data": map[string]any{"cents": 100}}
	var first, again client.Recorded
	w.call(all, "POST", path, pay, 200, &first, "Idempotency-Key", "kk")
	h := w.call(all, "POST", path, pay, 200, &again, "Idempotency-Key", "kk")
	if again != first || h.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the same event again: %+v with %v, want %+v, replayed", again, h, first)
	}
	for _, other := range []map[string]any{{"name": "refund", "data": pay["data"]},
		{"name": "pay", "data": map[string]any{"cents": 999}}, {"name": "pay"}, {"name": "pay", "id": "x"}} {
		p := w.problem(all, "POST", path, other, 422, "Idempotency-Key", "kk")
		if p.Kind != "misuse" {
			t.Errorf("%v: got %+v, want that the key was used for another request", other, p)
		}
	}
}

// A key of an event holds as long as any other, however much the agent is told since, and for its token alone.
func TestAKeyOfAnEventHoldsAsAnyOther(t *testing.T) {
	w := newWorld(t)
	one, two := w.token("", home.VerbEvent), w.token("", home.VerbEvent) // of the same name
	id := w.agent("a")
	path := "/v1/agents/" + id.String() + "/events"
	var first, other, again client.Recorded
	w.call(one, "POST", path, client.Event{Name: "pay"}, 200, &first, "Idempotency-Key", "kk")
	w.call(two, "POST", path, client.Event{Name: "pay"}, 200, &other, "Idempotency-Key", "kk")
	if first.Entry == other.Entry || other.Before {
		t.Errorf("another token with the same key: got %+v, as was answered to the first", other)
	}
	for i := range 1100 { // more than an agent remembers the ids of
		ev := perdure.Event{Name: "tick", ID: fmt.Sprint(i)}
		if _, err := w.desk.Node.Tell(t.Context(), id, ev); err != nil && !errors.Is(err, perdure.ErrFull) {
			t.Fatal(err)
		} else if err != nil {
			w.run(id)
		}
	}
	if w.call(one, "POST", path, client.Event{Name: "pay"}, 200, &again, "Idempotency-Key", "kk"); again != first {
		t.Errorf("the same key much later: got %+v, want %+v", again, first)
	}
}

// What is answered after the answer was lost, because the server was killed when the event was durable, is the event
// that is there.
func TestAnEventWhoseAnswerWasLostIsToldOnce(t *testing.T) {
	var lost lostAnswers
	w := newWorld(t, func(s *server.Server) {
		lost.Store, s.Desk.Node.Store = s.Desk.Node.Store, &lost
	})
	all, id := w.human(), w.agent("a")
	path := "/v1/agents/" + id.String() + "/events"
	lost.next = true
	w.call(all, "POST", path, client.Event{Name: "pay"}, 500, nil, "Idempotency-Key", "kk")
	var again client.Recorded
	h := w.call(all, "POST", path, client.Event{Name: "pay"}, 200, &again, "Idempotency-Key", "kk")
	if h.Get("Idempotency-Replayed") != "true" {
		t.Errorf("got %+v, want the answer to the first", again)
	}
	var paid []perdure.Hash
	for e, err := range perdure.Memory(t.Context(), w.store, id) {
		if err != nil {
			t.Fatal(err)
		}
		if ev, ok := e.Content().(perdure.Event); ok && ev.Name == "pay" {
			paid = append(paid, e.Name)
		}
	}
	if len(paid) != 1 || again.Entry != paid[0] {
		t.Errorf("memory has %v, and the answer names %v; want that one, once", paid, again.Entry)
	}
}

// lostAnswers is a store that adds what it is given and cannot say so, the next time.
type lostAnswers struct {
	perdure.Store
	next bool
}

func (s *lostAnswers) Put(ctx context.Context, id perdure.AgentID, all ...*perdure.Entry) error {
	err := s.Store.Put(ctx, id, all...)
	if err == nil && s.next {
		s.next, err = false, errors.New("whether it was added is not known")
	}
	return err
}

// A fork whose answer was lost with its server is answered as a fork when it is asked for again.
func TestAForkWhoseAnswerWasLostIsAnsweredAsOne(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	id := w.agent("a")
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.home.Dir, "requests.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	// as if the server were killed when the fork is stored and its answer is not kept yet
	if _, err := db.ExecContext(t.Context(), `CREATE TRIGGER killed BEFORE INSERT ON requests
		WHEN NEW.answer IS NOT NULL BEGIN SELECT RAISE(ABORT, 'killed'); END`); err != nil {
		t.Fatal(err)
	}
	path, body := "/v1/agents/"+id.String()+"/fork", client.Fork{Name: "b"}
	if status, _, text := w.raw(all, "POST", path, body, "Idempotency-Key", "k"); status != 500 {
		t.Fatalf("got %d: %s", status, text)
	}
	if _, err := db.ExecContext(t.Context(), "DROP TRIGGER killed"); err != nil {
		t.Fatal(err)
	}
	var again client.Forked
	w.call(all, "POST", path, body, 200, &again, "Idempotency-Key", "k")
	if again.Agent.IsZero() || again.Name != "b" || again.From != id || again.At.IsZero() || !again.Rehearse {
		t.Errorf("got %+v", again)
	}
}

// Who may not send events learns nothing of agents by trying.
func TestWhoMayNotSendEventsLearnsNothing(t *testing.T) {
	w := newWorld(t)
	w.agent("there")
	looks := w.token("", home.VerbMetrics)
	for _, name := range []string{"there", "missing"} {
		for _, match := range []string{"*", `"0"`} {
			w.problem(looks, "POST", "/v1/agents/"+name+"/events", client.Event{Name: "x", ID: "i"}, 403,
				"If-Match", match)
		}
	}
}

// A fork has the memory of the agent it begins from, and says what that did: it is for those who may read it.
func TestWhoMayNotReadAnAgentForksNone(t *testing.T) {
	w := newWorld(t)
	path := "/v1/agents/" + w.agent("a").String() + "/fork"
	for _, body := range []client.Fork{{Dry: true}, {Live: true, Dry: true}, {Name: "b"}} {
		w.problem(w.token("", home.VerbCreate), "POST", path, body, 403)
		w.call(w.token("", home.VerbCreate, home.VerbRead), "POST", path, body, 200, nil)
	}
}

// A body that could be read in two ways is refused, and the key that does it is named.
func TestABodyIsReadInOneWay(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	w.agent("a")
	for _, x := range []struct{ path, body, key string }{
		{"/v1/agents", `{"goal":"first","goal":"second"}`, "goal"},
		{"/v1/agents", `{"goal":"first","GOAL":"second"}`, "GOAL"},
		{"/v1/agents", `{"goal":"x","inputs":{"a":1,"a":2}}`, `a`},
		{"/v1/agents/a/events", `{"name":"e2","NAME":"e3"}`, "NAME"},
		{"/v1/agents/a/events", `{"name":"e2","name":"e3"}`, "name"},
		{"/v1/agents/a/pause", `{"note":"x","note":"y"}`, "note"},
		{"/v1/agents/a/grant", `{"calls":1,"Calls":2}`, "Calls"},
	} {
		if p := w.problem(all, "POST", x.path, []byte(x.body), 400); !strings.Contains(p.Detail, x.key) {
			t.Errorf("%s: got %+v, want the key %s", x.body, p, x.key)
		}
	}
}

// requests.db holds answers and entries: it is for the owner alone, as all that is in a home.
func TestRequestsAreForTheOwnerAlone(t *testing.T) {
	w := newWorld(t)
	files, err := filepath.Glob(filepath.Join(w.home.Dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
}
