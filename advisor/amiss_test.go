package advisor_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/advisor/anthropic"
)

// answers is a server that says one thing, whatever it is asked.
func answers(t *testing.T, status int, kind, body string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Location", "https://models.example/v1?key=secret")
		w.WriteHeader(status)
		w.Write([]byte(body)) //nolint:errcheck // whoever asked may have gone
	}))
	t.Cleanup(s.Close)
	return s
}

// TestWhatIsNoAnswerIsNamed: what comes in the place of an answer is named, with what to do. Where the same comes again
// and again, nobody asks again by the second.
func TestWhatIsNoAnswerIsNamed(t *testing.T) {
	const page, stream, text = "text/html; charset=utf-8", "text/event-stream", "text/plain"
	const part = "a piece of an answer"
	for _, c := range []struct {
		name       string
		status     int
		kind, body string
		signal     perdure.Signal
		want       []string
	}{
		{"a web page", 200, page, "<html>hi</html>", perdure.Incapable, []string{"a web page", "https://HOST/v1"}},
		{"a web page that is not there", 404, page, "<html>Not Found</html>", perdure.Incapable,
			[]string{"404", "is the address right"}},
		{"nothing", 200, stream, "", perdure.Failed, []string{"sent an empty answer"}},
		{"a redirect", 302, page, "<a>Found</a>", perdure.Incapable, []string{"https://models.example/v1",
			"name that address"}},
		{"a redirect of posts", 308, text, "", perdure.Incapable, []string{"https://models.example/v1"}},
		{"a plain 404", 404, text, "404 page not found", perdure.Incapable, []string{"404", "is the address right",
			"the name of the model"}},
		{"a model that Ollama has not", 404, "application/json", `{"error":{"message":"model \"x\" not found, try ` +
			`pulling it first","type":"api_error","param":null,"code":null}}`, perdure.Incapable,
			[]string{"not found", "the name of the model"}},
		{"a way that is not there", 405, text, "Method Not Allowed", perdure.Incapable, []string{"405",
			"is the address right"}},
		{"a gateway that failed", 502, page, "<html>Bad Gateway</html>", perdure.Failed, []string{"502"}},
		{"something cut off", 200, stream, part, perdure.Failed, []string{"cut its answer off"}},
	} {
		for _, one := range streams {
			t.Run(c.name+"/"+one.name, func(t *testing.T) {
				s := answers(t, c.status, c.kind, strings.Replace(c.body, part, one.begin+one.text, 1))
				m := one.model("m", advisor.Endpoint{URL: s.URL, Key: func() (string, error) { return "k3y", nil }})
				p := &advisor.Prompt{Messages: []advisor.Message{{Parts: []advisor.Part{advisor.Text("hi")}}}}
				_, err := m.Ask(t.Context(), p, nil)
				var f *advisor.Failure
				if !errors.As(err, &f) || f.Signal != c.signal {
					t.Fatalf("got %v, want %s", err, c.signal)
				}
				for _, want := range c.want {
					if !strings.Contains(f.Note, want) {
						t.Errorf("got %q, want it to say %q", f.Note, want)
					}
				}
				if strings.Contains(f.Note, "secret") || len(f.Note) > 1024 {
					t.Errorf("got %q", f.Note)
				}
			})
		}
	}
}

// endless is a body that goes on and on.
type endless struct {
	begin, piece string
	at           int
}

func (e *endless) Read(b []byte) (n int, err error) {
	for n < len(b) {
		text := e.begin
		if e.at >= len(e.begin) {
			text = e.piece
			e.at = len(e.begin) + (e.at-len(e.begin))%len(e.piece)
		}
		from := e.at
		if e.at >= len(e.begin) {
			from -= len(e.begin)
		}
		k := copy(b[n:], text[from:])
		n, e.at = n+k, e.at+k
	}
	return n, nil
}

// TestAnAnswerWithoutAnEndIsNotAskedForAgain: whoever sends one sends the next, and each costs what it takes.
func TestAnAnswerWithoutAnEndIsNotAskedForAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 64 MiB each")
	}
	for _, one := range streams {
		piece := strings.ReplaceAll(one.text, "12345678", strings.Repeat("12345678", 1<<13))
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			e, b := &endless{begin: one.begin, piece: piece}, make([]byte, 1<<16)
			for r.Context().Err() == nil {
				n, _ := e.Read(b)
				if _, err := w.Write(b[:n]); err != nil {
					return
				}
			}
		}))
		m := one.model("m", advisor.Endpoint{URL: s.URL, Key: func() (string, error) { return "k3y", nil }})
		p := &advisor.Prompt{Messages: []advisor.Message{{Parts: []advisor.Part{advisor.Text("hi")}}}}
		_, err := m.Ask(t.Context(), p, nil)
		s.CloseClientConnections()
		s.Close()
		var f *advisor.Failure
		if !errors.As(err, &f) || f.Signal != perdure.Incapable || !strings.Contains(f.Note, "longer than") {
			t.Errorf("%s: got %v, want %s", one.name, err, perdure.Incapable)
		}
	}
}

// TestTheEndOfAMessageIsNotCopiedAgainAndAgain: Anthropic says at the end of a message why it ends. Put into the whole
// of it each time, many of them cost their square.
func TestTheEndOfAMessageIsNotCopiedAgainAndAgain(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	body := sse("message_start", `{"type":"message_start","message":{"id":"`+long+`","type":"message",`+
		`"role":"assistant","content":[],"usage":{"input_tokens":3,"output_tokens":1}}}`) + block(0) +
		strings.Repeat(sse("message_delta", `{"type":"message_delta","delta":{"stop_reason":"max_tokens"},`+
			`"usage":{"output_tokens":7}}`), 1000) + sse("message_stop", `{"type":"message_stop"}`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, _, err := asked(t, anthropic.New, body)
	runtime.ReadMemStats(&after)
	if err != nil || r.Stop != advisor.StopLength || r.Tokens != (advisor.Tokens{In: 3, Out: 7}) {
		t.Errorf("got %+v, %v", r, err)
	}
	if cost := after.TotalAlloc - before.TotalAlloc; cost > 200*uint64(len(body)) {
		t.Errorf("%d bytes were allocated for %d", cost, len(body))
	}
}
