package tool_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
)

// front serves the test server over HTTP; when before returns true, it has answered itself.
func front(t *testing.T, stateless bool, before func(w http.ResponseWriter, r *http.Request) bool) (*httptest.Server, *atomic.Pointer[http.Handler]) {
	t.Helper()
	current := new(atomic.Pointer[http.Handler])
	renew(current, stateless)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if before == nil || !before(w, r) {
			(*current.Load()).ServeHTTP(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return srv, current
}

// renew puts a server in its place that knows nothing of the sessions of the one before.
func renew(current *atomic.Pointer[http.Handler], stateless bool) {
	s := testServer()
	var h http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: stateless})
	current.Store(&h)
}

func TestServerAtAURLIsCalledWithItsHeader(t *testing.T) {
	for _, stateless := range []bool{true, false} {
		srv, _ := front(t, stateless, func(w http.ResponseWriter, r *http.Request) bool {
			if r.Header.Get("Authorization") == "Bearer yes" {
				return false
			}
			w.WriteHeader(http.StatusUnauthorized)
			return true
		})
		if _, err := (&tool.MCP{Name: "t", URL: srv.URL}).Tools(t.Context()); err == nil || !strings.Contains(err.Error(), "Header") {
			t.Errorf("got %v, want a hint at Header", err)
		}
		tools := connected(t, &tool.MCP{Name: "t", URL: srv.URL, Header: http.Header{"authorization": {"Bearer yes"}}})
		if diff := cmp.Diff(map[string]any{"text": "key-1"}, value(t, call(t, named(t, tools, "t.key"), nil))); diff != "" {
			t.Error(diff)
		}
		fails(t, call(t, named(t, tools, "t.fail"), nil), "the shelf is empty")
	}
}

func TestBusyServerThrottles(t *testing.T) {
	var busy atomic.Int64
	srv, _ := front(t, false, func(w http.ResponseWriter, _ *http.Request) bool {
		status := int(busy.Load())
		if status == 0 {
			return false
		}
		if status != http.StatusBadGateway {
			w.Header().Set("Retry-After", "7")
		}
		w.WriteHeader(status)
		return true
	})
	tools := connected(t, &tool.MCP{Name: "t", URL: srv.URL})
	for _, status := range []int64{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		busy.Store(status)
		res := call(t, named(t, tools, "t.wipe"), nil)
		if res.Signal != perdure.Throttled || res.RetryAfter != 7*time.Second {
			t.Errorf("%d: got %s after %s, want throttled for 7s", status, res.Signal, res.RetryAfter)
		}
	}
	busy.Store(http.StatusBadGateway) // the server behind may have done it
	doubts(t, named(t, tools, "t.wipe"), nil, "the server was lost during the call")
	busy.Store(0)
	if got := value(t, call(t, named(t, tools, "t.wipe"), nil))["text"]; got != "wiped" {
		t.Errorf("got %v after it was busy", got)
	}
}

func TestServerThatForgotItsSessionsIsConnectedAgain(t *testing.T) {
	srv, current := front(t, false, nil)
	tools := connected(t, &tool.MCP{Name: "t", URL: srv.URL})
	renew(current, false)
	if got := value(t, call(t, named(t, tools, "t.wipe"), nil))["text"]; got != "wiped" {
		t.Errorf("got %v", got)
	}
}

func TestServerThatIsGoneFailsTheCall(t *testing.T) {
	srv, _ := front(t, true, nil)
	tools := connected(t, &tool.MCP{Name: "t", URL: srv.URL})
	srv.Close()
	fails(t, call(t, named(t, tools, "t.wipe"), nil), "nothing happened")
}

// TestConnectionThatBreaksInACallLeavesDoubt: the server took the call and its connection broke before it answered.
func TestConnectionThatBreaksInACallLeavesDoubt(t *testing.T) {
	for _, stateless := range []bool{true, false} {
		var taken atomic.Int64
		srv, _ := front(t, stateless, func(w http.ResponseWriter, r *http.Request) bool {
			body, err := io.ReadAll(r.Body)
			if err != nil || !bytes.Contains(body, []byte(`"tools/call"`)) {
				r.Body = io.NopCloser(bytes.NewReader(body))
				return false
			}
			taken.Add(1)
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return true
			}
			_ = conn.Close()
			return true
		})
		tools := connected(t, &tool.MCP{Name: "t", URL: srv.URL})
		doubts(t, named(t, tools, "t.wipe"), nil, "the server was lost during the call")
		if n := taken.Load(); n != 1 {
			t.Errorf("stateless %v: a once call was made %d times", stateless, n)
		}
	}
}
