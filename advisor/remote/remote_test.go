package remote_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor/remote"
	"github.com/perdure/perdure/phase"
)

// schemas are the two JSON Schemas of the package documentation, by their title.
func schemas(t testing.TB) map[string]*jsonschema.Resolved {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*jsonschema.Resolved{}
	var text strings.Builder
	for line := range strings.Lines(string(doc)) {
		code, ok := strings.CutPrefix(line, "//\t")
		if ok && (code == "{\n" || text.Len() > 0) {
			text.WriteString(code)
		}
		if ok && code == "}\n" {
			var s jsonschema.Schema
			if err := json.Unmarshal([]byte(text.String()), &s); err != nil {
				t.Fatalf("a schema in the documentation: %v", err)
			}
			if out[s.Title], err = s.Resolve(nil); err != nil {
				t.Fatal(err)
			}
			text.Reset()
		}
	}
	if out["request"] == nil || out["response"] == nil {
		t.Fatal("the documentation has not both schemas")
	}
	return out
}

func fits(t testing.TB, schema *jsonschema.Resolved, text []byte) error {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	return schema.Validate(v)
}

// remote is a server that answers each request with the next of its answers, and keeps what it was sent.
func serve(t *testing.T, answers ...string) (*remote.Advisor, *[][]byte) {
	t.Helper()
	var sent [][]byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/json" ||
			r.Header.Get("Authorization") != "Bearer x" {
			t.Errorf("got %s, %v, %v", r.Method, r.Header, err)
		}
		sent = append(sent, b)
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		fmt.Fprint(w, answers[min(len(sent), len(answers))-1])
	}))
	t.Cleanup(s.Close)
	return &remote.Advisor{URL: s.URL, Header: http.Header{"authorization": {"Bearer x"}}}, &sent
}

func TestARemoteAdvisorSeesTheAgentAndDecidesWhatIsNext(t *testing.T) {
	answers := []string{
		`{"actions":[{"execute":{"tool":"echo","args":{"n":1,"blob":"x"},"call":"c1","deadline":"30s"}},{"execute":{"tool":"forbidden"}}],"text":"first ${inputs}","model":"m1","usage":{"in":10,"out":2,"cost":5}}`,
		`{"actions":[{"mutate":{"goal":"another","labels":{"a":"b"}}}]}`,
		`{"actions":[{"end":{"signal":"partial","result":{"x":[1,"${inputs}"]},"note":"done"}}]}`,
	}
	h, sent := serve(t, answers...)
	e := &echo{set: map[string]perdure.Data{}}
	var err error
	if e.set["seen"], err = perdure.DataOf([]any{1, "two"}); err != nil {
		t.Fatal(err)
	}
	n := newNode(t, new(perdure.MemStore), h, e, forbidden{})
	n.Policy = perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
		if x, ok := r.Action.(perdure.Execute); ok && x.Tool == "forbidden" {
			return perdure.Verdict{Reason: "not that"}
		}
		return perdure.Verdict{Answer: perdure.Allow}
	})
	id := create(t, n, map[string]any{"k": "v"})
	data, err := perdure.DataOf(map[string]any{"amount": 7})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "paid", By: "shop", Data: data}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.RunAgent(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	a := load(t, n, id)
	ended(t, a, perdure.Partial, `{"x":[1,"${inputs}"]}`, "done")
	if f := a.Fold(); f.Spent != (perdure.Spend{Cost: 5, Tokens: 12, Calls: 1}) || f.Intent.Goal != "another" {
		t.Errorf("got %+v, %q", f.Spent, f.Intent.Goal)
	}
	all := schemas(t)
	for i, b := range *sent {
		if err := fits(t, all["request"], b); err != nil {
			t.Errorf("request %d does not fit its schema: %v\n%s", i, err, b)
		}
		if err := fits(t, all["response"], []byte(answers[i])); err != nil {
			t.Errorf("answer %d does not fit its schema: %v", i, err)
		}
	}
	type seen struct {
		Agent  string
		Turn   int
		Intent struct {
			Goal   string
			Inputs any
		}
		State    map[string]any
		Inbox    []struct{ Name, By string }
		Outcomes []struct{ Action, Tool, Call, Signal, Note string }
	}
	var first, second seen
	if err := errors.Join(json.Unmarshal((*sent)[0], &first), json.Unmarshal((*sent)[1], &second)); err != nil {
		t.Fatal(err)
	}
	if first.Agent != id.String() || first.Turn != 1 || first.Intent.Goal != "try" || len(first.Inbox) != 1 ||
		first.Inbox[0].Name != "paid" || len(first.Outcomes) != 0 {
		t.Errorf("got %+v", first)
	}
	if diff := cmp.Diff(any(map[string]any{"k": "v"}), first.Intent.Inputs); diff != "" {
		t.Error(diff)
	}
	if len(second.Inbox) != 0 || len(second.Outcomes) != 2 || second.State["seen"] == nil {
		t.Fatalf("got %+v", second)
	}
	got := map[string]string{}
	for _, o := range second.Outcomes {
		got[o.Tool+" "+o.Action] = o.Signal + " " + o.Call + " " + o.Note
	}
	if diff := cmp.Diff(map[string]string{"echo execute": "ok c1 ", "forbidden execute": "denied  not that"},
		got); diff != "" {
		t.Error(diff)
	}
}

// advise asks an advisor about a new agent.
func advise(t *testing.T, h *remote.Advisor) (perdure.Advice, error) {
	t.Helper()
	n := newNode(t, new(perdure.MemStore), h)
	return h.Advise(t.Context(), load(t, n, create(t, n, nil)))
}

func TestAThrottlingRemoteAdvisorNamesTheTimeToComeBack(t *testing.T) {
	for _, c := range []struct {
		status int
		after  string
		want   time.Duration
	}{
		{429, "7", 7 * time.Second}, {503, "60", time.Minute}, {503, "", 0}, {429, "soon", 0}, {429, "-1", 0},
		{429, "999999999999", 24 * time.Hour},
		{503, "Fri, 31 Dec 9999 23:59:59 GMT", 24 * time.Hour}, {503, "Mon, 02 Jan 2006 15:04:05 GMT", 0},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.after != "" {
				w.Header().Set("Retry-After", c.after)
			}
			w.WriteHeader(c.status)
		}))
		advice, err := advise(t, &remote.Advisor{URL: s.URL})
		s.Close()
		if err != nil || advice.Signal != perdure.Throttled || advice.RetryAfter != c.want.Milliseconds() {
			t.Errorf("%d, %q: got %+v, %v, want throttled for %s", c.status, c.after, advice, err, c.want)
		}
	}
}

func TestAThrottledAgentSleepsAndAsksAgain(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	defer s.Close()
	n := newNode(t, new(perdure.MemStore), &remote.Advisor{URL: s.URL})
	idle, err := n.RunAgent(t.Context(), create(t, n, nil))
	if err != nil || asked.Load() != 1 || time.Until(idle.Until.Go()) < 50*time.Minute ||
		!idle.Is(phase.RestBackoff) {
		t.Errorf("got %+v after %d requests, %v", idle, asked.Load(), err)
	}
}

func TestABadAnswerIsAnErrorThatSaysWhy(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for name, c := range map[string]struct {
		status          int
		kind, body, loc string
		want            string
		limit           int64
	}{
		"server error": {status: 500, body: "oh no" + strings.Repeat("x", 1<<16), want: `500: "oh no`},
		"redirect":     {status: 307, loc: other.URL, want: "307"},
		"no content":   {status: 204, want: "204"},
		"html":         {kind: "text/html", body: "<html>", want: "text/html"},
		"no type":      {kind: "?", body: "{}", want: "application/json"},
		"not JSON":     {body: "{", want: "advice"},
		"two objects":  {body: "{}{}", want: "advice"},
		"a key twice":  {body: `{"text":"a","text":"b"}`, want: "advice"},
		"too long":     {body: `{"text":"` + strings.Repeat("x", 200) + `"}`, limit: 100, want: "longer than 100"},
		"unknown":      {body: `{"say":"x"}`, want: "$.say: unknown field"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if c.kind != "" {
					w.Header().Set("Content-Type", c.kind)
				}
				if c.loc != "" {
					w.Header().Set("Location", c.loc)
				}
				if c.status != 0 {
					w.WriteHeader(c.status)
				}
				fmt.Fprint(w, c.body)
			}))
			defer s.Close()
			_, err := advise(t, &remote.Advisor{URL: s.URL, ResponseLimit: c.limit})
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 2000 {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
		})
	}
	if elsewhere.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

func TestARemoteAdvisorThatIsNotThereIsSilentWithoutItsPassword(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	advice, err := advise(t, &remote.Advisor{URL: "http://me:hidden@" + addr + "/?token=hidden"})
	if err != nil || advice.Signal != perdure.Silent || strings.Contains(advice.Text, "hidden") {
		t.Errorf("got %+v, %v, want silence", advice, err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = conn.Close()
	}))
	defer s.Close()
	if advice, err = advise(t, &remote.Advisor{URL: s.URL}); err != nil || advice.Signal != perdure.Silent {
		t.Errorf("got %+v, %v of one that hung up, want silence", advice, err)
	}
	if _, err := advise(t, &remote.Advisor{}); err == nil {
		t.Error("an advisor without a URL was asked")
	}
}

func TestASlowRemoteAdvisorTimesOut(t *testing.T) {
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/half" {
			fmt.Fprint(w, `{"text":`)
			w.(http.Flusher).Flush()
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer s.Close()
	defer close(release)
	for _, path := range []string{"", "/half"} {
		advice, err := advise(t, &remote.Advisor{URL: s.URL + path, Timeout: 100 * time.Millisecond})
		if err != nil || advice.Signal != perdure.TimedOut {
			t.Errorf("got %+v, %v, want timed-out", advice, err)
		}
	}
	h := &remote.Advisor{URL: s.URL}
	n := newNode(t, new(perdure.MemStore), h)
	a := load(t, n, create(t, n, nil))
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := h.Advise(ctx, a); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the context", err)
	}
}

func TestLongResultsAreCutAndOldOutcomesLeftOut(t *testing.T) {
	step := `{"actions":[{"execute":{"tool":"echo","args":{"t":"` + strings.Repeat("é", 100) + `"}}}]}`
	h, sent := serve(t, step, step, step, `{"actions":[{"end":{}}]}`)
	h.Recent, h.Shown = 2, 51
	store := new(perdure.MemStore)
	n := newNode(t, store, h, new(echo))
	n.SnapshotEvery, n.CacheSize = 1, -1
	h.Store = store
	id := create(t, n, nil)
	for range 100 {
		if _, err := n.Cycle(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	ended(t, load(t, n, id), perdure.OK, "null")
	var last struct {
		Outcomes []struct {
			Result any
			Cut    bool
			Tool   string
		}
	}
	b := (*sent)[len(*sent)-1]
	if err := errors.Join(json.Unmarshal(b, &last), fits(t, schemas(t)["request"], b)); err != nil {
		t.Fatal(err)
	}
	if len(last.Outcomes) != 2 || !last.Outcomes[1].Cut || last.Outcomes[1].Tool != "echo" ||
		!bytes.Contains(b, []byte("éé")) || len(b) > 4000 {
		t.Errorf("got %s", b)
	}
}

func TestAdviceIsDecodedStrictly(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                                    "$: got a list",
		`null`:                                  "$: got nothing",
		`{"actions":{}}`:                        "$.actions: actions is an object, want a list",
		`{"actions":[{}]}`:                      "$.actions[0]: there is no action",
		`{"actions":[{"end":{},"sleep":{}}]}`:   "two actions",
		`{"actions":[{"wake":{}}]}`:             "$.actions[0]",
		`{"actions":[{"execute":{"tool":1}}]}`:  "tool is a number",
		`{"actions":[{"execute":{"tool":""}}]}`: "tool is empty",
		`{"actions":[{"execute":{"tool":"a","x":1}}]}`:                                           `$.actions[0].execute.x: unknown field "x"`,
		`{"actions":[{"execute":{"tool":"a","deadline":5}}]}`:                                    "duration",
		`{"actions":[{"end":{"signal":"great"}}]}`:                                               "signal",
		`{"actions":[{"sleep":{"any":[{"after":"1s"},{"at":"never"}]}}]}`:                        "$.actions[0].sleep.any[1].at",
		`{"actions":[{"sleep":{"every":{"interval":"0s","poll":{"tool":"a"},"until":"true"}}}]}`: "interval",
		`{"actions":[{"sleep":{"when":"1 +"}}]}`:                                                 "condition",
		`{"actions":[{"sleep":{"child":"00"}}]}`:                                                 "id of an agent",
		`{"actions":[{"mutate":{"depth":-1}}]}`:                                                  "depth",
		`{"actions":[{"mutate":{"depth":1.5}}]}`:                                                 "depth",
		`{"actions":[{"delegate":{}}]}`:                                                          "goal is missing",
		`{"usage":{"in":-1}}`:                                                                    "$.usage.in",
		`{"usage":{"in":18446744073709551615}}`:                                                  "$.usage.in",
		`{"stale":"4s","recheck":[{"tool":"t"}]}`:                                                "at least 5s",
		`{"stale":"1h"}`: "name the reads",
		`{"recheck":[{"tool":"a"},{}]}`: "$.recheck[1]: " +
			"tool is missing",
		`{"recheck":[` + strings.Repeat(`{"tool":"a"},`, 64) + `{"tool":"a"}]}`: "at most 64",
		`{"text":7}`:      "text is a number",
		`{"signal":"ok"}`: "unknown field",
		`{"actions":[` + strings.Repeat(`{"end":{}},`, 300) + `{"end":{}}]}`:                         "at most 256",
		`{"actions":[{"end":{"result":` + strings.Repeat("[", 90) + strings.Repeat("]", 90) + `}}]}`: "deep",
	} {
		if _, err := remote.Decode([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: got %v, want %q in it", text, err, want)
		}
	}
	got, err := remote.Decode(
		[]byte(`{"actions":[{"sleep":{"all":[{"after":"1m"},{"on":"a"},{"on":{"event":"b","filter":"event.by == 'x'"}}],"note":"${x}","stale":"1h","recheck":[{"tool":"t"}]}}],"summary":"s"}`))
	if err != nil {
		t.Fatal(err)
	}
	want := perdure.Advice{Summary: "s", Actions: []perdure.Action{perdure.Sleep{
		Trigger: perdure.All{Of: []perdure.Trigger{perdure.After{Millis: 60000}, perdure.On{Event: "a"},
			perdure.On{Event: "b", Filter: "event.by == 'x'"}}},
		Note: "${x}", Stale: 3600000, Recheck: []perdure.Execute{{Tool: "t"}},
	}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, err := remote.Decode([]byte(`{}`)); err != nil || len(got.Actions) != 0 {
		t.Errorf("got %+v, %v, want nothing to do", got, err)
	}
}

func FuzzDecodeAdvice(f *testing.F) {
	f.Add([]byte(`{"actions":[{"execute":{"tool":"a","args":{"b":[1,2.5,null]}}},{"sleep":{"any":[{"after":"1s"}]}}],"usage":{"in":1}}`))
	f.Add([]byte(`{"actions":[{"mutate":{"goal":"a","budget":{"cost":1}}},{"delegate":{"goal":"b"}},{"end":{"signal":"failed"}}]}`))
	response := schemas(f)["response"]
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := remote.Decode(b); err != nil {
			return
		}
		if err := fits(t, response, b); err != nil {
			t.Errorf("%s is accepted and does not fit the schema: %v", b, err)
		}
	})
}
