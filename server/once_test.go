package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
