package server_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
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

// Whoever sends more at once than they have room for waits, and is refused in the end; others are not kept.
func TestWhatOneSendsKeepsNobodyElseOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(s *server.Server) { s.Limits.ReadStall = 2 * time.Second })
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
	event := map[string]any{"name": "x", "data": strings.Repeat("x", 64<<10)}
	for w.server.LargeRequests() == 0 {
		time.Sleep(10 * time.Millisecond)
	}
	w.call(other, "POST", path, event, 200, nil)
	w.call(one, "POST", path, map[string]any{"name": "small"}, 200, nil)
	var wg sync.WaitGroup
	for range 3 { // wait until the slow one is given up
		wg.Go(func() {
			code, _, body := w.raw(one, "POST", path, event)
			if code != 200 && (code != 429 || !strings.Contains(string(body), "too much is being sent at once")) {
				t.Errorf("got %d %s", code, body)
			}
		})
	}
	wg.Wait()
	if res, _ := io.ReadAll(slow); !strings.Contains(string(res), fmt.Sprint(http.StatusRequestTimeout)) {
		t.Errorf("got %.200s", res)
	}
	w.call(one, "POST", path, event, 200, nil)
	for w.server.LargeRequests() > 0 { // it is let go of after the answer
		time.Sleep(10 * time.Millisecond)
	}
}
