package tool_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
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
func front(t *testing.T, stateless bool, before func(w http.ResponseWriter, r *http.Request) bool) (*httptest.Server,
	*atomic.Pointer[http.Handler]) {
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
	var h http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		return s
	}, &mcp.StreamableHTTPOptions{Stateless: stateless})
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
		if _, err := (&tool.MCP{Name: "t", URL: srv.URL}).Tools(t.Context()); err == nil ||
			!strings.Contains(err.Error(), "under headers") {
			t.Errorf("got %v, want a hint at headers", err)
		}
		tools := connected(t, &tool.MCP{Name: "t", URL: srv.URL, Header: http.Header{"authorization": {"Bearer yes"}}})
		if diff := cmp.Diff(map[string]any{"text": "key-1"},
			value(t, call(t, named(t, tools, "t.key"), nil))); diff != "" {
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
	tools := connected(t, &tool.MCP{Name: "t", URL: srv.URL, TrustHints: true})
	for _, status := range []int64{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		busy.Store(status)
		res := call(t, named(t, tools, "t.put"), nil)
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
	tools := connected(t, &tool.MCP{Name: "t", URL: srv.URL, TrustHints: true})
	renew(current, false)
	if got := value(t, call(t, named(t, tools, "t.key"), nil))["text"]; got != "key-1" {
		t.Errorf("got %v", got)
	}
	renew(current, false)
	doubts(t, named(t, tools, "t.wipe"), nil) // who answers 404 may have acted
	if got := value(t, call(t, named(t, tools, "t.wipe"), nil))["text"]; got != "wiped" {
		t.Errorf("got %v", got)
	}
}

// TestAnyAnswerButOneOfTheServerLeavesDoubt holds against calls that were made up to five times, or were said not to
// have happened: the server acted, and it or a gateway before it answered so.
func TestAnyAnswerButOneOfTheServerLeavesDoubt(t *testing.T) {
	fault := func(code int) string {
		return `{"jsonrpc":"2.0","id":%s,"error":{"code":` + strconv.Itoa(code) + `,"message":"no"}}`
	}
	for name, c := range map[string]struct {
		status int
		body   string
		sure   bool
	}{
		"404": {status: 404}, "429": {status: 429}, "503": {status: 503}, "504": {status: 504}, "500": {status: 500},
		"404 with a fault": {404, fault(-32001), false},
		"timed out":        {200, fault(-32001), false},
		"internal":         {200, fault(-32603), false},
		"bad arguments":    {200, fault(-32602), true},
		"no code":          {200, `{"jsonrpc":"2.0","id":%s,"error":{"message":"no"}}`, true},
		"no reason":        {200, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":" "}}`, true},
		"nothing":          {200, `{"jsonrpc":"2.0","id":%s,"error":{}}`, true},
	} {
		var taken atomic.Int64
		srv, _ := front(t, false, func(w http.ResponseWriter, r *http.Request) bool {
			body, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if err != nil || !bytes.Contains(body, []byte(`"tools/call"`)) {
				return false
			}
			taken.Add(1)
			var msg struct{ ID json.RawMessage }
			if err := json.Unmarshal(body, &msg); err != nil {
				t.Error(err)
			}
			w.Header().Set("Retry-After", "1")
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(c.status)
			if c.body != "" {
				fmt.Fprintf(w, c.body, msg.ID)
			}
			return true
		})
		wipe := named(t, connected(t, &tool.MCP{Name: "t", URL: srv.URL}), "t.wipe")
		if c.sure {
			why := ": no"
			switch name {
			case "no reason":
				why = "does not say why (error -32000)"
			case "nothing":
				why = "does not say why"
			}
			fails(t, call(t, wipe, nil), why)
		} else if _, err := wipe.Call(t.Context(), perdure.Call{Key: "key-1", Args: data(t, nil)}); !errors.Is(err,
			perdure.ErrInDoubt) {
			t.Errorf("%s: got %v, want doubt", name, err)
		}
		if n := taken.Load(); n != 1 {
			t.Errorf("%s: a once call was made %d times", name, n)
		}
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
