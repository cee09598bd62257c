package mcp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestSessionsThatAreLeftBehindAreBounded(t *testing.T) {
	inWorld(t, func(w *world) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		web := httptest.NewServer(w.server.Handler(ctx))
		defer web.Close()
		post := func(session, body string) (int, string) {
			t.Helper()
			req, err := http.NewRequestWithContext(ctx, "POST", web.URL, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			req.Header.Set("Accept", "application/json, text/event-stream")
			if session != "" {
				req.Header.Set("Mcp-Session-Id", session)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, res.Body) // the answer is in the status and the header
			_ = res.Body.Close()
			return res.StatusCode, res.Header.Get("Mcp-Session-Id")
		}
		hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
			`"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
		ping := `{"jsonrpc":"2.0","id":2,"method":"ping"}`
		_, left := post("", hello)
		_, used := post("", hello)
		if left == "" || used == "" {
			t.Fatal("there are no sessions")
		}
		for range 600 {
			if code, id := post("", hello); code != http.StatusOK || id == "" {
				t.Fatalf("a new session: %d", code)
			}
			if code, _ := post(used, ping); code != http.StatusOK {
				t.Fatalf("a session in use: %d", code)
			}
		}
		if code, _ := post(left, ping); code != http.StatusNotFound {
			t.Errorf("a session that was left behind: %d, want 404", code)
		}
	})
}
