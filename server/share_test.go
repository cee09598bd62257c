package server_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/server"
)

// Clients that begin a request that reads a memory, and send no body, keep nobody else from reading.
func TestWhoSendsNothingKeepsNobodyFromReading(t *testing.T) {
	w := newWorld(t)
	w.agent("b")
	reads := w.token("", home.VerbRead)
	for range max(4, runtime.GOMAXPROCS(0)) + 1 { // more than there are places
		c, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		fmt.Fprintf(c, "POST /v1/agents/b/explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+
			"Content-Length: 100\r\nExpect: 100-continue\r\nAuthorization: Bearer %s\r\n\r\n", reads)
		line, err := bufio.NewReader(c).ReadString('\n') // its body is waited for
		if err != nil || !strings.Contains(line, "100") {
			t.Fatalf("got %q, %v", line, err)
		}
	}
	ctx, stop := context.WithTimeout(t.Context(), 15*time.Second) // they are given up on after 30
	defer stop()
	if status := w.asked(ctx, "GET", "/v1/agents/b/state", reads); status != http.StatusOK {
		t.Errorf("somebody else is answered %d", status)
	}
}

// asked is the status that a request is answered with; zero: none.
func (w *world) asked(ctx context.Context, method, path, token string) int {
	w.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, w.url+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	w.t.Cleanup(func() { _ = res.Body.Close() })
	return res.StatusCode
}

// What reads a whole memory waits for a place, by whatever method and for whatever face of it.
func TestEveryReadingOfAWholeMemoryWaitsForAPlace(t *testing.T) {
	w := newWorld(t)
	w.agent("b")
	reads := w.token("", home.VerbRead)
	for _, one := range []struct{ method, path string }{
		{"GET", "/state"}, {"HEAD", "/state"}, {"GET", "/entries"}, {"HEAD", "/transcript"}, {"GET", "/diff"},
		{"GET", "/page"}, {"POST", "/verify"}, {"GET", "?at=0"}, {"HEAD", "?at=0"},
	} {
		path := "/v1/agents/b" + one.path
		free := w.server.TakePlaces()
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		if status := w.asked(ctx, one.method, path, reads); status == http.StatusOK {
			t.Errorf("%s %s took no place", one.method, path)
		}
		stop()
		free()
		if status := w.asked(t.Context(), one.method, path, reads); status != http.StatusOK {
			t.Errorf("%s %s: got %d", one.method, path, status)
		}
	}
}

// slow is a store that takes its time to put what arrives, as one on a busy disk does with a large capsule.
type slow struct {
	perdure.Store
	perdure.Lister
	perdure.Feeder
	takes time.Duration
}

func (s *slow) Put(ctx context.Context, id perdure.AgentID, entries ...*perdure.Entry) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(s.takes):
	}
	return s.Store.Put(ctx, id, entries...)
}

// An import may take longer to store than its sender may be silent.
func TestAnImportMayTakeLongToStore(t *testing.T) {
	w := newWorld(t)
	w.agent("a")
	var capsule bytes.Buffer
	if _, err := w.client(w.token("", home.Verbs...), nil).Export(t.Context(), &capsule, "a", "", ""); err != nil {
		t.Fatal(err)
	}
	o := newWorld(t, func(s *server.Server) {
		st := s.Desk.Store
		s.Desk.Store = &slow{st, st.(perdure.Lister), st.(perdure.Feeder), 2 * time.Second}
		s.Limits.ReadStall = time.Second
	})
	if _, err := o.client(o.token("", home.Verbs...), nil).Import(t.Context(), &capsule, false); err != nil {
		t.Error(err)
	}
}

// A stream of MCP or A2A ends when the server is to stop, as tails do: a restart does not take the whole grace.
func TestAMountedStreamEndsWhenTheServerStops(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		t.Run(method, func(t *testing.T) {
			w := newWorld(t)
			ln, err := server.Listen(t.Context(), server.Listening{Address: "127.0.0.1:0"})
			if err != nil {
				t.Fatal(err)
			}
			stream := func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusOK)
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}
			s := &server.Server{Desk: w.desk, Log: w.server.Log, MCP: http.HandlerFunc(stream)}
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- s.Serve(ctx, 2*patience, ln) }()
			w.url = "http://" + ln.Addr().String()
			status := w.asked(t.Context(), method, "/mcp", w.token("", home.Verbs...))
			if stop(); status != http.StatusOK {
				t.Errorf("got %d", status)
			}
			select {
			case err := <-done:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(patience):
				t.Error("the stream keeps the server from stopping")
			}
		})
	}
}

// Strangers, from however many addresses, give nobody who has used theirs up more to ask, and no more guesses to those
// who have a network of addresses.
func TestStrangersRefillNobodysBucket(t *testing.T) {
	w := newWorld(t, func(s *server.Server) { s.Limits.Rate, s.Limits.Burst = 1e-6, 3 })
	h, token := w.server.Handler(t.Context()), w.token("", home.VerbRead)
	ask := func(from, token string) int {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "http://localhost/v1/whoami", nil)
		r.RemoteAddr = from
		r.Header.Set("Authorization", "Bearer "+token)
		res := httptest.NewRecorder()
		h.ServeHTTP(res, r)
		return res.Code
	}
	for range 3 {
		if got := ask("192.0.2.1:1", token); got != http.StatusOK {
			t.Fatalf("got %d", got)
		}
	}
	for i := range server.MaxBuckets + 1 {
		ask(fmt.Sprintf("[2001:db8:%x:%x::1]:1", i>>16, i&0xffff), "wrong")
	}
	if got := ask("192.0.2.1:1", token); got != http.StatusTooManyRequests {
		t.Errorf("strangers gave somebody more to ask: %d", got)
	}
	last := 0
	for i := range 60 {
		last = ask(fmt.Sprintf("[2001:db8:ffff::%x]:1", i+1), "wrong")
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("each address of one network has guesses of its own: %d", last)
	}
}

// One visitor who follows as much as the server serves keeps nobody else from following.
func TestOneVisitorDoesNotTakeAllStreams(t *testing.T) {
	w := newWorld(t, func(s *server.Server) { s.Limits.Streams = 8 })
	w.agent("a")
	greedy, last := w.token("", home.VerbRead), 0
	for range 9 {
		last = w.asked(t.Context(), "GET", "/v1/agents/a/tail", greedy)
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the ninth stream of one visitor is answered %d", last)
	}
	if got := w.asked(t.Context(), "GET", "/v1/agents/a/tail", w.token("", home.VerbRead)); got != http.StatusOK {
		t.Errorf("somebody else is answered %d", got)
	}
}

// One visitor who begins session after session of MCP ends their own, and nobody else's.
func TestOneVisitorDoesNotEndTheSessionsOfOthers(t *testing.T) {
	w := withMCP(t)
	hello := []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`)
	begin := func(token string) string {
		_, h, said := w.raw(token, "POST", "/mcp", hello, "Accept", "application/json, text/event-stream")
		if h.Get("Mcp-Session-Id") == "" {
			t.Fatalf("no session: %s", said)
		}
		return h.Get("Mcp-Session-Id")
	}
	ping := func(token, session string) int {
		code, _, _ := w.raw(token, "POST", "/mcp", []byte(`{"jsonrpc":"2.0","id":2,"method":"ping"}`),
			"Accept", "application/json, text/event-stream", "Mcp-Session-Id", session)
		return code
	}
	honest, greedy := w.token("", home.VerbMCP), w.token("", home.VerbMCP)
	mine, first := begin(honest), begin(greedy)
	for range 600 {
		begin(greedy)
	}
	if got := ping(honest, mine); got != http.StatusOK {
		t.Errorf("the session of somebody else: %d", got)
	}
	if got := ping(greedy, first); got != http.StatusNotFound {
		t.Errorf("the first of very many of one visitor: %d", got)
	}
}
