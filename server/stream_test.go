package server_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/server"
)

// told are the names of the entries of an agent, in the order they arrived.
func (w *world) told(id perdure.AgentID) (names []perdure.Hash) {
	w.t.Helper()
	for item, err := range w.store.Entries(w.t.Context(), id, 0) {
		if err != nil {
			w.t.Fatal(err)
		}
		names = append(names, item.Name)
	}
	return names
}

func (w *world) agent(name string) perdure.AgentID {
	w.t.Helper()
	var made client.Created
	w.call(w.token("", home.VerbCreate), "POST", "/v1/agents", client.Intent{Goal: "listen", Name: name}, 201, &made)
	return made.Agent
}

func TestAStreamResumedAtRandomPointsHasEveryEntryOnce(t *testing.T) {
	w := newWorld(t, func(s *server.Server) { s.Limits.Rate, s.Limits.Burst = 1e6, 1e6 })
	all := w.token("", home.Verbs...)
	ids := []perdure.AgentID{w.agent("a"), w.agent("b"), w.agent("c")}
	const events = 400
	go func() {
		c := w.client(all, nil)
		for i := range events + 3 {
			name := fmt.Sprint("e", i)
			if i >= events {
				name = "last"
			}
			if _, err := c.Send(w.t.Context(), ids[i%3].String(), client.Event{Name: name}); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	for _, agent := range []string{"", "b"} { // the first while it is written
		of := ids
		if agent != "" {
			of = ids[1:2]
		}
		got := w.resumed(all, agent, len(of))
		var have []perdure.Hash
		for _, id := range of {
			have = append(have, w.told(id)...)
		}
		if agent != "" && !slices.Equal(got, have) {
			t.Errorf("the stream of %s is not its memory in its order", agent)
		}
		slices.SortFunc(got, perdure.Hash.Compare)
		slices.SortFunc(have, perdure.Hash.Compare)
		if !slices.Equal(got, have) {
			t.Errorf("the stream %q has %d entries (%d different), the memories %d", agent, len(got),
				len(slices.Compact(got)), len(have))
		}
	}
}

// resumed is what a stream yields that is cut off a hundred times, until so many agents have been told the last event.
func (w *world) resumed(token, agent string, last int) (got []perdure.Hash) {
	w.t.Helper()
	ctx, stop := context.WithTimeout(w.t.Context(), patience)
	defer stop()
	after, cuts := "start", 0
	for {
		left := rand.IntN(5) + 1
		for l, err := range w.client(token, nil).Tail(ctx, client.Tail{Agent: agent, After: after}) {
			if err != nil {
				w.t.Fatal(err)
			}
			got, after = append(got, l.Entry), l.Cursor
			if strings.HasPrefix(l.What, "last") {
				if last--; last == 0 {
					if cuts < 20 {
						w.t.Errorf("it was cut off %d times only", cuts)
					}
					return got
				}
			}
			if left--; left == 0 && cuts < 100 {
				break
			}
		}
		cuts++
	}
}

// A decision names only the advice it answers, and an outcome only its decision: whoever resumes behind those reads the
// same lines as who read them all.
func TestAResumedStreamSaysWhatAnUncutOneSays(t *testing.T) {
	w := newWorld(t, func(s *server.Server) { s.Limits.Rate, s.Limits.Burst = 1e6, 1e6 })
	id, digest := w.asking()
	w.call(w.human(), "POST", "/v1/agents/"+id.String()+"/approve", client.Ballot{Digest: digest.String()}, 200, nil)
	w.run(id)
	count := len(w.told(id))
	all := w.token("", home.Verbs...)
	for _, agent := range []string{"", id.String()} {
		lines := func(after string, n int) (got []client.Line) {
			for l, err := range w.client(all, nil).Tail(t.Context(), client.Tail{Agent: agent, After: after}) {
				if err != nil {
					t.Fatal(err)
				}
				if got = append(got, l); len(got) == n {
					break
				}
			}
			return got
		}
		uncut := lines("start", count)
		for i := range count - 1 {
			for k, l := range lines(uncut[i].Cursor, count-i-1) {
				if was := uncut[i+1+k]; l.What != was.What || l.Tool != was.Tool || l.Entry != was.Entry {
					t.Fatalf("tail %q resumed after %d: line %d says %q of %q, uncut %q of %q", agent, i, i+1+k, l.What,
						l.Tool, was.What, was.Tool)
				}
			}
		}
		if !slices.ContainsFunc(uncut, func(l client.Line) bool { return l.Kind == "outcome" && l.Tool == "pay" }) {
			t.Error("nothing was paid")
		}
	}
}

func TestAPositionOfAnotherFeedResets(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	w.agent("a")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", w.url+"/v1/tail", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+all)
	req.Header.Set("Last-Event-ID", "0123456789abcdef.99")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var text strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(text.String(), "event: entry") {
		n, err := res.Body.Read(buf)
		if text.Write(buf[:n]); err != nil {
			t.Fatal(err, text.String())
		}
	}
	if !strings.HasPrefix(text.String(), "event: reset\n") {
		t.Errorf("got %q", text.String())
	}
	w.problem(all, "GET", "/v1/tail", nil, 400, "Last-Event-ID", "nonsense")
}

func TestATailIsThereForWhomTheAgentsAre(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	w.call(all, "POST", "/v1/agents", client.Intent{Goal: "x", Name: "ops", Scope: "acme/ops"}, 201, nil)
	w.call(all, "POST", "/v1/agents", client.Intent{Goal: "x", Name: "dev", Scope: "acme/dev"}, 201, nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ops := w.client(w.token("acme/ops", home.VerbRead), nil)
	var got []string
	for l, err := range ops.Tail(ctx, client.Tail{After: "start"}) {
		if err != nil {
			t.Fatal(err)
		}
		if got = append(got, l.Name+" "+l.Kind); len(got) == 1 {
			w.call(all, "POST", "/v1/agents/dev/events", client.Event{Name: "secret"}, 200, nil)
			w.call(all, "POST", "/v1/agents/ops/events", client.Event{Name: "plain"}, 200, nil)
		}
		if len(got) == 2 {
			break
		}
	}
	if want := []string{"ops genesis", "ops event"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, err := range ops.Tail(ctx, client.Tail{Agent: "dev"}) {
		if home.KindOf(err) != home.KindNotFound {
			t.Errorf("got %v", err)
		}
		break
	}
}

func TestATailEndsWithItsAgent(t *testing.T) {
	w := newWorld(t, func(s *server.Server) { s.Limits.Heartbeat = 20 * time.Millisecond })
	all := w.token("", home.Verbs...)
	w.agent("a")
	var lines []client.Line
	began := make(chan struct{})
	done := make(chan error, 1)
	go func() {
		for l, err := range w.client(all, nil).Tail(w.t.Context(), client.Tail{Agent: "a", Last: 10}) {
			if err != nil {
				done <- err
				return
			}
			if lines = append(lines, l); len(lines) == 1 {
				close(began)
			}
		}
		done <- nil
	}()
	<-began
	w.call(all, "POST", "/v1/agents/a/events", client.Event{Name: "ping"}, 200, nil)
	w.call(all, "POST", "/v1/agents/a/end", nil, 200, nil)
	if err := <-done; err != nil || len(lines) < 3 {
		t.Errorf("got %d lines, %v", len(lines), err)
	}
	// so does the stream itself, and whoever asks again is told that there is no more
	code, _, text := w.raw(all, "GET", "/v1/agents/a/tail?after=start", nil)
	if n := strings.Count(string(text), "event: entry"); code != 200 || n != len(lines) ||
		!strings.Contains(string(text), "event: ended") {
		t.Errorf("got %d and %d entries of %d:\n%s", code, n, len(lines), text)
	}
	position := func(text []byte) string {
		at := strings.LastIndex(string(text), "id: ")
		id, _, _ := strings.Cut(string(text)[at+4:], "\n")
		return id
	}
	w.call(all, "GET", "/v1/agents/a/tail", nil, 204, nil, "Last-Event-ID", position(text))
	_, _, recent := w.raw(all, "GET", "/v1/agents/a/tail?last=1", nil)
	w.call(all, "GET", "/v1/agents/a/tail", nil, 204, nil, "Last-Event-ID", position(recent))
}

// traffic has an agent told something again and again until the test ends.
func (w *world) traffic(id perdure.AgentID) {
	ctx, stop := context.WithCancel(w.t.Context())
	done := make(chan struct{})
	c := w.client(w.token("", home.VerbEvent), nil)
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ { // more often than a heartbeat, and so that its inbox outlasts a test
			_, err := c.Send(ctx, id.String(), client.Event{Name: fmt.Sprint("e", i)})
			if err != nil && ctx.Err() == nil && home.KindOf(err) != home.KindTooMany {
				w.t.Error(err)
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	w.t.Cleanup(func() { stop(); <-done })
}

func TestAStreamFullOfTrafficEndsWithItsToken(t *testing.T) {
	w := newWorld(t, func(s *server.Server) {
		s.Limits.Heartbeat, s.Limits.Rate, s.Limits.Burst = time.Second, 1e6, 1e6
	})
	w.traffic(w.agent("a"))
	for _, agent := range []string{"", "a"} {
		token := w.token("", home.VerbRead)
		name, _, _ := strings.Cut(strings.TrimPrefix(token, "perdure_"), "_")
		ctx, stop := context.WithTimeout(t.Context(), patience)
		lines := 0
		for _, err := range w.client(token, nil).Tail(ctx, client.Tail{Agent: agent}) {
			if err != nil { // it came again, and was refused
				if !strings.Contains(err.Error(), "not valid") {
					t.Errorf("%q: got %v after %d lines", agent, err, lines)
				}
				break
			}
			if lines++; lines == 3 {
				if _, err := w.home.RevokeToken(name); err != nil {
					t.Fatal(err)
				}
			}
		}
		if stop(); lines < 3 {
			t.Errorf("%q: the stream had %d lines", agent, lines)
		}
	}
}

func TestAStreamOfAnAgentEndsWhenItIsNoLongerThere(t *testing.T) {
	w := newWorld(t, func(s *server.Server) { s.Limits.Heartbeat = 20 * time.Millisecond })
	all := w.token("", home.Verbs...)
	w.call(all, "POST", "/v1/agents", client.Intent{Goal: "x", Name: "a"}, 201, nil)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	lines := 0
	for _, err := range w.client(w.token("home", home.VerbRead), nil).Tail(ctx, client.Tail{Agent: "a", Last: 1}) {
		if err != nil {
			if home.KindOf(err) != home.KindNotFound {
				t.Errorf("got %v", err)
			}
			break
		}
		if lines++; lines == 1 {
			w.moves("a", "elsewhere") // it is nowhere now, and not where this token may look
		}
	}
	if lines == 0 {
		t.Error("the stream never began")
	}
}

// moves has an agent be in another scope, by an entry such as no node writes.
func (w *world) moves(name, scope string) {
	w.t.Helper()
	id, err := w.home.FindAgent(w.t.Context(), w.store, name)
	if err != nil {
		w.t.Fatal(err)
	}
	a, err := perdure.Load(w.t.Context(), w.store, id)
	if err != nil {
		w.t.Fatal(err)
	}
	edit := perdure.Event{Name: "edit", Notice: perdure.Edit{Mutate: perdure.Mutate{Scope: &scope}}}
	entries, _, err := w.node.Key.Commit(a, time.Now(), perdure.Draft{Body: edit})
	if err == nil {
		err = w.store.Put(w.t.Context(), id, entries...)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestAStreamEndsWhenItsTokenExpires(t *testing.T) {
	w := newWorld(t, func(s *server.Server) { s.Limits.Heartbeat = 20 * time.Millisecond })
	w.agent("a")
	for _, path := range []string{"/v1/tail?after=start", "/v1/agents/a/tail"} {
		for life := 2 * time.Second; !w.outlives(path, life); life *= 4 { // a slow machine takes longer to begin
			if life > patience {
				t.Fatalf("%s: no stream began within %s", path, life)
			}
		}
	}
}

// outlives reads a stream with a token that lives so long, until the server ends it. False: the stream did not begin
// in that time.
func (w *world) outlives(path string, life time.Duration) bool {
	w.t.Helper()
	until := time.Now().Add(life)
	token, _, err := w.home.MakeToken(home.NewToken{Name: "brief", Verbs: []string{home.VerbRead}, Expires: until})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(w.t.Context(), life+patience)
	defer stop()
	req, err := http.NewRequestWithContext(ctx, "GET", w.url+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body) // until the server ends it
	_ = res.Body.Close()
	if time.Now().Before(until) {
		w.t.Errorf("%s: it ended %v before its token: %s, %v: %s", path, time.Until(until), res.Status, err, text)
		return true
	}
	if res.StatusCode == http.StatusUnauthorized || !strings.Contains(string(text), "event: entry") {
		return false
	}
	if err != nil || res.StatusCode != http.StatusOK {
		w.t.Errorf("%s: got %s, %v: %s", path, res.Status, err, text)
	}
	if w.problem(token, "GET", path, nil, 401).Kind != "unauthenticated" {
		w.t.Errorf("%s: the token is taken after it expired", path)
	}
	return true
}

func TestAPositionThatNoStreamSentIsRefused(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	w.agent("a")
	feed, end, err := w.store.(perdure.Feeder).FeedEnd(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ours := feed.String()[:16]
	for _, stream := range []string{"/v1/tail", "/v1/agents/a/tail"} {
		for _, id := range []string{
			"7", "last", ours, ours + ".", ours + ".-1", ours + ".+1", ours + ".01", ours + ".1.2",
			"0123456789abcdeX.1", fmt.Sprint(ours, ".", end+1000), ours + ".99999999999999999999",
		} {
			for _, p := range []*client.Problem{
				w.problem(all, "GET", stream, nil, 400, "Last-Event-ID", id),
				w.problem(all, "GET", stream+"?after="+url.QueryEscape(id), nil, 400),
			} {
				contains(t, p.Detail, "want the id of an event that this stream sent")
				contains(t, p.Hint, "?after=start")
			}
		}
	}
	p := w.problem(all, "GET", "/v1/agents/a/tail?last="+ours+".1", nil, 400)
	contains(t, p.Detail, "last")
}

func TestAStreamGoesOnAfterTheStoreWasReset(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	id := w.agent("a")
	for _, path := range []string{"/v1/tail?after=start", "/v1/agents/a/tail?after=start"} {
		read := w.stream(all, path)
		read("event: entry")
		db, err := sql.Open("sqlite", "file:"+filepath.Join(w.home.Dir, home.StoreFile))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec("DROP TABLE feed"); err != nil { // as in a store that was restored
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		w.call(all, "POST", "/v1/agents/a/events", client.Event{Name: "after"}, 200, nil)
		read("event: reset")
		want := w.told(id)
		read(want[0].String()) // everything follows, without anything more being written
		read(want[len(want)-1].String())
	}
}

// stream follows something. What it returns reads up to a text.
func (w *world) stream(token, path string) (read func(text string)) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	w.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", w.url+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: got %s", path, res.Status)
	}
	var got string
	buf := make([]byte, 4096)
	return func(text string) {
		w.t.Helper()
		for {
			if i := strings.Index(got, text); i >= 0 {
				got = got[i+len(text):]
				return
			}
			n, err := res.Body.Read(buf)
			if got += string(buf[:n]); err != nil {
				w.t.Fatalf("%s: %v before %q came; got %q", path, err, text, got)
			}
		}
	}
}

func TestReadersWhoTakeNothingCostNothing(t *testing.T) {
	w := newWorld(t, func(s *server.Server) {
		s.Limits.WriteStall, s.Limits.Rate, s.Limits.Burst = time.Second, 1e6, 1e6
	})
	all := w.token("", home.Verbs...)
	agents := []perdure.AgentID{w.agent("a"), w.agent("b"), w.agent("c"), w.agent("d")} // an inbox holds 8 MB
	host := strings.TrimPrefix(w.url, "http://")
	const readers = 50
	for range readers { // each asks for everything, and reads nothing once it began
		c, err := net.Dial("tcp", host)
		if err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
		t.Cleanup(func() { _ = c.Close() })
		fmt.Fprintf(c, "GET /v1/tail?after=start HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n", host, all)
		const ok = "HTTP/1.1 200 OK\r\n"
		_ = c.SetReadDeadline(time.Now().Add(patience))
		first := make([]byte, len(ok))
		if _, err := io.ReadFull(c, first); err != nil || string(first) != ok { // it is let in
			t.Fatalf("got %q, %v", first, err)
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	data := []byte(`"` + strings.Repeat("x", 64<<10) + `"`)
	c := w.client(all, nil)
	for i := range 300 { // 20 MB, which no buffer holds
		to := agents[i%len(agents)].String()
		if _, err := c.Send(t.Context(), to, client.Event{Name: fmt.Sprint("e", i), Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 64<<20 {
		t.Errorf("the heap has grown by %d MB", grown>>20)
	}
}

// cut sends a request and cuts the connection off, every third time after the first bytes of the answer.
func cut(t *testing.T, host, request string, i int) {
	c, err := net.Dial("tcp", host)
	if err != nil {
		t.Error(err)
		return
	}
	_, _ = c.Write([]byte(request)) // it may be gone already
	if i%3 == 0 {
		_, _ = c.Read(make([]byte, 64))
	}
	_ = c.Close()
}

func TestConnectionsThatComeAndGoLeaveNothing(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 500
	}
	w := withMCP(t, func(s *server.Server) { s.Limits.Rate, s.Limits.Burst = 1e9, 1e9 })
	all := w.token("", home.Verbs...)
	w.agent("a")
	host := strings.TrimPrefix(w.url, "http://")
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
		`"capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	from := "Host: " + host + "\r\nAuthorization: Bearer " + all + "\r\n"
	requests := []string{
		"GET /v1/tail HTTP/1.1\r\n" + from + "\r\n",
		"GET /v1/agents/a/tail HTTP/1.1\r\n" + from + "\r\n",
		"GET /v1/agents HTTP/1.1\r\n" + from + "\r\n",
		"GET /v1/health HTTP/1.1\r\n" + from + "\r\n",
		"POST /mcp HTTP/1.1\r\n" + from + "Content-Type: application/json\r\n" + // whose session nobody ends
			"Accept: application/json, text/event-stream\r\n" +
			"Content-Length: " + fmt.Sprint(len(hello)) + "\r\n\r\n" + hello,
	}
	hammer := func(n int) {
		var group sync.WaitGroup
		slots := make(chan struct{}, 400)
		for i := range n {
			slots <- struct{}{}
			group.Go(func() {
				defer func() { <-slots }()
				cut(t, host, requests[i%len(requests)], i)
			})
		}
		group.Wait()
	}
	settled := func() (goroutines int, heap uint64) { // once as many are there as a while before
		var m runtime.MemStats
		for was, same := 0, 0; same < 10; time.Sleep(20 * time.Millisecond) {
			runtime.GC()
			if goroutines = runtime.NumGoroutine(); goroutines == was {
				same++
				continue
			}
			was, same = goroutines, 0
		}
		runtime.ReadMemStats(&m)
		return goroutines, m.HeapAlloc
	}
	warm := 3000 // by then there are as many sessions and connections as may be kept
	if testing.Short() {
		warm = 1000
	}
	hammer(warm)
	g1, h1 := settled()
	hammer(n)
	more := func(g int, h uint64) bool { // some 200 are of sessions that nobody ended
		return g > max(g1, 200)+n/100 || h > h1+8<<20
	}
	g2, h2 := settled()
	for until := time.Now().Add(patience); more(g2, h2) && time.Now().Before(until); { // what is left stays left
		g2, h2 = settled()
	}
	t.Logf("after %d connections %d goroutines and %d KB, after %d more %d and %d KB", warm, g1, h1>>10, n, g2, h2>>10)
	if more(g2, h2) {
		t.Errorf("after %d connections there were %d goroutines and %d bytes, after %d more %d and %d", warm,
			g1, h1, n, g2, h2)
	}
}
