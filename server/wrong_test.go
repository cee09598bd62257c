package server_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
)

// Who may not tell an agent anything is told so, whatever they send.
func TestAnEventTakesItsVerbBeforeItsForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := "/v1/agents/" + w.agent("a").String() + "/events"
	for _, body := range []string{`{"name":"x"}`, `{`, `{"junk":1}`} {
		if p := w.problem(w.token("", home.VerbRead), "POST", path, []byte(body), 403); p.Kind != "denied" {
			t.Errorf("%s: got %+v", body, p)
		}
	}
	w.problem(w.token("", home.VerbEvent), "POST", path, []byte(`{`), 400)
}

// A path that is there for other methods says which, and a parameter that is not there is refused, not ignored.
func TestWrongMethodsAndParametersAreSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	path := "/v1/agents/" + w.agent("a").String()
	for _, x := range []struct{ method, path, allow string }{
		{"DELETE", path, "GET, HEAD"}, {"PUT", "/v1/agents", "GET, HEAD, POST"}, {"GET", path + "/end", "POST"},
	} {
		h := w.call(all, x.method, x.path, nil, 405, nil)
		if got := h.Get("Allow"); got != x.allow {
			t.Errorf("%s %s: allowed is %q, want %q", x.method, x.path, got, x.allow)
		}
	}
	w.problem(all, "GET", "/v1/nothing", nil, 404)
	p := w.problem(all, "GET", "/v1/agents?states=ready", nil, 400)
	if !strings.Contains(p.Detail, `"states"`) || !strings.Contains(p.Detail, "state") {
		t.Errorf("got %q, want the parameter and those there are", p.Detail)
	}
	w.call(all, "GET", "/v1/agents?state=dormant&limit=3", nil, 200, nil)
}

// A path with an empty part says so, or that an agent is missing in it.
func TestAnEmptyPartOfAPathIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	for path, want := range map[string]string{"/v1//agents": "an empty part", "/v1/agents//log": "name an agent"} {
		if p := w.problem(all, "GET", path, nil, 400); !strings.Contains(p.Detail, want) {
			t.Errorf("%s: got %q, want %q", path, p.Detail, want)
		}
	}
}

// A fork that has the name of another says so, as one that is made here does.
func TestAForkSaysThatItsNameIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	path := "/v1/agents/" + w.agent("a").String()
	var got client.Forked
	w.call(all, "POST", path+"/fork", client.Fork{Name: "a"}, 200, &got)
	if !strings.Contains(strings.Join(got.Notes, "; "), "another agent is also called a") {
		t.Errorf("got %q", got.Notes)
	}
}

// Programs that send a form by default, as curl -d does, are told what to say.
func TestWhatIsNotJSONIsToldWhatToSay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	path := "/v1/agents/" + w.agent("a").String()
	for _, op := range []string{"/events", "/pause"} {
		p := w.problem(all, "POST", path+op, []byte(`{"name":"x"}`), 415, "Content-Type",
			"application/x-www-form-urlencoded")
		contains(t, p.Hint, "Content-Type: application/json")
	}
}

// If-Match compares strongly, and what is not there yet matches nothing.
func TestIfMatchIsStrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	path := "/v1/agents/" + w.agent("a").String()
	tag := w.call(all, "GET", path, nil, 200, nil).Get("ETag")
	w.call(all, "GET", path, nil, 304, nil, "If-None-Match", "W/"+tag)
	w.problem(all, "POST", path+"/pause", client.Note{}, 412, "If-Match", "W/"+tag)
	w.call(all, "POST", path+"/pause", client.Note{}, 200, nil, "If-Match", tag)
	for _, list := range []string{tag, "*"} {
		w.problem(all, "POST", "/v1/agents", client.Intent{Goal: "x", Name: "new"}, 412, "If-Match", list)
	}
}
