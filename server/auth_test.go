package server_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/server"
)

func TestTokensOpenWhatTheySay(t *testing.T) {
	w := newWorld(t)
	all := w.token("", home.Verbs...)
	ops := client.Intent{Goal: "x", Name: "ops", Scope: "acme/ops"}
	w.call(all, "POST", "/v1/agents", ops, 201, nil)
	w.call(all, "POST", "/v1/agents", client.Intent{Goal: "x", Name: "dev", Scope: "acme/dev"}, 201, nil)

	p := w.problem("", "GET", "/v1/agents", nil, 401)
	contains(t, p.Hint, "perdure token new")
	w.problem("nonsense", "GET", "/v1/agents", nil, 401)
	w.problem(all[:len(all)-2]+"AA", "GET", "/v1/agents", nil, 401)

	for _, verb := range home.Verbs {
		token := w.token("", verb)
		for _, x := range []struct {
			verb, method, path string
			body               any
		}{
			{home.VerbRead, "GET", "/v1/agents/ops", nil},
			{home.VerbCreate, "POST", "/v1/agents", client.Intent{Goal: "y"}},
			{home.VerbEvent, "POST", "/v1/agents/ops/events", client.Event{Name: "ping"}},
			{home.VerbPause, "POST", "/v1/agents/ops/pause", client.Note{}},
			{home.VerbEdit, "POST", "/v1/agents/ops/edit", client.Edit{Labels: map[string]string{"a": "b"}}},
			{home.VerbExport, "GET", "/v1/agents/ops/export", nil},
			{home.VerbImport, "POST", "/v1/import", []byte("no capsule")},
		} {
			code, _, text := w.raw(token, x.method, x.path, x.body)
			if denied := code == http.StatusForbidden; denied == (x.verb == verb) {
				t.Errorf("a token for %s: %s %s: got %d: %s", verb, x.method, x.path, code, text)
			}
		}
	}

	narrow := w.token("acme/ops", home.Verbs...)
	w.call(narrow, "GET", "/v1/agents/ops", nil, 200, nil)
	w.problem(narrow, "GET", "/v1/agents/dev", nil, 404)
	contains(t, w.problem(all, "GET", "/v1/agents/dew", nil, 404).Detail, "did you mean dev?")
	if p := w.problem(narrow, "GET", "/v1/agents/dew", nil, 404); strings.Contains(p.Detail, "dev") {
		t.Errorf("it was told the name of an agent that it does not see: %s", p.Detail)
	}
	w.problem(narrow, "POST", "/v1/agents/dev/events", client.Event{Name: "ping"}, 404)
	w.problem(narrow, "POST", "/v1/agents", client.Intent{Goal: "y", Scope: "acme/dev"}, 403)
	var made client.Created
	w.call(narrow, "POST", "/v1/agents", client.Intent{Goal: "y", Name: "inside"}, 201, &made)
	var seen struct{ Charter struct{ Scope string } }
	w.call(all, "GET", "/v1/agents/inside", nil, 200, &seen)
	if seen.Charter.Scope != "acme/ops" {
		t.Errorf("an agent of a token of acme/ops is in %q", seen.Charter.Scope)
	}
	var capsule bytes.Buffer
	if _, err := w.client(all, nil).Export(t.Context(), &capsule, "dev", "", ""); err != nil {
		t.Fatal(err)
	}
	w.problem(narrow, "POST", "/v1/import", capsule.Bytes(), 403)

	ids, err := w.home.Tokens()
	if err != nil {
		t.Fatal(err)
	}
	last := ids[len(ids)-1]
	if _, err := w.home.RevokeToken(last.ID); err != nil {
		t.Fatal(err)
	}
	w.problem(narrow, "GET", "/v1/agents/ops", nil, 401)
	for _, name := range []string{all, narrow} {
		for _, one := range ids {
			if strings.Contains(one.Hash, name) || strings.Contains(one.Name, name) {
				t.Error("the home keeps the token itself")
			}
		}
	}
}

func TestNoSecretOfATokenIsKeptOrLogged(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t, func(s *server.Server) {
		s.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	ana, _ := w.person("ana")
	_, secret, _ := strings.Cut(strings.TrimPrefix(ana, "perdure_"), "_")
	w.call(ana, "GET", "/v1/agents", nil, 200, nil)
	w.problem(ana, "GET", "/v1/agents/nobody", nil, 404)
	w.problem(ana, "POST", "/v1/import", []byte("x"), 403)
	if strings.Contains(log.String(), secret) {
		t.Error("the log holds the token")
	}
	err := filepath.WalkDir(w.home.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(secret)) {
			t.Errorf("%s holds the token", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPagesOfOthersAreRefused(t *testing.T) {
	w := newWorld(t, func(s *server.Server) {
		s.Hosts, s.Origins = []string{"agents.example.com"}, []string{"https://console.example.com"}
	})
	all := w.token("", home.Verbs...)
	body := client.Intent{Goal: "x"}
	evil := []string{"https://evil.example", "null", "http://127.0.0.1:1", "https://console.example.com.evil.example"}
	for _, origin := range evil {
		w.problem(all, "POST", "/v1/agents", body, 403, "Origin", origin)
	}
	w.problem(all, "GET", "/v1/agents", nil, 403, "Sec-Fetch-Site", "cross-site")
	w.problem(all, "GET", "/v1/agents", nil, 403, "Host", "rebound.example")
	w.problem("", "GET", "/v1/health", nil, 403, "Host", "rebound.example")
	w.call(all, "GET", "/v1/agents", nil, 200, nil, "Host", "agents.example.com")
	w.call(all, "POST", "/v1/agents", body, 201, nil, "Origin", w.url)
	h := w.call(all, "POST", "/v1/agents", body, 201, nil, "Origin", "https://console.example.com")
	if h.Get("Access-Control-Allow-Origin") != "https://console.example.com" {
		t.Errorf("got %v", h)
	}
	w.call("", "OPTIONS", "/v1/agents", nil, 204, nil, "Origin", "https://console.example.com")
}

func TestTooMuchIsRefused(t *testing.T) {
	w := newWorld(t,
		func(s *server.Server) {
			s.Limits = server.Limits{Body: 1 << 10, Capsule: 1 << 12, Rate: 0.001, Burst: 20}
		})
	all := w.token("", home.Verbs...)
	huge := client.Intent{Goal: strings.Repeat("x", 2<<10)}
	if p := w.problem(all, "POST", "/v1/agents", huge, 413); p.Kind != "too-large" ||
		!strings.HasPrefix(p.Detail, "the body is larger than may be sent here: at most 1024 bytes") {
		t.Errorf("got %+v", p)
	}
	var long bytes.Buffer
	other := newWorld(t)
	key := other.token("", home.Verbs...)
	other.call(key, "POST", "/v1/agents", client.Intent{Goal: strings.Repeat("y", 32<<10), Name: "long"}, 201, nil)
	if _, err := other.client(key, nil).Export(t.Context(), &long, "long", "text", ""); err != nil {
		t.Fatal(err)
	}
	w.problem(all, "POST", "/v1/import", long.Bytes(), 413)
	refused := 0
	for range 40 {
		if code, h, _ := w.raw(all, "GET", "/v1/whoami", nil); code == http.StatusTooManyRequests &&
			h.Get("Retry-After") != "" {
			refused++
		}
	}
	if refused < 20 {
		t.Errorf("of 40 where 20 are let in %d were refused", refused)
	}
	guesses, began := 0, time.Now()
	guess := "perdure_0000000000000000_" + strings.Repeat("A", 43)
	for range 80 {
		if code, _, _ := w.raw(guess, "GET", "/v1/whoami", nil); code == 429 {
			guesses++
		}
	}
	most := 51 + 5*time.Since(began).Seconds() // 50 at once, and five a second
	if tried := 80 - guesses; float64(tried) > most {
		t.Errorf("of 80 guesses at tokens %d were tried, want %.0f at most", tried, most)
	}
}

// serveOn serves a world on a listener, until the test ends.
func (w *world) serveOn(l server.Listening) net.Listener {
	w.t.Helper()
	ln, err := server.Listen(w.t.Context(), l)
	if err != nil {
		w.t.Fatal(err)
	}
	s := &server.Server{Desk: w.desk, Requests: w.server.Requests, Log: slog.New(slog.DiscardHandler),
		Webhooks: w.server.Webhooks}
	done := make(chan error, 1)
	go func() { done <- s.Serve(w.t.Context(), time.Second, ln) }()
	w.t.Cleanup(func() { // the context has ended by now
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	})
	return ln
}

// serveTLS serves a world over TLS under the home's own key, until the test ends.
func (w *world) serveTLS() (url string, own perdure.Key) {
	w.t.Helper()
	k, err := w.home.Key()
	if err != nil {
		w.t.Fatal(err)
	}
	conf, err := w.home.ServeTLS(&home.ServeConfig{TLS: home.TLSConfig{Own: true}})
	if err != nil {
		w.t.Fatal(err)
	}
	return "https://" + w.serveOn(server.Listening{Address: "127.0.0.1:0", TLS: conf}).Addr().String(), k.Key()
}

func TestKeysAreShownInTheHandshakeAndPinned(t *testing.T) {
	w := newWorld(t)
	url, own := w.serveTLS()
	friend, err := perdure.GenerateSigner("friend")
	if err != nil {
		t.Fatal(err)
	}
	cert, err := home.Certificate(friend)
	if err != nil {
		t.Fatal(err)
	}
	c := func(pin perdure.Key, cert *tls.Certificate) *client.Client {
		return &client.Client{URL: url, Pin: pin, Certificate: cert}
	}
	if _, err := c(friend.Key(), &cert).Who(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "not the one with key") {
		t.Errorf("another server than the pinned one: got %v", err)
	}
	if _, err := c(perdure.Key{}, &cert).Who(t.Context()); err == nil {
		t.Error("a certificate that nobody signed was taken without a pin")
	}
	if _, err := c(own, nil).Who(t.Context()); home.KindOf(err) != home.KindUnknown ||
		!strings.Contains(err.Error(), "no token") {
		t.Errorf("nobody: got %v", err)
	}
	if _, err := c(own, &cert).Who(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "not trusted here") {
		t.Errorf("a key that is not trusted: got %v", err)
	}
	line := perdure.Trustee{Key: friend.Key(), Name: "friend", Rights: perdure.MayAuthor, Scope: "acme"}
	if err := w.home.AddTrust(line); err != nil {
		t.Fatal(err)
	}
	who, err := c(own, &cert).Who(t.Context())
	if err != nil || who.Name != "friend" || who.Key != friend.Key() || who.Scope != "acme" || who.Person {
		t.Errorf("got %+v, %v", who, err)
	}
	if _, err := c(own, &cert).Approve(t.Context(), "x", client.Ballot{}, nil); home.KindOf(
		err,
	) != home.KindDenied {
		t.Errorf("an author approved: %v", err)
	}
}

// What is begun here is signed and owned by the home: of a key that takes the right to own, where it is begun.
func TestAnAuthorsKeyBeginsNoAgentInTheHomesName(t *testing.T) {
	w := newWorld(t)
	url, own := w.serveTLS()
	friend, err := perdure.GenerateSigner("friend")
	if err != nil {
		t.Fatal(err)
	}
	cert, err := home.Certificate(friend)
	if err != nil {
		t.Fatal(err)
	}
	for scope, right := range map[string]perdure.Right{"acme": perdure.MayAuthor, "acme/own": perdure.MayOwn,
		"beta": perdure.MayAuthor | perdure.MayApprove} {
		who := perdure.Trustee{Key: friend.Key(), Name: "friend", Rights: right, Scope: scope}
		if err := w.home.AddTrust(who); err != nil {
			t.Fatal(err)
		}
	}
	c := &client.Client{URL: url, Pin: own, Certificate: &cert}
	for scope, may := range map[string]bool{"acme": false, "acme/ops": false, "beta": false, "acme/own": true} {
		in := client.Intent{Goal: "x", Name: "made", Scope: scope}
		if _, err := c.Create(t.Context(), in); (err == nil) != may || !may && home.KindOf(err) != home.KindDenied {
			t.Errorf("create in %s: %v, want %v", scope, err, may)
		}
		there := "there-" + strings.ReplaceAll(scope, "/", "-")
		in = client.Intent{Goal: "x", Name: there, Scope: scope}
		w.call(w.token("", home.VerbCreate), "POST", "/v1/agents", in, 201, nil)
		if _, err := c.Fork(t.Context(), there, client.Fork{Name: "forked", Live: true}); (err == nil) != may ||
			!may && home.KindOf(err) != home.KindDenied {
			t.Errorf("fork in %s: %v, want %v", scope, err, may)
		}
		if _, err := c.Send(t.Context(), there, client.Event{Name: "ping"}); err != nil {
			t.Errorf("an event in %s: %v", scope, err)
		}
	}
}

func TestASocketIsForTheOwner(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(t.TempDir(), "s.sock")
	w.serveOn(server.Listening{Address: "unix:" + path})
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info.Mode(), err)
	}
	c := &client.Client{URL: "unix:" + path}
	who, err := c.Who(t.Context())
	if err != nil || who.Scope != "*" {
		t.Fatalf("got %+v, %v", who, err)
	}
	if _, err := server.Listen(t.Context(), server.Listening{Address: "unix:" + path}); err == nil {
		t.Error("two servers have one socket")
	}
}

func TestOnlyLoopbackIsOpenAndOnlyTLSIsReached(t *testing.T) {
	for _, x := range []server.Listening{
		{Address: "0.0.0.0:0"}, {Address: ":0"}, {Address: "0.0.0.0:0", Open: true},
		{Address: "0.0.0.0:0", Open: true, Plain: true},
		{Address: "no-port"}, {Address: "unix:"},
	} {
		ln, err := server.Listen(t.Context(), x)
		if home.KindOf(err) != home.KindInvalid {
			t.Errorf("%+v: got %v, %v", x, ln, err)
		}
	}
	for _, x := range []server.Listening{
		{Address: "127.0.0.1:0", Open: true}, {Address: "[::1]:0"}, {Address: "0.0.0.0:0", Plain: true},
	} {
		ln, err := server.Listen(t.Context(), x)
		if err != nil && strings.Contains(x.Address, "::1") {
			continue // this machine has no such address
		}
		if err != nil {
			t.Errorf("%+v: %v", x, err)
			continue
		}
		_ = ln.Close()
	}
}

func TestASlowSenderIsCutOff(t *testing.T) {
	if testing.Short() {
		t.Skip("short: it takes as long as a server waits for a header")
	}
	t.Parallel()
	w := newWorld(t)
	ln := w.serveOn(server.Listening{Address: "127.0.0.1:0"})
	began := time.Now()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	go func() { // a byte now and then, for ever
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for _, b := range []byte("GET /v1/health HTTP/1.1\r\nHost: localhost\r\nX-Long: " + strings.Repeat("x", 300)) {
			if _, err := c.Write([]byte{b}); err != nil {
				return
			}
			select {
			case <-t.Context().Done():
				return
			case <-tick.C:
			}
		}
	}()
	_ = c.SetReadDeadline(time.Now().Add(patience))
	_, err = io.ReadAll(c) // its end, or that it was reset
	took := time.Since(began)
	if errors.Is(err, os.ErrDeadlineExceeded) || took > time.Minute { // bytes come for longer than that
		t.Errorf("it was cut off after %v: %v", took, err)
	}
	if _, err := (&client.Client{URL: "http://" + ln.Addr().String()}).Health(t.Context()); err != nil {
		t.Error(err)
	}
}

// What is mounted beside the API opens to a token with its verb, for every scope: it knows no scopes itself.
func TestWhatIsBesideTheAPITakesItsVerbEverywhere(t *testing.T) {
	reached := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	w := newWorld(t, func(s *server.Server) { s.Metric, s.MCP, s.A2A = reached, reached, reached })
	doors := []struct{ verb, method, path string }{
		{home.VerbMetrics, "GET", "/metrics"},
		{home.VerbMCP, "POST", "/mcp"},
		{home.VerbA2A, "POST", "/a2a"},
	}
	for _, door := range doors {
		for _, verb := range home.Verbs {
			code, _, _ := w.raw(w.token("", verb), door.method, door.path, []byte("{}"))
			if opens := code == http.StatusNoContent; opens != (verb == door.verb) {
				t.Errorf("%s with a token for %s: %d", door.path, verb, code)
			}
		}
		if code, _, _ := w.raw(w.token("acme", home.Verbs...), door.method, door.path, []byte("{}")); code != 403 {
			t.Errorf("%s with a token for one scope: %d, want it refused", door.path, code)
		}
		if code, _, _ := w.raw("", door.method, door.path, []byte("{}")); code != 401 {
			t.Errorf("%s without a token: %d, want it refused", door.path, code)
		}
	}
}
