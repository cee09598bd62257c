package server_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure/home"
)

// resources are as many names of resources, of two agents.
func (w *world) resources(n int) (uris []string) {
	w.t.Helper()
	for _, id := range []string{w.agent("a").String(), w.agent("b").String()} {
		for _, part := range []string{"state", "transcript", "log"} {
			for digits := 8; digits <= len(id); digits++ {
				uris = append(uris, "agent://"+id[:digits]+"/"+part)
			}
		}
	}
	return uris[:n]
}

// One visitor of MCP does not take the subscriptions of all: others can still have some.
func TestOneVisitorDoesNotTakeAllSubscriptions(t *testing.T) {
	t.Parallel()
	w := withMCP(t)
	uris := w.resources(300)
	greedy := w.remembers("greedy", mcpVersions[1], home.VerbMCP)
	var err error
	n := 0
	for ; n < len(uris) && err == nil; n++ {
		err = greedy.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uris[n]})
	}
	if err == nil || !strings.Contains(err.Error(), "end some first") {
		t.Errorf("after %d subscriptions of one visitor: %v", n, err)
	}
	modest := w.remembers("modest", mcpVersions[1], home.VerbMCP)
	if err := modest.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uris[0]}); err != nil {
		t.Errorf("another visitor is refused: %v", err)
	}
	if err := greedy.Unsubscribe(t.Context(), &sdk.UnsubscribeParams{URI: uris[0]}); err != nil {
		t.Fatal(err)
	}
	if err := greedy.Subscribe(t.Context(), &sdk.SubscribeParams{URI: uris[299]}); err != nil {
		t.Errorf("after one was ended: %v", err)
	}
}

// listens asks to be told of resources, in the protocol that asks for all at once, and is the first thing it is told.
func (w *world) listens(token string, uris []string) string {
	w.t.Helper()
	meta := map[string]any{"io.modelcontextprotocol/protocolVersion": mcpVersions[0],
		"io.modelcontextprotocol/clientInfo":         map[string]any{"name": "tester", "version": "1"},
		"io.modelcontextprotocol/clientCapabilities": map[string]any{}}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
		"params": map[string]any{"_meta": meta, "notifications": map[string]any{"resourceSubscriptions": uris}}})
	if err != nil {
		w.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), "POST", w.url+"/mcp", strings.NewReader(string(body)))
	if err != nil {
		w.t.Fatal(err)
	}
	for k, v := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": mcpVersions[0],
		"Mcp-Method": "subscriptions/listen"} {
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = res.Body.Close() })
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		if text := lines.Text(); strings.Contains(text, "{") {
			return text
		}
	}
	return res.Status
}

// The same in the protocol whose requests stand for many subscriptions.
func TestOneVisitorDoesNotTakeAllSubscriptionsAtOnce(t *testing.T) {
	t.Parallel()
	w := withMCP(t)
	uris := w.resources(300)
	greedy, modest := w.token("", home.VerbMCP), w.token("", home.VerbMCP) // of one name
	contains(t, w.listens(greedy, uris[:200]), "notifications/subscriptions/acknowledged")
	contains(t, w.listens(greedy, uris[200:]), "end some first")
	contains(t, w.listens(modest, uris[200:]), "notifications/subscriptions/acknowledged")
}
