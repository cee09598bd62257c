package advisor_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/advisor/anthropic"
	"github.com/perdure/perdure/advisor/gemini"
	"github.com/perdure/perdure/advisor/openai"
)

// streams are how each provider streams: what begins a reply, a piece of text, one of the arguments of a call, and a
// call of its own.
var streams = []struct {
	name              string
	model             func(string, advisor.Endpoint) advisor.Model
	begin, text, args string
	call              func(i int) string
}{
	{"openai", openai.New, "",
		sse("", `{"choices":[{"index":0,"delta":{"content":"12345678"}}]}`),
		sse("", `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"12345678"}}]}}]}`),
		func(i int) string {
			return sse("", fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c"}]}}]}`, i))
		}},
	{"anthropic", anthropic.New, sse("message_start",
		`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[]}}`) + block(0),
		sse("content_block_delta",
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"12345678"}}`),
		sse("content_block_delta",
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"12345678"}}`),
		func(i int) string { return block(i + 1) }},
	{"gemini", gemini.New, "",
		sse("", `{"candidates":[{"content":{"role":"model","parts":[{"text":"12345678"}]}}]}`), "",
		func(int) string {
			return sse("", `{"candidates":[{"content":{"parts":[{"functionCall":{"name":"a"}}]}}]}`)
		}},
}

func sse(event, data string) string {
	if event != "" {
		event = "event: " + event + "\n"
	}
	return event + "data: " + data + "\n\n"
}

// block begins a block of Anthropic's.
func block(i int) string {
	return sse("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,`+
		`"content_block":{"type":"text","text":""}}`, i))
}

// asked is what a model says that streams so, and how many bytes it took to take that in.
func asked(t *testing.T, model func(string, advisor.Endpoint) advisor.Model, body string) (r advisor.Reply, cost uint64,
	err error) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write([]byte(body)) //nolint:errcheck // whoever asked may have gone
	}))
	defer s.Close()
	m := model("m", advisor.Endpoint{URL: s.URL, Key: func() (string, error) { return "key", nil }})
	p := &advisor.Prompt{Messages: []advisor.Message{{Parts: []advisor.Part{advisor.Text("hi")}}}}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err = m.Ask(t.Context(), p, func(string) {})
	runtime.ReadMemStats(&after)
	return r, after.TotalAlloc - before.TotalAlloc, err
}

// TestAnEndlessReplyCostsWhatIsKept streams pieces of eight bytes: put together by copying, 30,000 of them copy 3.6 GB.
// It counts what the whole process allocates, so no other test may run beside it.
func TestAnEndlessReplyCostsWhatIsKept(t *testing.T) {
	for _, one := range streams {
		for what, piece := range map[string]string{"text": one.text, "args": one.args} {
			if piece == "" {
				continue
			}
			const pieces = 30_000
			r, cost, err := asked(t, one.model, one.begin+strings.Repeat(piece, pieces))
			if err == nil {
				t.Errorf("%s: a reply that does not end is one", one.name)
			}
			if what == "text" && len(r.Text) != 8*pieces {
				t.Errorf("%s: %d bytes of text, want %d", one.name, len(r.Text), 8*pieces)
			}
			if per := cost / uint64(len(piece)*pieces); per > 200 {
				t.Errorf("%s: %d bytes were allocated for each byte of %s, want at most 200", one.name, per, what)
			} else {
				t.Logf("%s: %d bytes for each byte of %s", one.name, per, what)
			}
		}
	}
}

// TestAReplyHasSoManyParts: what began is kept until the reply ends, and a call weighs more than what begins it.
func TestAReplyHasSoManyParts(t *testing.T) {
	for _, one := range streams {
		body := one.begin
		for i := range 1100 {
			body += one.call(i)
		}
		_, _, err := asked(t, one.model, body)
		if err == nil || !strings.Contains(err.Error(), "more than 1024 parts") {
			t.Errorf("%s: got %v", one.name, err)
		}
	}
}
