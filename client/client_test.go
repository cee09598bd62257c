package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
)

func TestABreakWhileAnAnswerIsReadIsTriedAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(client.APIHeader, "v1")
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
		w.Header().Set(client.APIHeader, "v1")
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

// Whatever answers at an address that is not a server's, nothing of it is taken for agents, or for their absence.
func TestWhatIsNoServerOfAgentsIsRefused(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":[]}`))
	}))
	t.Cleanup(web.Close)
	c, ctx := &client.Client{URL: web.URL}, t.Context()
	for name, ask := range map[string]func() error{
		"list":   func() error { _, err := once(c.List(ctx, client.Filter{})); return err },
		"tail":   func() error { _, err := once(c.Tail(ctx, client.Tail{})); return err },
		"nodes":  func() error { _, err := c.Nodes(ctx); return err },
		"export": func() error { _, err := c.Export(ctx, io.Discard, "x", "", ""); return err },
		"import": func() error { _, err := c.Import(ctx, strings.NewReader("x"), false); return err },
	} {
		if err := ask(); !errors.Is(err, client.ErrStranger) {
			t.Errorf("%s: got %v, want %v", name, err, client.ErrStranger)
		}
	}
}

// once is the first that a sequence yields.
func once[T any](all iter.Seq2[T, error]) (T, error) {
	for v, err := range all {
		return v, err
	}
	return *new(T), nil
}

// A line that cannot be read is not passed over: whoever follows is told, and goes on from before it if they like.
func TestATailPassesNoLineOver(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set(client.APIHeader, "v1")
		fmt.Fprint(w, "id: 0123456789abcdef.1\nevent: entry\ndata: {\"seq\":1}\n\n"+
			"id: 0123456789abcdef.2\nevent: entry\ndata: {\"seq\":\n\n"+
			"id: 0123456789abcdef.3\nevent: entry\ndata: {\"seq\":3}\n\n")
	}))
	t.Cleanup(web.Close)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var told error
	var seen []int64
	for l, err := range (&client.Client{URL: web.URL}).Tail(ctx, client.Tail{After: "start"}) {
		if told = err; err == nil {
			seen = append(seen, l.Seq)
		}
	}
	if told == nil || !strings.Contains(told.Error(), "0123456789abcdef.2") || len(seen) != 1 {
		t.Errorf("saw %v, and was told %v", seen, told)
	}
}

// What a server wants done is said as its word; what is ours stays ours.
func TestAServersHintIsItsOwn(t *testing.T) {
	t.Parallel()
	answer := `{"status":403,"detail":"no","kind":"denied","hint":"run: perdure key trust X"}`
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if w.WriteHeader(http.StatusForbidden); r.URL.Path == "/v1/nodes" {
			_, _ = io.WriteString(w, answer)
		}
	}))
	t.Cleanup(web.Close)
	c, hint := &client.Client{URL: web.URL, Foreign: true}, new(perdure.Hint)
	if _, err := c.Nodes(t.Context()); !errors.As(err, &hint) || hint.Do != client.Says+"run: perdure key trust X" {
		t.Errorf("%v with hint %q", err, hint.Do)
	}
	if _, err := c.Who(t.Context()); !errors.As(err, &hint) || strings.HasPrefix(hint.Do, client.Says) {
		t.Errorf("%v with hint %q", err, hint.Do)
	}
}
