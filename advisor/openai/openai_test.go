package openai_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/advisor/openai"
)

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
	r, err := openai.New("local", advisor.Endpoint{URL: s.URL}).
		Ask(context.Background(), &advisor.Prompt{Messages: []advisor.Message{{Parts: []advisor.Part{advisor.Text(
			"hi")}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if header.Get("Authorization") != "" {
		t.Errorf("a key of the environment went to another server: %q", header.Get("Authorization"))
	}
	want := advisor.Reply{Calls: []advisor.ToolCall{{ID: "call_a", Name: "a", Args: `{"n":1}`},
		{ID: "call_b", Name: "b", Args: "{}"}}, Tokens: advisor.Tokens{In: 9, Out: 3}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("reply (-want +got):\n%s", diff)
	}
}

// TestAWebPageIsNoAnswer: the address of a server's front page is a common mistake, and it answers 200.
func TestAWebPageIsNoAnswer(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write([]byte("<html>welcome</html>")) //nolint:errcheck // the client is there
	}))
	defer s.Close()
	_, err := openai.New("local", advisor.Endpoint{URL: s.URL}).
		Ask(t.Context(), &advisor.Prompt{Messages: []advisor.Message{{Parts: []advisor.Part{advisor.Text("hi")}}}}, nil)
	if err == nil || !strings.Contains(err.Error(), "sent a web page and no answer") {
		t.Errorf("got %v", err)
	}
}
