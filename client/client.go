package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/jsontext"
)

// Client talks to one server. URL must be set; the rest says who asks. Nothing may be changed after the first use, and
// several may use it at once.
type Client struct {
	URL   string // http://HOST:PORT, https://…, or unix:PATH
	Token string // of perdure token new

	// Signer signs answers to what policy asks, here; nil: the server does, with the key that a person's token unlocks.
	Signer *perdure.Signer

	// Pin is the key of a server that shows a certificate over it; zero: its certificate is checked as browsers do.
	Pin perdure.Key
	// Certificate shows the server a key that it trusts, in the place of a token.
	Certificate *tls.Certificate

	// Foreign is of a server that is somebody else's: a hint of it begins with Says.
	Foreign bool

	// HTTP sends requests; nil: a client of its own.
	HTTP *http.Client

	patience *patience // nil: the usual one

	once sync.Once
	http *http.Client
	base string
	bad  error
}

// Close lets go of the connections that are kept for later. The client can be used again.
func (c *Client) Close() {
	if c.init() == nil && c.HTTP == nil {
		c.http.CloseIdleConnections()
	}
}

// idleConns is how many connections are kept for later.
const idleConns = 64

// init makes what sends requests.
func (c *Client) init() error {
	c.once.Do(func() {
		c.http, c.base = c.HTTP, strings.TrimSuffix(c.URL, "/")
		path, local := strings.CutPrefix(c.URL, "unix:")
		if u, err := url.Parse(c.base); local && path == "" || !local &&
			(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
			c.bad = perdure.Invalid(
				fmt.Errorf("server %q: want http://HOST:PORT, https://HOST:PORT or unix:PATH", c.URL),
			)
			return
		}
		if strings.HasSuffix(c.base, "/v1") {
			c.bad = perdure.Invalid(fmt.Errorf("server %q: leave /v1 out", c.URL))
			return
		}
		if local {
			c.base = "http://localhost"
		}
		if c.http != nil {
			return
		}
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.MaxIdleConnsPerHost, t.ResponseHeaderTimeout = idleConns, cmp.Or(c.patience, &usual).begin
		t.TLSClientConfig = c.tls()
		if local {
			t.Proxy = nil
			t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", path)
			}
		}
		// A redirect could lead the token elsewhere.
		c.http = &http.Client{
			Transport:     t,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	})
	return c.bad
}

// tls pins the key of the server, if one is given, and shows ours.
func (c *Client) tls() *tls.Config {
	t := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.Certificate != nil {
		t.Certificates = []tls.Certificate{*c.Certificate}
	}
	if c.Pin.IsZero() {
		return t
	}
	t.InsecureSkipVerify = true // names and authorities say nothing here: the key does, below
	t.VerifyConnection = func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) > 0 {
			if k, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey); ok && perdure.Key(k) == c.Pin {
				return nil
			}
		}
		return perdure.WithHint(fmt.Errorf("the server is not the one with key %s", c.Pin.Short()),
			"another server answers there, or somebody in between: compare the key with what perdure key show prints "+
				"on the server before you name another one")
	}
	return t
}

// Option changes one request.
type Option func(*http.Request)

// Once gives a request a key: sent again with it, it is done once.
func Once(key string) Option { return func(r *http.Request) { r.Header.Set("Idempotency-Key", key) } }

// Match has a request do nothing if the agent has gone on from an ETag; the error then wraps perdure.ErrMoved.
func Match(etag string) Option { return func(r *http.Request) { r.Header.Set("If-Match", etag) } }

// Trace makes a request part of a W3C trace.
func Trace(parent string) Option {
	return func(r *http.Request) { r.Header.Set("Traceparent", parent) }
}

// maxTries is how often a request is sent that can be sent again: for three seconds, in which a server that is started
// again is back.
const maxTries = 6

// Do sends a request with a JSON body, in, if that is not nil, and reads the JSON of the answer into out. An error of
// the server is a *Problem. What can be sent again without harm is, when the connection breaks: reads, and what has a
// key (Once).
func (c *Client) Do(ctx context.Context, method, path string, in, out any, options ...Option) (http.Header, error) {
	var body []byte
	if in != nil {
		var err error
		if body, err = jsontext.Marshal(in); err != nil {
			return nil, perdure.Invalid(err)
		}
	}
	for try := 1; ; try++ {
		h, again, err := c.try(ctx, method, path, body, in != nil, out, options...)
		if err == nil || !again || try == maxTries || ctx.Err() != nil {
			return h, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(try*try) * 50 * time.Millisecond):
		}
	}
}

// post sends a value for an answer that is no JSON.
func (c *Client) post(ctx context.Context, path string, in any) (*http.Response, error) {
	body, err := jsontext.Marshal(in)
	if err != nil {
		return nil, perdure.Invalid(err)
	}
	res, _, err := c.send(ctx, http.MethodPost, path, "application/json", bytes.NewReader(body), true)
	if err != nil {
		return nil, err
	}
	if res.StatusCode/100 != 2 {
		return nil, c.read(res, nil)
	}
	return res, nil
}

// try sends a request once. Again says that the connection broke, and that it may be sent again.
func (c *Client) try(
	ctx context.Context,
	method, path string,
	body []byte,
	has bool,
	out any,
	options ...Option,
) (h http.Header, again bool, err error) {
	res, safe, err := c.send(ctx, method, path, "application/json", bytes.NewReader(body), has, options...)
	if err != nil {
		return nil, safe, err
	}
	err = c.read(res, out)
	return res.Header, safe && errors.Is(err, ErrBroken), err
}

// send sends a request. Safe says whether it may be sent again.
func (c *Client) send(
	ctx context.Context,
	method, path, kind string,
	body io.Reader,
	has bool,
	options ...Option,
) (_ *http.Response, safe bool, err error) {
	if err := c.init(); err != nil {
		return nil, false, err
	}
	if !has {
		body = nil
	}
	ctx, cut := context.WithCancelCause(ctx) // until the answer is closed
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		cut(nil)
		return nil, false, err
	}
	calm := cmp.Or(c.patience, &usual)
	calm.paced(req, cut)
	if has {
		req.Header.Set("Content-Type", kind)
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	for _, o := range options {
		o(req)
	}
	safe = method == http.MethodGet || req.Header.Get("Idempotency-Key") != ""
	res, err := c.http.Do(req)
	if why := context.Cause(ctx); err != nil && errors.Is(why, ErrSlow) {
		err = why
	}
	var late net.Error
	if errors.As(err, &late) && late.Timeout() { // who waited once for nothing is not kept waiting for that again
		safe = false
		if ctx.Err() == nil && !dialing(err) {
			err = fmt.Errorf("%w: it did not begin to answer in time", ErrSlow)
		}
	}
	if err != nil {
		cut(nil)
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, safe, unreached(c.URL, err)
	}
	from := &answer{ReadCloser: res.Body, pace: pace{patience: *calm, cut: cut},
		why: func() error { return context.Cause(ctx) }}
	if res.Body = from; res.StatusCode == http.StatusOK && req.Header.Get("Accept") == eventStream {
		from.patience = patience{} // whoever follows sees to it that it lives
	}
	if res.StatusCode/100 == 2 && res.Header.Get(APIHeader) == "" {
		_ = res.Body.Close() // whatever it says is not for us
		return nil, false, perdure.WithHint(fmt.Errorf("%s: %w", c.URL, ErrStranger), elsewhere)
	}
	return res, safe, nil
}

// APIHeader is in every answer of a server of this API, with its version. What answers 200 without it is something
// else, and nothing that it says, or leaves out, is about agents.
const APIHeader = "Perdure-Api"

// ErrStranger says that what answers is no perdure server.
var ErrStranger = errors.New("what answers there is no perdure server")

// elsewhere is what to do about an answer of something else.
const elsewhere = "compare the address and the port with what perdure serve prints where it runs"

// stillThere is what to do about a connection that broke.
const stillThere = "see that the perdure server there still runs, and try again"

// unreached is why a server could not be asked, and what to do about it.
func unreached(server string, err error) error {
	hint := "see that a perdure server runs there"
	var unknown *tls.CertificateVerificationError
	var given *perdure.Hint
	var step *net.OpError
	switch {
	case errors.As(err, &given):
		hint = given.Do
	case errors.As(err, &unknown):
		hint = "if it shows a certificate over its own key, name that: --server-key, as perdure key show prints it " +
			"there"
	case strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"): // as Go's clients say it
		err, hint = errors.New("it does not speak TLS"), "write http:// in place of https://, or start it with --tls"
	case dialing(err):
	case errors.Is(err, ErrSlow):
		hint = stillThere
	case errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &step): // it was there
		err, hint = fmt.Errorf("%w: %w", ErrBroken, err), stillThere
	}
	return perdure.WithHint(fmt.Errorf("reach the server at %s: %w", server, err), hint)
}

// dialing reports whether a server could not be connected to.
func dialing(err error) bool {
	var step *net.OpError
	return errors.As(err, &step) && step.Op == "dial"
}

// ErrBroken says that a connection broke: whether the server did what it was asked is not known.
var ErrBroken = errors.New("the connection broke")

// broken says of which server a connection broke, and what to do.
func (c *Client) broken(err error) error {
	return perdure.WithHint(fmt.Errorf("read what the server at %s sends: %w: %w", c.URL, ErrBroken, err), stillThere)
}

// read reads an answer.
func (c *Client) read(res *http.Response, out any) error {
	defer func() { _ = res.Body.Close() }() // all of it was read
	limit := most(res, out)
	b, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	switch {
	case errors.Is(err, ErrSlow):
		return perdure.WithHint(fmt.Errorf("read what the server at %s sends: %w", c.URL, err), stillThere)
	case err != nil:
		return c.broken(err)
	case int64(len(b)) > limit:
		return perdure.WithHint(fmt.Errorf("read what the server at %s sends: %w: more than %d MiB in one answer",
			c.URL, ErrExcess, limit>>20), elsewhere)
	}
	if res.StatusCode/100 != 2 {
		return c.problemOf(res, b)
	}
	if out == nil || len(b) == 0 {
		return nil
	}
	if raw, ok := out.(*json.RawMessage); ok {
		*raw = b
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}

// problemOf is the error that an answer says.
func (c *Client) problemOf(res *http.Response, b []byte) error {
	p := &Problem{foreign: c.Foreign}
	if json.Unmarshal(b, p) == nil && p.Status != 0 {
		return p
	}
	*p = Problem{
		Status: res.StatusCode,
		Title:  res.Status,
		Detail: "the server answers " + res.Status,
		Kind:   "failure",
	}
	if strings.Contains(string(b), "HTTP request to an HTTPS server") { // as Go's servers say it
		p.Detail = "the server speaks TLS, and was asked without"
		return perdure.WithHint(p, "write https:// in place of http://")
	}
	if res.Header.Get(APIHeader) == "" {
		return perdure.WithHint(p, elsewhere)
	}
	return p
}

// NewKey is a key for Once.
func NewKey() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

func agentPath(agent, more string) string { return "/v1/agents/" + url.PathEscape(agent) + more }

// get reads one value.
func get[T any](ctx context.Context, c *Client, path string) (T, error) {
	var out T
	_, err := c.Do(ctx, http.MethodGet, path, nil, &out)
	return out, err
}

// tell sends one value and reads another.
func tell[T any](ctx context.Context, c *Client, path string, in any, options ...Option) (T, error) {
	var out T
	_, err := c.Do(ctx, http.MethodPost, path, in, &out, options...)
	return out, err
}
