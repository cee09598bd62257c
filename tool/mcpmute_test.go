package tool_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure/tool"
)

// asks reports whether a message is a request of a method.
func asks(message []byte, method string) bool {
	return bytes.Contains(message, fmt.Appendf(nil, `"method":%q`, method))
}

// serveMute serves as a server does that leaves methods it does not know unanswered.
func serveMute() {
	serveThrough(func(line []byte, _ io.Writer) bool { return !asks(line, "server/discover") })
}

// serveSlow serves as a server does that speaks the newest protocol alone, and takes too long to say so when it is
// started for the first time.
func serveSlow() {
	first := false
	if f, err := os.OpenFile(os.Getenv("TEST_STARTED"), os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		first = true
		_ = f.Close()
	}
	serveThrough(func(line []byte, out io.Writer) bool {
		if asks(line, "initialize") {
			_, _ = fmt.Fprintln(out, `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no such method"}}`)
			return false
		}
		return !first || !asks(line, "server/discover")
	})
}

// serveThrough serves what a filter lets through.
func serveThrough(filter func(line []byte, out io.Writer) bool) {
	in, lines := io.Pipe()
	go func() {
		for r := bufio.NewReader(os.Stdin); ; {
			line, err := r.ReadBytes('\n')
			if err == nil && filter(line, os.Stdout) {
				_, err = lines.Write(line)
			}
			if err != nil {
				_ = lines.CloseWithError(err)
				return
			}
		}
	}()
	if err := testServer().Run(context.Background(), &mcp.IOTransport{Reader: in, Writer: os.Stdout}); err != nil {
		os.Exit(1)
	}
}

// A server that leaves the question for the newest protocol unanswered is greeted in the one before.
func TestAServerThatIgnoresDiscoverIsInitialized(t *testing.T) {
	m := stdio(t)
	m.Env = []string{"TEST_MCP=mute"}
	if tools := connected(t, tool.Impatient(m)); len(tools) == 0 || tool.Protocol(m) != "2025-11-25" {
		t.Errorf("got %d tools in protocol %s", len(tools), tool.Protocol(m))
	}
}

// The same over HTTP, where the question hangs.
func TestAnHTTPServerThatIgnoresDiscoverIsInitialized(t *testing.T) {
	server := testServer()
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if asks(body, "server/discover") {
			<-r.Context().Done()
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	m := &tool.MCP{Name: "t", URL: web.URL}
	if tools := connected(t, tool.Impatient(m)); len(tools) == 0 || tool.Protocol(m) != "2025-11-25" {
		t.Errorf("got %d tools in protocol %s", len(tools), tool.Protocol(m))
	}
}

// A server that knows only the newest protocol, and was slow to say so, is waited for.
func TestAServerThatRefusesToBeInitializedIsWaitedFor(t *testing.T) {
	m := stdio(t)
	m.Env = []string{"TEST_MCP=slow", "TEST_STARTED=" + filepath.Join(t.TempDir(), "started")}
	if tools := connected(t, tool.Impatient(m)); len(tools) == 0 || tool.Protocol(m) != "2026-07-28" {
		t.Errorf("got %d tools in protocol %s", len(tools), tool.Protocol(m))
	}
}
