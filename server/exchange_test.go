package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/exchange"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/server"
)

// traveller is an agent in a store of somebody else.
func traveller(t *testing.T, events int) (*perdure.Node, perdure.AgentID) {
	t.Helper()
	n, id := named(t, "traveller")
	told(t, n, id, events)
	return n, id
}

// named is one that is called so, and was told nothing.
func named(t *testing.T, name string) (*perdure.Node, perdure.AgentID) {
	t.Helper()
	k, err := perdure.GenerateSigner("elsewhere")
	if err != nil {
		t.Fatal(err)
	}
	n := &perdure.Node{Store: new(perdure.MemStore), Key: k}
	a, err := n.Create(t.Context(), perdure.Genesis{Charter: perdure.Charter{Scope: "home"},
		Intent: perdure.Intent{Name: name, Goal: "hear"}})
	if err != nil {
		t.Fatal(err)
	}
	return n, a.ID()
}

func told(t *testing.T, n *perdure.Node, id perdure.AgentID, events int) {
	t.Helper()
	for range events {
		if _, err := n.Tell(t.Context(), id, perdure.Event{Name: "e"}); err != nil {
			t.Fatal(err)
		}
	}
}

// storePeer is a store that sends.
type storePeer struct{ perdure.Store }

func (s storePeer) Offer(ctx context.Context, id perdure.AgentID) (exchange.Offer, error) {
	return exchange.Of(ctx, s, id)
}

func (s storePeer) Missing(ctx context.Context, o exchange.Offer) iter.Seq2[*perdure.Entry, error] {
	return exchange.Missing(ctx, s, o)
}

func (s storePeer) Take(context.Context, perdure.AgentID, iter.Seq2[*perdure.Entry, error]) (*exchange.Receipt, error) {
	return nil, errors.New("it only sends")
}

func TestAServerTakesWhatItLacksAndSignsForIt(t *testing.T) {
	w := newWorld(t)
	n, id := traveller(t, 20)
	c := &client.Client{URL: w.url, Token: w.token("", home.VerbRead, home.VerbExport, home.VerbImport)}
	s, err := exchange.Sync(t.Context(), storePeer{n.Store}, c, id, exchange.Push)
	if err != nil || s.Pushed == nil || !s.Pushed.Created || s.Pushed.Entries != 21 ||
		!strings.Contains(s.Pushed.Held, "perdure key trust") {
		t.Fatalf("%+v %v, want 21 entries of a stranger, held", s.Pushed, err)
	}
	if s.Pushed.Key != w.desk.Node.Key.Key() || s.Pushed.Check(id) != nil {
		t.Errorf("signed by %s", s.Pushed.Key)
	}
	told(t, n, id, 2)
	if s, err = exchange.Sync(t.Context(), storePeer{n.Store}, c, id, exchange.Push); err != nil || s.Pushed == nil ||
		s.Pushed.Entries != 2 {
		t.Fatalf("%+v %v, want two entries", s.Pushed, err)
	}
	for e, err := range c.Missing(t.Context(), exchange.Offer{Agent: id}) {
		if e != nil || !errors.Is(err, perdure.ErrDenied) {
			t.Errorf("%v %v, want that nothing goes on of what is held", e, err)
		}
	}
	reads := &client.Client{URL: w.url, Token: w.token("", home.VerbRead)}
	if _, err := reads.Take(t.Context(), id, perdure.Memory(t.Context(), n.Store, id)); !errors.Is(err,
		perdure.ErrDenied) {
		t.Errorf("%v, want denied to who only reads", err)
	}
}

func TestServersRefuseHostileEntriesByName(t *testing.T) {
	w := newWorld(t, func(s *server.Server) { s.Limits.Capsule = 64 << 10 })
	all := w.token("", home.Verbs...)
	n, id := traveller(t, 3)
	_, other := traveller(t, 3)
	var memory bytes.Buffer
	if err := perdure.WriteMemory(&memory, perdure.Memory(t.Context(), n.Store, id)); err != nil {
		t.Fatal(err)
	}
	path := "/v1/exchange/" + id.String() + "/entries"
	if p := w.problem(all, "POST", "/v1/exchange/"+other.String()+"/entries", memory.Bytes(), 400); !strings.Contains(
		p.Detail, "was announced") {
		t.Errorf("another agent: %s", p.Detail)
	}
	if p := w.problem(all, "POST", path, []byte("nonsense"), 422); p.Rejection == nil {
		t.Errorf("nonsense: %+v", p)
	}
	bare := new(bytes.Buffer)
	if err := perdure.WriteMemory(bare, func(yield func(*perdure.Entry, error) bool) {
		for e, err := range perdure.Memory(t.Context(), n.Store, id) {
			if err != nil || !yield(e.Drop(), nil) {
				return
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	if p := w.problem(all, "POST", path, bare.Bytes(), 422); p.Rejection == nil ||
		p.Rejection.Predicate != "body.present" {
		t.Errorf("without bodies: %+v", p)
	}
	if p := w.problem(all, "POST", path, bytes.Repeat(memory.Bytes(), 1000), 400); !strings.Contains(p.Detail,
		"came twice") {
		t.Errorf("the same again and again: %+v", p)
	}
	large, long := traveller(t, 400)
	memory.Reset()
	if err := perdure.WriteMemory(&memory, perdure.Memory(t.Context(), large.Store, long)); err != nil {
		t.Fatal(err)
	}
	if p := w.problem(all, "POST", "/v1/exchange/"+long.String()+"/entries", memory.Bytes(), 413); p.Kind !=
		"too-large" {
		t.Errorf("more than is taken, %d bytes: %+v", memory.Len(), p)
	}
	w.problem(all, "GET", "/v1/exchange/nonsense", nil, 404)
	w.problem(all, "GET", "/v1/exchange?after=nonsense", nil, 400)
	left, err := os.ReadDir(filepath.Join(w.home.Dir, "arriving"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v %v is left of them", left, err)
	}
	var l client.List
	if w.call(all, "GET", "/v1/agents", nil, 200, &l); len(l.Agents) != 0 {
		t.Errorf("something of them was stored: %+v", l.Agents)
	}
}

// A server passes the challenge it is sent on to another, whatever it says that it is called: what that signs is not
// taken for its own word.
func TestAChallengePassedOnIsNotAnswered(t *testing.T) {
	w := newWorld(t, func(s *server.Server) { s.Hosts = []string{"berlin.example.com"} })
	n, id := traveller(t, 1)
	token := w.token("", home.VerbRead, home.VerbExport, home.VerbImport)
	c := &client.Client{URL: w.url, Token: token}
	if _, err := exchange.Sync(t.Context(), storePeer{n.Store}, c, id, exchange.Push); err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(w.url)
	if err != nil {
		t.Fatal(err)
	}
	relay := func(host string) *httptest.Server {
		m := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			if r.SetURL(to); host != "" {
				r.Out.Host = host
			} else {
				r.Out.Host = r.In.Host
			}
		}})
		t.Cleanup(m.Close)
		return m
	}
	local := "localhost:" + to.Port()
	dial := func(to string) *http.Client { // names lead to it
		return &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", to)
			}}}
	}
	for name, x := range map[string]struct {
		url  string
		http *http.Client
		good bool
	}{
		"by its address":                        {url: w.url, good: true},
		"by its address as localhost":           {url: "http://" + local, http: dial(to.Host), good: true},
		"by its name":                           {url: "http://berlin.example.com", http: dial(to.Host), good: true},
		"by a port that leads to it":            {url: "http://127.0.0.1:1", http: dial(to.Host)},
		"by an address that leads to it":        {url: "http://10.0.0.1:" + to.Port(), http: dial(to.Host)},
		"through a relay that keeps the host":   {url: relay("").URL},
		"through a relay that names its host":   {url: relay(to.Host).URL},
		"through a relay that names it rightly": {url: relay("berlin.example.com").URL},
		"through a proxy that has its name": {url: "http://berlin.example.com", good: true,
			http: dial(strings.TrimPrefix(relay("").URL, "http://"))},
	} {
		c := &client.Client{URL: x.url, Token: token, HTTP: x.http}
		r, err := c.Vouch(t.Context(), id, perdure.HashOf([]byte(name)))
		if x.good && (err != nil || r.Key != w.desk.Node.Key.Key()) || !x.good && (!errors.Is(err,
			perdure.ErrDenied) || !strings.Contains(err.Error(), "is not signed for the address")) {
			t.Errorf("%s: %+v, %v; good: %t", name, r, err, x.good)
		}
	}
}

func TestAClientBelievesNoReceiptThatIsNotSigned(t *testing.T) {
	n, id := traveller(t, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // what was sent is of no interest
		w.Header().Set(client.APIHeader, "v1")
		_, _ = io.WriteString(w, `{"agent":"`+id.String()+`","heads":[],"entries":2}`)
	}))
	defer srv.Close()
	c := &client.Client{URL: srv.URL}
	if r, err := c.Take(t.Context(), id, perdure.Memory(t.Context(), n.Store, id)); err == nil ||
		!strings.Contains(err.Error(), "not signed") {
		t.Errorf("%+v %v, want it refused", r, err)
	}
}

// A connection on which entries were refused is not used again: what comes next on it would be cancelled.
func TestWhatFollowsARefusalIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	nobody := perdure.AgentID{1, 2, 3}
	for range 5 {
		code, _, text := w.raw(all, "POST", "/v1/exchange/"+nobody.String()+"/entries", nil)
		if code != http.StatusBadRequest {
			t.Fatalf("entries of nobody: %d %s", code, text)
		}
		w.call(all, "GET", "/v1/agents", nil, 200, nil)
		w.problem(all, "GET", "/v1/agents/nobody/entries", nil, 404)
	}
}
