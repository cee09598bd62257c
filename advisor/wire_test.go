package advisor

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/wiretest"
)

func TestRetryAfterIsReadInEveryForm(t *testing.T) {
	now := time.Date(2027, 1, 31, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second},
		{"Retry-After", "0.25", 250 * time.Millisecond},
		{"Retry-After", "Sun, 31 Jan 2027 09:00:30 GMT", 30 * time.Second},
		{"Retry-After", "Sun, 31 Jan 2027 08:00:00 GMT", 0},
		{"Retry-After", "-5", 0},
		{"Retry-After", "1e30", maxWait},
		{"Retry-After", "NaN", 0},
		{"Retry-After", "soon", 0},
		{"Retry-After-Ms", "1500", 1500 * time.Millisecond},
	} {
		h := http.Header{}
		h.Set(c.name, c.value)
		if got := waitOf(h, now); got != c.want {
			t.Errorf("%s: %s is %s, want %s", c.name, c.value, got, c.want)
		}
	}
}

func TestPricesAreOfTheLongestNameThatFits(t *testing.T) {
	p, err := LoadPrices([]byte(`{"m": {"in": 1, "out": 2, "cached": 0.5}, "m-big": {"in": 10, "out": 20, "cached": 1, "written": 12.5, "over": 1000, "long": {"in": 100, "out": 200, "cached": 10}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		model string
		t     Tokens
		want  int64
	}{
		{"m-small", Tokens{In: 100, Out: 10, Cached: 40}, 60 + 20 + 20},
		{"vendor/m-big-2027", Tokens{In: 100, Out: 10, Cached: 40, Written: 20}, 400 + 40 + 250 + 200},
		{"m-big", Tokens{In: 1001, Out: 1}, 100100 + 200},
		{"other", Tokens{In: 5}, 0},
	} {
		price, _ := p.Of(c.model)
		if got := price.cost(c.t); got != c.want {
			t.Errorf("%+v of %s cost %d, want %d", c.t, c.model, got, c.want)
		}
	}
	if _, err := LoadPrices([]byte(`{"m": {"in": -1}}`)); err == nil {
		t.Error("a negative price is accepted")
	}
	if _, err := LoadPrices([]byte(`{"m": {"inn": 1}}`)); err == nil {
		t.Error("an unknown field is accepted")
	}
	if len(DefaultPrices()) == 0 {
		t.Error("there are no prices")
	}
	l := &LLM{Model: Anthropic{Model: "claude-opus-5-5"}, Prices: Prices{"claude": {In: 7}}}
	if got := l.usage([]Tokens{{In: 3}}).Cost; got != 21 {
		t.Errorf("with prices of one's own it costs %d, want 21", got)
	}
}

func TestToolsHaveNamesTheWireAllows(t *testing.T) {
	n := newWireNames([]perdure.Spec{{Name: "files.read"}, {Name: "files/read"}, {Name: "files_read"}, {Name: strings.Repeat("x", 100)}})
	got := map[string]string{}
	for w, tool := range n.tool {
		if len(w) > 64 || plainName(w) != w && len(w) <= longestName {
			t.Errorf("%q is not a name for the wire", w)
		}
		got[tool] = w
	}
	if len(got) != 4 {
		t.Errorf("names are %v, want four", got)
	}
	for tool, w := range got {
		if n.toWire(tool) != w {
			t.Errorf("%s is %s one way and %s the other", tool, w, n.toWire(tool))
		}
	}
}

func TestSchemaIsOneProvidersTake(t *testing.T) {
	for in, want := range map[string]string{
		``:                                `{"type":"object","properties":{}}`,
		`{}`:                              `{"type":"object","properties":{}}`,
		`true`:                            `{"type":"object","properties":{}}`,
		`{"type":"object","required":[]}`: `{"type":"object","properties":{},"required":[]}`,
		`{"type":"object","properties":{"a":{}}}`:    `{"type":"object","properties":{"a":{}}}`,
		`{"$defs":{"x":{}},"properties":{"a":true}}`: `{"type":"object","$defs":{"x":{}},"properties":{"a":true}}`,
	} {
		var d perdure.Data
		if in != "" {
			var err error
			if d, err = perdure.DataFromJSON([]byte(in)); err != nil {
				t.Fatal(err)
			}
		}
		var got, exp any
		if err := errors.Join(json.Unmarshal([]byte(schemaJSON(d)), &got), json.Unmarshal([]byte(want), &exp)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(exp, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
}

func TestAnthropicIsToldWhatToCache(t *testing.T) {
	s, err := wiretest.Anthropic(wiretest.Turns(wiretest.Turn{Text: []string{"ok"}, In: 100, Cached: 60, Written: 30, Out: 1}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	m := Anthropic{Model: "claude-x", BaseURL: s.URL, Key: func() (string, error) { return wiretest.Key, nil }}
	p := &Prompt{
		System: "sys", Tools: []perdure.Spec{{Name: "a"}, {Name: "b"}}, Stable: 2,
		Messages: []Message{{Parts: []Part{Text("one")}}, {Model: true, Parts: []Part{Text("two")}}, {Parts: []Part{Text("state")}}},
	}
	r, err := m.Ask(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Tokens{In: 100, Out: 1, Cached: 60, Written: 30}); r.Tokens != want {
		t.Errorf("tokens are %+v, want %+v", r.Tokens, want)
	}
	body := s.Requests()[0]
	var marked []string
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch x := v.(type) {
		case map[string]any:
			if x["cache_control"] != nil {
				name, _ := x["name"].(string)
				text, _ := x["text"].(string)
				marked = append(marked, at+":"+name+text)
			}
			for _, k := range []string{"tools", "system", "messages", "content"} {
				walk(k, x[k])
			}
		case []any:
			for _, e := range x {
				walk(at, e)
			}
		}
	}
	walk("", body)
	if diff := cmp.Diff([]string{"tools:b", "system:sys", "content:two"}, marked); diff != "" {
		t.Errorf("marked for the cache (-want +got):\n%s", diff)
	}
}

func TestKeyIsNotCarriedElsewhere(t *testing.T) {
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	defer first.Close()
	key := func() (string, error) { return wiretest.Key, nil }
	for _, m := range []Model{
		Anthropic{Model: "m", BaseURL: first.URL, Key: key}, OpenAI{Model: "m", BaseURL: first.URL, Key: key}, Gemini{Model: "m", BaseURL: first.URL, Key: key},
	} {
		_, err := m.Ask(t.Context(), &Prompt{Messages: []Message{{Parts: []Part{Text("hi")}}}}, nil)
		var fail *Failure
		if !errors.As(err, &fail) || fail.Signal != perdure.Failed {
			t.Errorf("%s: %v, want a failure", m.Family(), err)
		}
	}
	if elsewhere != 0 {
		t.Errorf("%d requests followed the redirect", elsewhere)
	}
}

func TestLocalServerNeedsNoKey(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-not-for-others")
	var header http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header.Clone()
		w.Header().Set("Content-Type", "text/event-stream")
		// A local server that sends calls whole, all under one index, and counts tokens with every piece.
		for _, data := range []string{
			`{"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"a","arguments":"{\"n\":1}"}}]}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_b","type":"function","function":{"name":"b","arguments":"{}"}}]}}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`,
			`[DONE]`,
		} {
			w.Write([]byte("data: " + data + "\n\n")) //nolint:errcheck // the client is there
		}
	}))
	defer s.Close()
	r, err := OpenAI{Model: "local", BaseURL: s.URL}.Ask(context.Background(), &Prompt{Messages: []Message{{Parts: []Part{Text("hi")}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if header.Get("Authorization") != "" {
		t.Errorf("a key of the environment went to another server: %q", header.Get("Authorization"))
	}
	want := Reply{Calls: []ToolCall{{ID: "call_a", Name: "a", Args: `{"n":1}`}, {ID: "call_b", Name: "b", Args: "{}"}}, Tokens: Tokens{In: 9, Out: 3}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
}

func TestBuiltinCallsReadBackAsTheyWereMade(t *testing.T) {
	for _, c := range []struct{ name, args string }{
		{"wait", `{"seconds":90}`},
		{"wait", `{"seconds":0.5,"until":"2027-01-31T09:00:00Z","event":"paid","note":"for the money"}`},
		{"ask", `{"question":"may I?"}`},
		{"ask", `{"question":"may I?","seconds":60}`},
		{"wait", `{"children":"all"}`},
		{"wait", `{"children":"quorum:2","seconds":90,"note":"for two of them"}`},
		{"wait", `{"children":"first-failure"}`},
		{"wait", `{"children":"any","of":["` + strings.Repeat("ab", 32) + `"]}`},
		{"delegate", `{"goal":"count","name":"counter","inputs":{"n":3},"tools":["a","b"]}`},
		{"delegate", `{"goal":"count","budget":{"cost":5,"tokens":10,"calls":2},"scope":"acme/part","until":"2027-01-31T09:00:00Z","depth":1,"advisor":"cheap"}`},
		{"finish", `{"result":{"n":[1,2]},"note":"done"}`},
		{"finish", `{"success":false,"note":"cannot"}`},
	} {
		act, err := builtinAction(c.name, "id", c.args)
		if err != nil {
			t.Errorf("%s %s: %v", c.name, c.args, err)
			continue
		}
		if name, args := builtinCall(act); name != c.name || args != c.args || perdure.CallOf(act) != "id" {
			t.Errorf("%s %s reads back as %s %s", c.name, c.args, name, args)
		}
	}
	for _, c := range []struct{ name, args string }{
		{"wait", `{}`}, {"wait", `{"seconds":-1}`}, {"wait", `{"until":"tomorrow"}`}, {"wait", `[]`}, {"wait", `{"seconds":1} {}`},
		{"wait", `{"children":"most"}`}, {"wait", `{"children":"quorum:0"}`}, {"wait", `{"of":["x"]}`}, {"wait", `{"children":"any","of":["x"]}`},
		{"delegate", `{"goal":"x","budget":{"cost":-1}}`}, {"delegate", `{"goal":"x","scope":"/../"}`}, {"delegate", `{"goal":"x","depth":-1}`}, {"delegate", `{"goal":"x","until":"soon"}`},
		{"ask", `{}`}, {"delegate", `{"goal":""}`}, {"delegate", `{"goal":"x","inputs":{"a":1,"a":2}}`}, {"finish", `{"result":`}, {"finish", `{"why":1}`},
	} {
		if act, err := builtinAction(c.name, "id", c.args); err == nil {
			t.Errorf("%s %s is accepted: %+v", c.name, c.args, act)
		}
	}
}

func FuzzShortenKeepsText(f *testing.F) {
	f.Add("añb", 2)
	f.Add(strings.Repeat("ü", 100), 31)
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 0 || n > 1<<20 {
			return
		}
		got := shorten(s, n)
		if strings.ToValidUTF8(got, "") != got {
			t.Errorf("shorten(%q, %d) is not UTF-8: %q", s, n, got)
		}
	})
}
