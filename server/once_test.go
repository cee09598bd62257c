package server_test

import (
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
