package tool_test

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/tool"
)

// serve starts a server and returns tools that may talk to it.
func serve(t *testing.T, h http.HandlerFunc) (func(method string) perdure.Tool, string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return httpTools(t, tool.HTTP{Allow: []string{s.URL}, Loopback: true}), s.URL
}

func httpTools(t *testing.T, h tool.HTTP) func(method string) perdure.Tool {
	t.Helper()
	tools, err := h.Tools()
	if err != nil {
		t.Fatal(err)
	}
	return func(method string) perdure.Tool { return named(t, tools, "http."+method) }
}

func TestRequestsCarryTheKeyOfTheirEffect(t *testing.T) {
	type seen struct{ Method, Key, Body, Type string }
	var got seen
	h, u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = seen{r.Method, r.Header.Get("Idempotency-Key"), string(b), r.Header.Get("Content-Type")}
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Set-Cookie", "session=1")
		fmt.Fprint(w, "answer")
	})
	for method, c := range map[string]struct {
		effect perdure.Effect
		key    string
	}{"get": {perdure.Read, ""}, "head": {perdure.Read, ""}, "put": {perdure.Idempotent, "key-1"},
		"delete": {perdure.Idempotent, "key-1"}, "post": {perdure.Once, "key-1"}} {
		t.Run(method, func(t *testing.T) {
			args := map[string]any{"url": u + "/x?q=1"}
			want := seen{Method: strings.ToUpper(method), Key: c.key}
			if method == "put" || method == "post" {
				args["text"], args["headers"] = "{}", map[string]any{"content-type": "application/json"}
				want.Body, want.Type = "{}", "application/json"
			}
			if got := h(method).Spec().Effect; got != c.effect {
				t.Errorf("got %s, want %s", got, c.effect)
			}
			res := call(t, h(method), args)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			v := value(t, res)
			if !res.Taint {
				t.Error("the result is not marked as untrusted")
			}
			if text, ok := v["text"]; method != "head" && text != "answer" || method == "head" && ok {
				t.Errorf("got text %v", text)
			}
			headers := v["headers"].(map[string]any)
			if v["status"] != int64(200) || headers["content-type"] != "text/plain" || headers["set-cookie"] != nil {
				t.Errorf("got %v", v)
			}
		})
	}
}

func TestHostsAreDeniedByDefault(t *testing.T) {
	var asked atomic.Int64
	_, u := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	port := u[strings.LastIndex(u, ":"):]
	for _, c := range []struct{ allow, url string }{
		{"", u},
		{"example.com", u},
		{"http://127.0.0.1", u},         // another port
		{"https://127.0.0.1" + port, u}, // another scheme
		{"127.0.0.1" + port, u},
		{"http://*.0.0.1" + port, "http://x127.0.0.1.evil" + port},
		{"http://*.example.com" + port, "http://example.com" + port},
		{"http://*.example.com" + port, "http://evilexample.com" + port},
		{"http://example.com" + port, "http://example.com" + port + "@127.0.0.1" + port},
		{"http://example.com" + port, "http://example.com.evil" + port},
		{"*", "ftp://example.com"}, {"*", "file:///etc/passwd"}, {"*", "gopher://example.com"}, {"*", "//example.com"},
		{"*", "https:example.com"}, {"*", ""}, {"*", "https://"}, {"*", "https://%zz"},
		{"*", "https://user:password@example.com/"},
	} {
		h := tool.HTTP{Loopback: true}
		if c.allow != "" {
			h.Allow = []string{c.allow}
		}
		if strings.HasPrefix(c.url, "http") && strings.Count(c.url, "/") == 2 {
			c.url += "/" // refused for its host, not for its form
		}
		fails(t, call(t, httpTools(t, h)("get"), map[string]any{"url": c.url}), "url")
	}
	for _, bad := range []string{"", "ftp://x", "https://", "a b", "example.com/path", "ex*mple.com",
		"https://user@host", "*.*"} {
		if _, err := (tool.HTTP{Allow: []string{bad}}).Tools(); err == nil {
			t.Errorf("allowed host %q was accepted", bad)
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
}

func TestAHostThatIsNotAllowedComesWithWhatIsOfItAlone(t *testing.T) {
	list := []string{"127.0.0.1:8080", "*.example.com", "db.internal", "*.corp.example"}
	for u, want := range map[string][]string{
		"http://127.0.0.1:8080/":      {"http://127.0.0.1:8080 is not allowed", "https://127.0.0.1:8080"},
		"https://a.example.com:8443/": {"https://a.example.com:8443 is not allowed", "https://*.example.com:443"},
		"https://example.org/":        {"https://example.org:443 is not allowed", "node.yaml"},
	} {
		o := call(t, httpTools(t, tool.HTTP{Allow: list})("get"), map[string]any{"url": u})
		fails(t, o, want...)
		if strings.Contains(o.Note, "internal") || strings.Contains(o.Note, "corp") {
			t.Errorf("%s: %s: want no other host", u, o.Note)
		}
	}
	for port := range 100 {
		list = append(list, fmt.Sprint("127.0.0.1:", 9000+port))
	}
	o := call(t, httpTools(t, tool.HTTP{Allow: list})("get"), map[string]any{"url": "http://127.0.0.1:8080/"})
	if fails(t, o, "https://127.0.0.1:8080"); len(o.Note) > 300 {
		t.Errorf("a refusal of %d bytes: %s", len(o.Note), o.Note)
	}
	get := httpTools(t, tool.HTTP{Allow: []string{"http://*"}})("get")
	o = call(t, get, map[string]any{"url": "https://127.0.0.1/"})
	fails(t, o, "http://*:80")
}

func TestPrivateAddressesAreNotConnectedTo(t *testing.T) {
	var asked atomic.Int64
	_, u := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	port := u[strings.LastIndex(u, ":"):]
	h := httpTools(t, tool.HTTP{Allow: []string{"http://*" + port, "http://*"}})
	for _, host := range []string{
		"127.0.0.1", "localhost", "127.1.2.3", "[::1]", "0.0.0.0", "[::]", "10.0.0.1", "192.168.0.1", "172.16.0.1",
		"169.254.169.254", "100.64.0.1", "[fe80::1]", "[fd00:ec2::254]", "[64:ff9b::7f00:1]", "224.0.0.1",
	} {
		for _, p := range []string{port, ""} {
			res := call(t, h("get"), map[string]any{"url": "http://" + host + p + "/"})
			fails(t, res)
			if !strings.Contains(res.Note, "not public") && !strings.Contains(host, "localhost") &&
				!strings.Contains(host, "fe80") {
				t.Errorf("%s: got note %q, want that its address is not public", host, res.Note)
			}
		}
	}
	if n := asked.Load(); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
}

func TestNoProxyIsUsed(t *testing.T) {
	var proxied atomic.Int64
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { proxied.Add(1) }))
	defer proxy.Close()
	for _, v := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(v, proxy.URL)
	}
	h := httpTools(t, tool.HTTP{Allow: []string{"http://192.0.2.1"}, Loopback: true})
	fails(t, call(t, h("get"), map[string]any{"url": "http://192.0.2.1/"}), "not public")
	if proxied.Load() != 0 {
		t.Error("the proxy was used")
	}
}

func TestNoRedirectIsFollowed(t *testing.T) {
	var other, private atomic.Int64
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { other.Add(1) }))
	defer stranger.Close()
	mux := http.NewServeMux()
	first := httptest.NewServer(mux)
	defer first.Close()
	targets := map[string]string{"/away": stranger.URL + "/", "/near": first.URL + "/private", "/relative": "/private",
		"/file": "file:///etc/passwd", "/loop": "/loop"}
	for path, to := range targets {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, to, http.StatusTemporaryRedirect)
		})
	}
	mux.HandleFunc("/private", func(http.ResponseWriter, *http.Request) { private.Add(1) })
	// allowed here, and policy was asked about another URL
	h := httpTools(t, tool.HTTP{Allow: []string{first.URL, stranger.URL}, Loopback: true})
	for path, to := range targets {
		if strings.HasPrefix(to, "/") {
			to = first.URL + to
		}
		for _, method := range []string{"get", "head", "post", "put", "delete"} {
			res := call(t, h(method), map[string]any{"url": first.URL + path})
			fails(t, res, "307", to, "not followed")
			if !res.Taint || fields(t, res)["status"] != int64(307) {
				t.Errorf("got %v, taint %v", fields(t, res), res.Taint)
			}
		}
	}
	if other.Load() != 0 || private.Load() != 0 {
		t.Errorf("redirects were followed %d and %d times", other.Load(), private.Load())
	}
	if value(t, call(t, h("get"), map[string]any{"url": first.URL + "/private"}))["status"] != int64(200) {
		t.Error("what it was sent to cannot be asked for")
	}
}

func TestThrottlingNamesTheTimeToComeBack(t *testing.T) {
	h, u := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if after := r.URL.Query().Get("after"); after != "" {
			w.Header().Set("Retry-After", after)
		}
		var status int
		if _, err := fmt.Sscan(r.URL.Query().Get("status"), &status); err != nil {
			t.Error(err)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, "later")
	})
	for _, c := range []struct {
		status int
		after  string
		signal perdure.Signal
		want   time.Duration
	}{
		{429, "7", perdure.Throttled, 7 * time.Second},
		{503, "120", perdure.Throttled, 2 * time.Minute},
		{429, "", perdure.Throttled, 0},
		{429, "soon", perdure.Throttled, 0},
		{429, "-5", perdure.Throttled, 0},
		{429, "99999999999999", perdure.Throttled, 24 * time.Hour},
		{429, "Mon, 02 Jan 2006 15:04:05 GMT", perdure.Throttled, 0},
		{503, "Fri, 31 Dec 9999 23:59:59 GMT", perdure.Throttled, 24 * time.Hour},
		{503, "", perdure.Failed, 0},
		{500, "7", perdure.Failed, 0},
		{404, "", perdure.Failed, 0},
	} {
		res := call(t, h("post"), map[string]any{"url": fmt.Sprintf("%s/?status=%d&after=%s", u, c.status,
			url.QueryEscape(c.after))})
		if res.Signal != c.signal || res.RetryAfter != c.want || fields(t, res)["text"] != "later" || !res.Taint {
			t.Errorf("%d with Retry-After %q: got %s after %s, want %s after %s", c.status, c.after, res.Signal,
				res.RetryAfter, c.signal, c.want)
		}
	}
}

func TestResponsesAreBounded(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/long":
			fmt.Fprint(w, strings.Repeat("é", 1000))
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 1000 {
				if _, err := z.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
			_ = z.Close()
		case "/binary":
			_, _ = w.Write([]byte{0xff, 0})
		case "/header":
			w.Header().Set("Link", strings.Repeat("x", 1<<20))
		}
	}))
	defer s.Close()
	h := httpTools(t, tool.HTTP{Allow: []string{s.URL}, Loopback: true, ResponseLimit: 101})
	if v := cut(t, call(t, h("get"), map[string]any{"url": s.URL + "/long"})); v["text"] != strings.Repeat("é", 50) ||
		v["truncated"] != true {
		t.Errorf("got %v", v)
	}
	if v := cut(t, call(t, h("get"), map[string]any{"url": s.URL + "/bomb"})); len(v["text"].(string)) != 101 ||
		v["truncated"] != true {
		t.Errorf("got %v", v)
	}
	if v := value(t, call(t, h("get"), map[string]any{"url": s.URL + "/binary"})); string(
		v["bytes"].([]byte)) != "\xff\x00" || v["truncated"] != nil {
		t.Errorf("got %v", v)
	}
	fails(t, call(t, h("get"), map[string]any{"url": s.URL + "/header"}))
}

func TestHeadersOfTheConnectionAreNotTheCallers(t *testing.T) {
	var asked atomic.Int64
	h, u := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	for _, headers := range []map[string]any{
		{"Host": "other"}, {"idempotency-key": "mine"}, {"transfer-encoding": "chunked"}, {"Proxy-Authorization": "x"},
		{"content-length": "1"},
		{"X-A": "a\r\nX-B: b"}, {"X A": "a"}, {"": "a"}, {"X-A:": "a"},
	} {
		fails(t, call(t, h("post"), map[string]any{"url": u + "/", "headers": headers}))
	}
	fails(t, call(t, h("post"), map[string]any{"url": u + "/", "text": "a", "bytes": []byte("b")}), "text and bytes")
	fails(t, call(t, h("get"), map[string]any{"url": u + "/", "text": "a"}), "text")
	if n := asked.Load(); n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
}

// broken is a server that reads a request and closes the connection, counting them.
func broken(t *testing.T, answer string) (string, *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	requests := new(atomic.Int64)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 4096)
			if n, _ := c.Read(buf); n > 0 {
				requests.Add(1)
			}
			_, _ = io.WriteString(c, answer)
			_ = c.Close()
		}
	}()
	return "http://" + l.Addr().String(), requests
}

func TestARequestWithoutAnAnswerIsNotSentAgain(t *testing.T) {
	for _, answer := range []string{"", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf", "garbage\r\n\r\n"} {
		u, requests := broken(t, answer)
		h := httpTools(t, tool.HTTP{Allow: []string{u}, Loopback: true})
		doubts(t, h("post"), map[string]any{"url": u + "/", "text": "pay"}, "the request was sent")
		if n := requests.Load(); n != 1 {
			t.Errorf("answer %q: the request was sent %d times", answer, n)
		}
		want := perdure.Silent
		if strings.HasPrefix(answer, "garbage") { // that is an answer, of a kind
			want = perdure.Failed
		}
		if res := call(t, h("get"), map[string]any{"url": u + "/"}); res.Signal != want {
			t.Errorf("answer %q: got %s (%s), want %s", answer, res.Signal, res.Note, want)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u := "http://" + l.Addr().String()
	l.Close()
	// surely not sent
	fails(t, call(t, httpTools(t, tool.HTTP{Allow: []string{u}, Loopback: true})("post"),
		map[string]any{"url": u + "/"}), "refused")
}

func TestAGatewayThatLostTheServerLeavesDoubt(t *testing.T) {
	var status atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(status.Load()))
	}))
	defer s.Close()
	h := httpTools(t, tool.HTTP{Allow: []string{s.URL}, Loopback: true})
	for code, doubt := range map[int64]bool{400: false, 404: false, 409: false, 500: false, 502: true, 503: false,
		504: true} {
		status.Store(code)
		if doubt {
			doubts(t, h("post"), map[string]any{"url": s.URL + "/"}, strconv.FormatInt(code, 10))
		} else {
			fails(t, call(t, h("post"), map[string]any{"url": s.URL + "/"}), strconv.FormatInt(code, 10))
		}
		fails(t, call(t, h("get"), map[string]any{"url": s.URL + "/"}))
	}
}

func TestWhatWasNotSentIsNotInDoubt(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and says nothing to a handshake
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	u := "https://" + l.Addr().String()
	h := httpTools(t, tool.HTTP{Allow: []string{u}, Loopback: true, Timeout: 50 * time.Millisecond})
	if res := call(t, h("post"), map[string]any{"url": u + "/"}); res.Signal != perdure.TimedOut {
		t.Errorf("got %s (%s), want timed-out: nothing was sent", res.Signal, res.Note)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	res, err := h("post").Call(ctx, perdure.Call{Args: data(t, map[string]any{"url": u + "/"})})
	if err != nil || res.Signal != perdure.Throttled {
		t.Errorf("got %s, %v, want it to be tried again: nothing was sent", res.Signal, err)
	}
}

func TestASlowServerTimesOut(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer s.Close()
	defer close(release)
	h := httpTools(t, tool.HTTP{Allow: []string{s.URL}, Loopback: true, Timeout: time.Second})
	if res := call(t, h("get"), map[string]any{"url": s.URL + "/"}); res.Signal != perdure.TimedOut {
		t.Errorf("got %s (%s), want timed-out", res.Signal, res.Note)
	}
	doubts(t, h("post"), map[string]any{"url": s.URL + "/"}, "no answer within 1s")
	h = httpTools(t, tool.HTTP{Allow: []string{s.URL}, Loopback: true})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := h("post").Call(ctx, perdure.Call{Args: data(t, map[string]any{"url": s.URL + "/"})})
	if !errors.Is(err, context.DeadlineExceeded) { // at the deadline of the decision the effect is in doubt, not ended
		t.Errorf("got %v, want the deadline", err)
	}
}
