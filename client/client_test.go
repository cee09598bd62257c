package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
)

func TestABreakWhileAnAnswerIsReadIsTriedAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			w.Header().Set("Content-Length", "100") // and the connection breaks before that
			_, _ = w.Write([]byte(`{"a`))
			return
		}
		_, _ = w.Write([]byte(`{"a":1}`))
	}))
	t.Cleanup(web.Close)
	c := &client.Client{URL: web.URL}
	var out struct{ A int }
	if _, err := c.Do(t.Context(), "GET", "/x", nil, &out); err != nil || out.A != 1 || asked.Load() != 2 {
		t.Errorf("got %+v after %d requests, %v", out, asked.Load(), err)
	}
	asked.Store(0)
	if _, err := c.Do(t.Context(), "POST", "/x", nil, &out); err == nil || asked.Load() != 1 {
		t.Errorf("what may not be sent again was sent %d times: %v", asked.Load(), err)
	}
}

func TestATailThatBreaksAfterAResetBeginsAtTheStart(t *testing.T) {
	t.Parallel()
	after := make(chan string, 10)
	var asked atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		after <- r.URL.Query().Get("after")
		w.Header().Set("Content-Type", "text/event-stream")
		if asked.Add(1) == 1 {
			fmt.Fprint(w, "event: reset\ndata: {}\n\n")
			return
		}
		fmt.Fprint(w, "id: 0123456789abcdef.1\nevent: entry\ndata: {\"seq\":1}\n\n")
	}))
	t.Cleanup(web.Close)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for l, err := range (&client.Client{URL: web.URL}).Tail(ctx, client.Tail{After: "fedcba9876543210.9"}) {
		if err != nil || l.Seq != 1 {
			t.Fatalf("got %+v, %v", l, err)
		}
		break
	}
	if first, second := <-after, <-after; first != "fedcba9876543210.9" || second != "start" {
		t.Errorf("it asked for what is after %q, then %q; want start", first, second)
	}
}
