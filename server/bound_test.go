package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/server"
)

// TestPagesAreBoundedInBytes reads events that are larger than a page, from both ends.
func TestPagesAreBoundedInBytes(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	w.call(all, "POST", "/v1/agents", client.Intent{Goal: "x", Name: "big"}, 201, nil)
	const events = 5
	for range events {
		w.call(all, "POST", "/v1/agents/big/events", client.Event{Name: "told",
			Data: []byte(`"` + strings.Repeat("x", 1<<20) + `"`)}, 200, nil)
	}
	seen, pages := 0, 0
	for after := ""; ; pages++ {
		var got client.Lines
		w.call(all, "GET", "/v1/agents/big/entries?limit=1000&kind=event&after="+after, nil, 200, &got)
		if seen += len(got.Entries); len(got.Entries) > 3 {
			t.Errorf("a page has %d entries of a megabyte", len(got.Entries))
		}
		if after = got.Next; after == "" {
			break
		}
	}
	if seen != events || pages == 0 {
		t.Errorf("saw %d of %d events on %d pages", seen, events, pages+1)
	}
	var last client.Lines
	w.call(all, "GET", "/v1/agents/big/entries?last=100", nil, 200, &last)
	if len(last.Entries) == 0 || len(last.Entries) > 3 || !last.Before {
		t.Errorf("the last %d entries, and before them more: %v", len(last.Entries), last.Before)
	}
}

// A tail begins with as much as is asked for, however much that is.
func TestWhatATailBeginsWithIsBoundedInBytes(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	id := w.agent("a")
	for i := range 9 {
		if i%2 == 1 {
			w.sees(id)
		}
		w.call(all, "POST", "/v1/agents/"+id.String()+"/events",
			client.Event{Name: "big", Data: []byte(`"` + strings.Repeat(fmt.Sprint(i), 1<<20) + `"`)}, 200, nil)
	}
	req, _ := http.NewRequestWithContext(t.Context(), "GET", w.url+"/v1/agents/a/tail?last=1000", nil)
	req.Header.Set("Authorization", "Bearer "+all)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	n, r := 0, bufio.NewReaderSize(res.Body, 1<<20)
	for {
		line, err := r.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			t.Fatal(err)
		}
		if n += len(line); strings.HasPrefix(line, "event: begin") {
			break
		}
	}
	if n > 5<<20 {
		t.Errorf("a page of entries has at most 4 MiB of bodies, and a tail begins with %d bytes at once", n)
	}
}

// seen lets the advisor of an agent have seen what it was told.
func (w *world) sees(id perdure.AgentID) {
	w.t.Helper()
	a, err := perdure.Load(w.t.Context(), w.store, id)
	if err != nil {
		w.t.Fatal(err)
	}
	advice := perdure.Advice{Advisor: "m"}
	for _, m := range a.Fold().Inbox {
		advice.Seen = append(advice.Seen, m.Event)
	}
	entries, _, err := w.desk.Node.Key.Commit(a, time.Now(), perdure.Draft{Body: advice})
	if err == nil {
		err = w.store.Put(w.t.Context(), id, entries...)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// Readers of large answers who take nothing keep nobody else from reading.
func TestWhoTakesNothingKeepsNobodyFromReading(t *testing.T) {
	w := newWorld(t, func(s *server.Server) { s.Limits.Rate, s.Limits.Burst = 1e6, 1e6 })
	all := w.token("", home.Verbs...)
	id := w.agent("a")
	w.agent("b")
	for i := range 4 {
		w.call(all, "POST", "/v1/agents/"+id.String()+"/events",
			client.Event{Name: "big", Data: []byte(`"` + strings.Repeat(fmt.Sprint(i), 1<<20) + `"`)}, 200, nil)
	}
	for range max(4, runtime.GOMAXPROCS(0)) + 1 { // more than there are places
		c, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
		fmt.Fprintf(c, "GET /v1/agents/%s/entries HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n",
			id, all)
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := c.Read(make([]byte, 1)); err != nil { // its answer has been made, and is being sent
			t.Fatal(err)
		}
	}
	w.call(w.token("", home.VerbRead), "GET", "/v1/agents/b/state", nil, 200, nil)
}
