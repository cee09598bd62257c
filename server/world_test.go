package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/server"
)

// patience is how long a test waits for what must come. It says nothing of how fast that is: a test that waits so long
// has failed, on whatever machine.
const patience = 90 * time.Second

// world is a home with a store, a node whose agents ask two people before they pay, and its server.
type world struct {
	t      *testing.T
	home   *home.Home
	store  perdure.Store
	node   *perdure.Node // runs agents
	desk   *home.Desk
	server *server.Server
	url    string
	http   *httptest.Server
	paid   int
	quorum int64
	stop   func() // as a server stops that is told to
}

func newWorld(t *testing.T, change ...func(*server.Server)) *world {
	t.Helper()
	return newWorldAt(t, filepath.Join(t.TempDir(), "home"), change...)
}

// newWorldAt is one whose store has this name.
func newWorldAt(t *testing.T, store string, change ...func(*server.Server)) *world {
	t.Helper()
	w := &world{t: t, home: &home.Home{URL: store, Acts: true}, quorum: 1}
	if err := w.home.Locate(); err != nil {
		t.Fatal(err)
	}
	opened, done := make(chan struct{}), make(chan struct{})
	finish := make(chan struct{})
	go func() {
		defer close(done)
		err := w.home.Use(context.Background(), true, func(_ context.Context, s perdure.Store) error {
			w.store = s
			close(opened)
			<-finish
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}()
	select {
	case <-opened:
	case <-done:
		t.FailNow()
	}
	t.Cleanup(func() { close(finish); <-done })
	n, err := w.home.Node(t.Context(), w.store)
	if err != nil {
		t.Fatal(err)
	}
	w.desk = &home.Desk{Home: w.home, Store: w.store, Node: n}
	w.node = w.runner(n)
	requests, err := w.home.OpenRequests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.server = &server.Server{
		Desk:     w.desk,
		Requests: requests,
		Version:  "test",
		Log:      slog.New(slog.NewTextHandler(testWriter{t}, nil)),
	}
	for _, f := range change {
		f(w.server)
	}
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.http = httptest.NewUnstartedServer(w.server.Handler(ctx))
	w.http.Config.ConnContext = server.LocalConn
	w.http.Start()
	w.url = w.http.URL
	t.Cleanup(func() {
		stop()
		w.http.Close()
		if err := requests.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) { w.t.Logf("%s", b); return len(b), nil }

// runner is a node that runs agents: they pay, ask a question, and end.
func (w *world) runner(base *perdure.Node) *perdure.Node {
	n := &perdure.Node{
		Store:   w.store,
		Key:     base.Key,
		Trust:   base.Trust,
		Witness: base.Witness,
		Place:   base.Place,
		Tools:   []perdure.Tool{pay{w}},
	}
	n.Policy = perdure.PolicyFunc(func(_ *perdure.Agent, r perdure.Request, _ time.Time) perdure.Verdict {
		if x, ok := r.Action.(perdure.Execute); ok && x.Tool == "pay" {
			return perdure.Verdict{Answer: perdure.Ask, Rules: []string{"people"}, Quorum: w.quorum}
		}
		return perdure.Verdict{Answer: perdure.Allow, Rules: []string{"all"}}
	})
	n.Advisors = map[string]perdure.Advisor{
		"": perdure.AdvisorFunc(func(_ context.Context, a *perdure.Agent) (perdure.Advice, error) {
			args, err := perdure.DataOf(map[string]any{"amount": 7})
			acts := []perdure.Action{
				perdure.Execute{Tool: "pay", Args: args},
				perdure.Sleep{Trigger: perdure.On{Event: perdure.AnswerEvent}, Note: "what now?"},
				perdure.End{Signal: perdure.OK},
			}
			return perdure.Advice{Actions: acts[min(a.Fold().Turns, 2) : min(a.Fold().Turns, 2)+1]}, err
		}),
	}
	return n
}

type pay struct{ *world }

func (pay) Spec() perdure.Spec { return perdure.Spec{Name: "pay", Effect: perdure.Once} }
func (p pay) Call(context.Context, perdure.Call) (perdure.Result, error) {
	p.paid++
	return perdure.Result{}, nil
}

func (w *world) run(id perdure.AgentID) *perdure.Fold {
	w.t.Helper()
	trust, err := w.home.Trust()
	if err != nil {
		w.t.Fatal(err)
	}
	w.node.SetTrust(trust)
	w.desk.Node.SetTrust(trust)
	if _, err := w.node.RunAgent(w.t.Context(), id); err != nil {
		w.t.Fatal(err)
	}
	a, err := w.node.Load(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return a.Fold()
}

// token is one of a program, for these verbs.
func (w *world) token(scope string, verbs ...string) string {
	w.t.Helper()
	text, _, err := w.home.MakeToken(home.NewToken{Name: "prog", Verbs: verbs, Scope: scope})
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// human is a token of a person with every verb.
func (w *world) human() string {
	w.t.Helper()
	_, key := w.person("hanna")
	text, _, err := w.home.MakeToken(home.NewToken{Name: key.Name, Verbs: home.Verbs, Person: key})
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// person is a token of somebody who may approve.
func (w *world) person(name string) (token string, key *perdure.Signer) {
	w.t.Helper()
	key, err := perdure.GenerateSigner(name)
	if err != nil {
		w.t.Fatal(err)
	}
	who := perdure.Trustee{Key: key.Key(), Name: name, Rights: perdure.MayApprove, Scope: perdure.AnyScope}
	if err := w.home.AddTrust(who); err != nil {
		w.t.Fatal(err)
	}
	w.trust()
	return w.again(key), key
}

// trust has the nodes read the trust file.
func (w *world) trust() {
	w.t.Helper()
	trust, err := w.home.Trust()
	if err != nil {
		w.t.Fatal(err)
	}
	w.desk.Node.SetTrust(trust)
	w.node.SetTrust(trust)
}

// again is another token of a person.
func (w *world) again(key *perdure.Signer) string {
	w.t.Helper()
	text, _, err := w.home.MakeToken(
		home.NewToken{Name: key.Name, Verbs: []string{home.VerbRead, home.VerbApprove, home.VerbAnswer}, Person: key},
	)
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// call sends a request and reads the answer into out, if it has the status.
func (w *world) call(token, method, path string, body any, status int, out any, headers ...string) http.Header {
	w.t.Helper()
	code, h, text := w.raw(token, method, path, body, headers...)
	if code != status {
		w.t.Fatalf("%s %s: got %d, want %d: %s", method, path, code, status, text)
	}
	w.fits(method, path, code, text)
	if out != nil {
		if err := json.Unmarshal(text, out); err != nil {
			w.t.Fatalf("%s %s: %v: %s", method, path, err, text)
		}
	}
	return h
}

func (w *world) raw(token, method, path string, body any, headers ...string) (int, http.Header, []byte) {
	w.t.Helper()
	var r io.Reader
	if body != nil {
		b, ok := body.([]byte)
		if !ok {
			var err error
			if b, err = json.Marshal(body); err != nil {
				w.t.Fatal(err)
			}
		}
		r = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, r)
	if err != nil {
		w.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode, res.Header, text
}

// problem is the problem that a request is answered with.
func (w *world) problem(token, method, path string, body any, status int, headers ...string) *client.Problem {
	w.t.Helper()
	p := new(client.Problem)
	h := w.call(token, method, path, body, status, p, headers...)
	if got := h.Get("Content-Type"); got != "application/problem+json" || p.Status != status {
		w.t.Errorf("%s %s: type %q and status %d, want a problem with %d", method, path, got, p.Status, status)
	}
	return p
}

// asking is an agent that asks whether it may pay.
func (w *world) asking() (perdure.AgentID, perdure.Hash) {
	w.t.Helper()
	var made client.Created
	w.call(w.token("", home.VerbCreate), "POST", "/v1/agents",
		client.Intent{Goal: "pay the bill", Name: fmt.Sprintf("shop-%d", time.Now().UnixNano())}, 201, &made)
	f := w.run(made.Agent)
	if len(f.Asks) != 1 {
		w.t.Fatalf("it asks %d things, want 1", len(f.Asks))
	}
	return made.Agent, f.Asks[0].Digest
}

func contains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("got %q, want it to say %q", text, word)
		}
	}
}

func asRejection(err error, r **perdure.Rejection) bool { return errors.As(err, r) }

func mustData(t *testing.T, v any) perdure.Data {
	t.Helper()
	d, err := perdure.DataOf(v)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
