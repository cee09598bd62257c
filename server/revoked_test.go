package server_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/server"
)

// A stream of MCP is of the token it was begun with, and ends with it.
func TestAStreamOfMCPEndsWithItsToken(t *testing.T) {
	w := withMCP(t, func(s *server.Server) { s.Limits.Heartbeat = 20 * time.Millisecond })
	text, token, err := w.home.MakeToken(home.NewToken{Name: "mm", Verbs: []string{home.VerbMCP}})
	if err != nil {
		t.Fatal(err)
	}
	begin := []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	_, h, said := w.raw(text, "POST", "/mcp", begin, "Accept", "application/json, text/event-stream")
	session := h.Get("Mcp-Session-Id")
	if session == "" {
		t.Fatalf("no session: %s", said)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.url+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+text)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Mcp-Session-Id", session)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		t.Fatalf("the stream: %s", res.Status)
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, res.Body) // it may be cut anywhere
		close(ended)
	}()
	if _, err := w.home.RevokeToken(token.ID); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("it goes on though its token was revoked")
	}
}
