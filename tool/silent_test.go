package tool_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
	"github.com/perdure/perdure/trace"
)

// outcome is what a node records of a call of a tool.
func outcome(t *testing.T, tl perdure.Tool, args any) perdure.Outcome {
	t.Helper()
	key, err := perdure.GenerateSigner("node")
	if err != nil {
		t.Fatal(err)
	}
	data, err := perdure.DataOf(args)
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{
		Store: new(perdure.MemStore), Key: key, Tools: []perdure.Tool{tl},
		Policy: perdure.PolicyFunc(func(*perdure.Agent, perdure.Request, time.Time) perdure.Verdict {
			return perdure.Verdict{Answer: perdure.Allow}
		}),
		Advisors: map[string]perdure.Advisor{"": perdure.AdvisorFunc(
			func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
				if a.Fold().Turns > 0 {
					return perdure.Advice{Actions: []perdure.Action{perdure.End{Signal: perdure.OK}}}, nil
				}
				return perdure.Advice{Actions: []perdure.Action{perdure.Execute{Tool: tl.Spec().Name, Args: data}}}, nil
			})},
	}
	ctx, err := trace.With(t.Context(), "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	if err != nil {
		t.Fatal(err)
	}
	a, err := n.Create(ctx, perdure.Genesis{Intent: perdure.Intent{Goal: "call"},
		Charter: perdure.Charter{Scope: "test"}})
	if err == nil {
		_, err = n.RunAgent(t.Context(), a.ID())
	}
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range perdure.Memory(t.Context(), n.Store, a.ID()) {
		if err != nil {
			t.Fatal(err)
		}
		if o, ok := e.Content().(perdure.Outcome); ok {
			return o
		}
	}
	t.Fatal("there is no outcome")
	return perdure.Outcome{}
}

// silent checks that nobody is said to have taken too long who was gone.
func silent(t *testing.T, o perdure.Outcome) {
	t.Helper()
	if o.Signal != perdure.Silent || strings.Contains(o.Note, "within") || strings.Contains(o.Note, "in time") {
		t.Errorf("got %s (%s), want silent", o.Signal, o.Note)
	}
}

// hangUp ends the connection of a request without an answer.
func hangUp(t *testing.T, w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	_ = conn.Close()
}

// TestWhoeverIsGoneIsSilent, however they went: what a node records of calls that may be made again.
func TestWhoeverIsGoneIsSilent(t *testing.T) {
	t.Run("mcp stdio", func(t *testing.T) {
		m := stdio(t)
		m.Effects = map[string]perdure.Effect{"*": perdure.Read}
		silent(t, outcome(t, named(t, connected(t, m), "t.die"), map[string]any{}))
	})
	t.Run("mcp http", func(t *testing.T) {
		srv, _ := front(t, true, func(w http.ResponseWriter, r *http.Request) bool {
			body, err := io.ReadAll(r.Body)
			if err != nil || !bytes.Contains(body, []byte(`"tools/call"`)) {
				r.Body = io.NopCloser(bytes.NewReader(body))
				return false
			}
			hangUp(t, w)
			return true
		})
		tools := connected(t, &tool.MCP{Name: "t", URL: srv.URL, Effects: map[string]perdure.Effect{"*": perdure.Read}})
		silent(t, outcome(t, named(t, tools, "t.wipe"), map[string]any{}))
		srv.Close()
		silent(t, outcome(t, named(t, tools, "t.wipe"), map[string]any{}))
	})
	t.Run("http", func(t *testing.T) {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { hangUp(t, w) }))
		h := httpTools(t, tool.HTTP{Allow: []string{s.URL}, Loopback: true})
		silent(t, outcome(t, h("get"), map[string]any{"url": s.URL + "/"}))
		s.Close()
		silent(t, outcome(t, h("get"), map[string]any{"url": s.URL + "/"}))
	})
	t.Run("shell", func(t *testing.T) {
		s := tool.Shell{Dir: t.TempDir(), Allow: []string{"sh"}, Effect: perdure.Read}
		silent(t, outcome(t, s, map[string]any{"script": "kill -9 $$"}))
	})
}

// TestTheTraceIsSentOn by requests and to MCP servers.
func TestTheTraceIsSentOn(t *testing.T) {
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-"
	var mu sync.Mutex
	var got string
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = r.Header.Get("traceparent")
	}))
	defer s.Close()
	outcome(t, httpTools(t, tool.HTTP{Allow: []string{s.URL}, Loopback: true})("get"),
		map[string]any{"url": s.URL + "/"})
	mu.Lock()
	if !strings.HasPrefix(got, trace) {
		t.Errorf("got traceparent %q, want one of the trace", got)
	}
	mu.Unlock()
	srv, _ := front(t, true, func(_ http.ResponseWriter, r *http.Request) bool {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"tools/call"`)) {
			mu.Lock()
			got = string(body)
			mu.Unlock()
		}
		return false
	})
	outcome(t, named(t, connected(t, &tool.MCP{Name: "t", URL: srv.URL}), "t.wipe"), map[string]any{})
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(got, `"traceparent":"`+trace) {
		t.Errorf("got call %s, want the trace in its _meta", got)
	}
}

// TestWhatIsLeftOutOfFilesIsPartial, and a part that was asked for is not.
func TestWhatIsLeftOutOfFilesIsPartial(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "big"), make([]byte, tool.MaxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	many := filepath.Join(dir, "many")
	if err := os.Mkdir(many, 0o700); err != nil {
		t.Fatal(err)
	}
	for i := range 10_001 {
		if err := os.Symlink("x", filepath.Join(many, strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	tools := tool.Files(root)
	for _, c := range []struct {
		name string
		args map[string]any
		want perdure.Signal
	}{
		{"files.read", map[string]any{"path": "big"}, perdure.Partial},
		{"files.read", map[string]any{"path": "big", "limit": tool.MaxFile * 2}, perdure.Partial},
		{"files.read", map[string]any{"path": "big", "limit": 5}, perdure.OK},
		{"files.read", map[string]any{"path": "big", "offset": 1}, perdure.OK},
		{"files.list", map[string]any{"path": "many"}, perdure.Partial},
		{"files.list", map[string]any{"path": "."}, perdure.OK},
	} {
		o := outcome(t, named(t, tools, c.name), c.args)
		if o.Signal != c.want || (o.Note == "") != (c.want == perdure.OK) ||
			strings.Contains(string(o.Result), "left out") {
			t.Errorf("%s %v: got %s (%s), want %s", c.name, c.args, o.Signal, o.Note, c.want)
		}
	}
}
