package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/exchange"
)

// hostile is a server that answers as it likes.
func hostile(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(client.APIHeader, "v1")
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// trickle sends a byte each millisecond, and then nothing more, until nobody listens any more.
func trickle(text []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, b := range text {
			if r.Context().Err() != nil {
				return
			}
			_, _ = w.Write([]byte{b}) // the next one finds out
			_ = http.NewResponseController(w).Flush()
			time.Sleep(time.Millisecond)
		}
		<-r.Context().Done()
	}
}

// memory is one that a server could send.
func memory(t *testing.T) []byte {
	t.Helper()
	k, err := perdure.GenerateSigner("a")
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{Store: new(perdure.MemStore), Key: k}
	a, err := n.Create(t.Context(), perdure.Genesis{Charter: perdure.Charter{Scope: "home"},
		Intent: perdure.Intent{Name: "a", Goal: strings.Repeat("hear ", 1000)}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := perdure.WriteMemory(&b, perdure.Memory(t.Context(), n.Store, a.ID())); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func ids(n int) []perdure.AgentID {
	all := make([]perdure.AgentID, n)
	for i := range all {
		all[i] = perdure.AgentID{1, byte(i >> 16), byte(i >> 8), byte(i)}
	}
	return all
}

func TestAnAnswerIsNoLargerThanWasAskedFor(t *testing.T) {
	t.Parallel()
	say := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(v) }
	}
	endless := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			for page := bytes.Repeat([]byte(" "), 1<<16); r.Context().Err() == nil; {
				_, _ = w.Write(page)
			}
		}
	}
	changes := func(c *client.Client) error { _, err := c.Changes(t.Context(), "p:1", "", 1000); return err }
	list := func(c *client.Client) error {
		for _, err := range c.List(t.Context(), client.Filter{}) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	for name, x := range map[string]struct {
		answer http.HandlerFunc
		ask    func(*client.Client) error
		text   string
	}{
		"as many as asked for": {say(exchange.Changes{Agents: ids(1000), Position: "p:2", More: true}), changes, ""},
		"more ids": {say(exchange.Changes{Agents: ids(900), Private: ids(101), Position: "p:2"}), changes,
			"1001 agents that have changed, and 1000"},
		"the same position": {say(exchange.Changes{Position: "p:1", More: true}), changes, "the same position"},
		"a long position":   {say(exchange.Changes{Position: strings.Repeat("p", 9999)}), changes, "9999 bytes"},
		"an endless answer": {endless(200), changes, "more than 4 MiB"},
		"an endless offer": {endless(200), func(c *client.Client) error {
			_, err := c.Offer(t.Context(), perdure.AgentID{1})
			return err
		}, "more than 4 MiB"},
		"endless nodes": {endless(200), func(c *client.Client) error { _, err := c.Nodes(t.Context()); return err },
			"more than 16 MiB"},
		"an endless error":   {endless(500), changes, "more than 1 MiB"},
		"an endless page":    {endless(200), list, "more than 16 MiB"},
		"the same page":      {say(client.List{Agents: make([]client.Listed, 1), Next: "a"}), list, "begins again"},
		"a page of too many": {say(client.List{Agents: make([]client.Listed, 1001)}), list, "1001 agents on a page"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := x.ask(&client.Client{URL: hostile(t, x.answer)})
			if x.text == "" && err != nil || x.text != "" && (!errors.Is(err, client.ErrExcess) ||
				!strings.Contains(err.Error(), x.text)) {
				t.Errorf("%v, want %q", err, x.text)
			}
		})
	}
}

// Pages may be empty, as of agents that are not there for whoever asks, but not for ever.
func TestAListOfEmptyPagesEnds(t *testing.T) {
	t.Parallel()
	n := 0
	url := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
		n++
		_ = json.NewEncoder(w).Encode(client.List{Agents: []client.Listed{}, Next: fmt.Sprint(n)})
	})
	for _, err := range (&client.Client{URL: url}).List(t.Context(), client.Filter{}) {
		if !errors.Is(err, client.ErrExcess) {
			t.Error(err)
		}
	}
	if n < 100 || n > 2000 {
		t.Errorf("it ended after %d pages", n)
	}
}

func TestAServerThatTricklesIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	ask := func(c *client.Client) error { _, err := c.Nodes(t.Context()); return err }
	entries := func(c *client.Client) error {
		for _, err := range c.Missing(t.Context(), exchange.Offer{Agent: perdure.AgentID{1}}) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	export := func(c *client.Client) error { _, err := c.Export(t.Context(), io.Discard, "a", "", ""); return err }
	spaces, sent := bytes.Repeat([]byte(" "), 1000), memory(t)
	deaf := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() } // what it is sent stays unread
	push := func(c *client.Client) error {
		_, err := c.Import(t.Context(), io.LimitReader(nulls{}, 1<<30), false)
		return err
	}
	for name, x := range map[string]struct {
		answer      http.HandlerFunc
		idle, grace time.Duration
		ask         func(*client.Client) error
		text        string
	}{
		"a trickle of JSON":    {trickle(spaces), time.Hour, 50 * ms, ask, "per second"},
		"a trickle of entries": {trickle(sent), time.Hour, 50 * ms, entries, "per second"},
		"a trickle of a file":  {trickle(spaces), time.Hour, 50 * ms, export, "per second"},
		"half an answer":       {trickle(spaces[:1]), 50 * ms, time.Hour, ask, "nothing moved"},
		"half of the entries":  {trickle(sent[:9]), 50 * ms, time.Hour, entries, "nothing moved"},
		"what is not taken":    {deaf, 50 * ms, time.Hour, push, "nothing moved"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			url := hostile(t, func(w http.ResponseWriter, r *http.Request) { x.answer(w, r.WithContext(ctx)) })
			err := x.ask(client.Hurried(url, x.idle, x.grace, 1<<20))
			if !errors.Is(err, client.ErrSlow) || !strings.Contains(err.Error(), x.text) {
				t.Errorf("%v, want %q", err, x.text)
			}
		})
	}
}

// A server that takes a request and says nothing is asked once: what can be asked again is when the connection broke.
func TestAServerThatDoesNotAnswerIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var asked atomic.Int32
	url := hostile(t, func(http.ResponseWriter, *http.Request) { asked.Add(1); <-ctx.Done() })
	_, err := client.Answered(url, 50*time.Millisecond).Nodes(t.Context())
	if !errors.Is(err, client.ErrSlow) || asked.Load() != 1 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
}

// closed is the connection to a server that closed it while it was sent something.
type closed struct{}

func (closed) RoundTrip(*http.Request) (*http.Response, error) { return nil, net.ErrClosed }

func TestAConnectionClosedWhileSendingIsBroken(t *testing.T) {
	t.Parallel()
	c := &client.Client{URL: "http://127.0.0.1:1", HTTP: &http.Client{Transport: closed{}}}
	if _, err := c.Import(t.Context(), strings.NewReader("x"), false); !errors.Is(err, client.ErrBroken) {
		t.Error(err)
	}
}

// nulls has no end.
type nulls struct{}

func (nulls) Read(b []byte) (int, error) { return len(b), nil }

// Whoever does something else between two reads is not waiting for the server.
func TestTheTimeOfOnesOwnDoesNotCount(t *testing.T) {
	t.Parallel()
	const idle = 100 * time.Millisecond
	url := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 64<<10)) // a client that is gone wants none of it
	})
	_, err := client.Hurried(url, idle, idle, 1<<30).Export(t.Context(), dawdling(2*idle), "a", "", "")
	if err != nil {
		t.Error(err)
	}
}

// dawdling takes its time with every piece.
type dawdling time.Duration

func (d dawdling) Write(b []byte) (int, error) {
	time.Sleep(time.Duration(d))
	return len(b), nil
}
