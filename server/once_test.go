package server_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
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
	w.call(all, "POST", path, pay, 200, nil, "Idempotency-Key", "kk")
	var again client.Recorded
	if w.call(all, "POST", path, pay, 200, &again, "Idempotency-Key", "kk"); !again.Before {
		t.Errorf("the same event again: %+v, want that it was received before", again)
	}
	for _, other := range []map[string]any{{"name": "refund", "data": pay["data"]},
		{"name": "pay", "data": map[string]any{"cents": 999}}, {"name": "pay"}} {
		p := w.problem(all, "POST", path, other, 422, "Idempotency-Key", "kk")
		if p.Kind != "misuse" {
			t.Errorf("%v: got %+v, want that the key was used for another request", other, p)
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
