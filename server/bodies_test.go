package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/server"
)

// A body of four megabytes that is made of the smallest values would take two hundred decoded.
func TestABodyOfVeryManyValuesIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	id := w.agent("a").String()
	for path, body := range map[string]string{
		"/v1/agents":                          `{"goal":"x","inputs":{"a":[%s]}}`,
		"/v1/agents/" + id + "/explain":       `{"tool":"x","args":{"a":[%s]}}`,
		"/v1/agents/" + id + "/events":        `{"name":"x","id":"\u0061","data":[%s]}`,
		"/v1/agents/" + id + "/votes/prepare": `[%s]`,
	} {
		for _, many := range []string{strings.Repeat("0,", 1<<20) + "0", strings.Repeat("[", 1<<20)} {
			p := w.problem(all, "POST", path, []byte(fmt.Sprintf(body, many)), 400)
			said := p.Detail + fmt.Sprint(p.Errors)
			if strings.HasPrefix(many, "0") && !strings.Contains(said, "more than 200000 values") {
				t.Errorf("%s: %s %v", path, p.Detail, p.Errors)
			}
		}
	}
}

// Whoever sends more at once than they have room for waits until there is; others do not, nor does what is small.
func TestWhatOneSendsKeepsNobodyElseOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	one, other := w.token("", home.Verbs...), w.token("", home.Verbs...)
	path := "/v1/agents/" + w.agent("a").String() + "/events"
	slow, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Close() }()
	// It says that it will send all that one may, and does not.
	_, _ = fmt.Fprintf(slow, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n{", path, one, 4<<20)
	event := func(size int) map[string]any { return map[string]any{"name": "x", "data": strings.Repeat("x", size)} }
	requests(t, w, 1)
	w.call(other, "POST", path, event(128<<10), 200, nil)
	w.call(one, "POST", path, event(32<<10), 200, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		if code, _, body := w.raw(one, "POST", path, event(128<<10)); code != 200 {
			t.Errorf("got %d %s", code, body)
		}
	}()
	requests(t, w, 2)
	select {
	case <-done:
		t.Error("it was taken beside all that one may send")
	case <-time.After(300 * time.Millisecond):
	}
	_ = slow.Close()
	<-done
	requests(t, w, 0)
}

// Who waits for room is asked again who they are once there is some, and a server that stops has none.
func TestWhoWaitsForRoomIsAskedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(s *server.Server) { s.Limits.ReadStall = time.Hour })
	token, made, err := w.home.MakeToken(home.NewToken{Name: "one", Verbs: home.Verbs})
	if err != nil {
		t.Fatal(err)
	}
	other := w.token("", home.Verbs...)
	path := "/v1/agents/" + w.agent("a").String() + "/events"
	slow, stuck := stalls(t, w, token, path), stalls(t, w, other, path)
	defer func() { _ = stuck.Close() }()
	requests(t, w, 2)
	codes := map[string]chan int{token: make(chan int), other: make(chan int)}
	for token, code := range codes {
		go func() {
			got, _, _ := w.raw(token, "POST", path, map[string]any{"name": "x", "data": strings.Repeat("x", 128<<10)})
			code <- got
		}()
	}
	requests(t, w, 4)
	if _, err := w.home.RevokeToken(made.ID); err != nil {
		t.Fatal(err)
	}
	_ = slow.Close()
	if got := <-codes[token]; got != 401 {
		t.Errorf("whose token was taken back got %d", got)
	}
	w.stop()
	select {
	case got := <-codes[other]:
		if got != 503 {
			t.Errorf("a server that stops answers with %d, want 503", got)
		}
	case <-time.After(patience):
		t.Error("it waits on where the server stops")
	}
}

// stalls sends a little of a body as long as one token may send.
func stalls(t *testing.T, w *world, token, path string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n{", path, token, 4<<20)
	return c
}

// Who may do less once there is room does not what they might when they began to wait.
func TestWhoMayDoLessAfterAWaitDoesLess(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(s *server.Server) { s.Limits.ReadStall = time.Hour })
	token, made, err := w.home.MakeToken(home.NewToken{Name: "one", Verbs: home.Verbs})
	if err != nil {
		t.Fatal(err)
	}
	id := w.agent("a")
	path := "/v1/agents/" + id.String() + "/events"
	send := func() int {
		code, _, _ := w.raw(token, "POST", path, map[string]any{"name": "x", "data": strings.Repeat("x", 128<<10)})
		return code
	}
	slow := stalls(t, w, token, path)
	requests(t, w, 1)
	code := make(chan int)
	go func() { code <- send() }()
	requests(t, w, 2)
	narrow(t, w.home, made.ID)
	_ = slow.Close()
	if got := <-code; got != 429 {
		t.Errorf("who had waited got %d, want that they send it again", got)
	}
	if got := send(); got != 403 {
		t.Errorf("who sends it again got %d, want that they may only read", got)
	}
}

// narrow lets who has a token only read.
func narrow(t *testing.T, h *home.Home, id string) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(h.Dir, "*", id+".json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the file of a token: %v, %v", found, err)
	}
	var v map[string]any
	b, err := os.ReadFile(found[0])
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err == nil {
		v["verbs"] = []string{home.VerbRead}
		b, err = json.Marshal(v)
	}
	if err == nil {
		err = os.WriteFile(found[0], b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// requests waits until so many requests with a body that counts are under way.
func requests(t *testing.T, w *world, n int) {
	t.Helper()
	for begun := time.Now(); w.server.LargeRequests() != n; time.Sleep(5 * time.Millisecond) {
		if time.Since(begun) > patience {
			t.Fatalf("%d are under way, want %d", w.server.LargeRequests(), n)
		}
	}
}

// chunked sends bodies without saying how long they are, and makes them so long that they count.
type chunked struct{ next http.RoundTripper }

func (c chunked) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		r = r.Clone(r.Context())
		r.ContentLength, r.GetBody = -1, nil
		r.Body = io.NopCloser(io.MultiReader(r.Body, strings.NewReader(strings.Repeat(" ", 8<<10))))
	}
	return c.next.RoundTrip(r)
}

// A person whom a call asks answers by another request, while the call goes on.
func TestAnAnswerNeedsNoRoomThatItsQuestionHas(t *testing.T) {
	for _, version := range mcpVersions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := withMCP(t)
			_, ana := w.person("ana")
			text, _ := w.mcpToken(ana)
			id, digest := w.asking()
			args := map[string]any{"agent": id.String(), "digest": digest.String()}
			c := &caller{w: w, http: chunked{bearing(text)}, version: version, asked: func() { requests(t, w, 0) }}
			if said, failed := c.call("approve", args); failed {
				t.Error(said)
			}
		})
	}
}

// A body that breaks off, or is no body, is a fault of who sends it.
func TestABodyThatCannotBeReadIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token, path := w.token("", home.Verbs...), "/v1/agents/"+w.agent("a").String()+"/events"
	for _, body := range []string{"zz\r\n", "5\r\n{\"nam\r\nzz\r\n"} {
		c, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n"+
			"Connection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n%s",
			path, token, body)
		if res, _ := io.ReadAll(c); !strings.HasPrefix(string(res), "HTTP/1.1 400 ") {
			t.Errorf("%q: got %.300s", body, res)
		}
		_ = c.Close()
	}
}
