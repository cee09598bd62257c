package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/trace"
)

// HTTP makes tools that send requests to the hosts it lists: http.get and http.head, which change nothing; http.put and
// http.delete, which are idempotent; http.post, which is done once. The last three carry the key of the effect as
// Idempotency-Key.
//
// Whatever a name resolves to, a private, loopback or otherwise special address is not connected to, and no proxy is
// used. No redirect is followed: policy judged the URL of the call, and where a server sends one on is for policy to
// judge as well. The note of the outcome says where that is. A URL is in its clean form, of which there is one:
// https://host/path?query, see cleanURL.
//
// The result has status, url, headers (those about the content) and text or bytes. It is marked as text from somebody
// not trusted. A status of 200 to 299 is ok; 429, and 503 with a time to come back, are throttled; others fail. A
// request that changes something, was sent, and got no answer, or 502 or 504 from somebody on the way, is in doubt: it
// may have been carried out.
type HTTP struct {
	// the hosts: api.example.com, *.example.com (those below it), host:port, or * for any; https unless http://host
	// says otherwise. None: no request is sent
	Allow         []string
	Timeout       time.Duration // zero: DefaultTimeout
	ResponseLimit int64         // bytes kept of a body; zero: DefaultResponse
	Loopback      bool          // connect to loopback addresses too, for tests and services on this machine
}

// IdempotencyKey is the header in which a request carries the key of its effect.
const IdempotencyKey = "Idempotency-Key"

type getArgs struct {
	URL     string            `json:"url" jsonschema:"the URL to ask for"`
	Headers map[string]string `json:"headers,omitempty" jsonschema:"headers to send"`
}

type sendArgs struct {
	URL     string            `json:"url" jsonschema:"the URL to send to"`
	Headers map[string]string `json:"headers,omitempty" jsonschema:"headers to send, such as Content-Type"`
	Text    string            `json:"text,omitempty" jsonschema:"the body, if it is text"`
	Bytes   []byte            `json:"bytes,omitempty" jsonschema:"the body as base64, if it is not text"`
}

// Tools are the tools, or an error if an entry of Allow is not a host.
func (h HTTP) Tools() ([]perdure.Tool, error) {
	if h.Timeout == 0 {
		h.Timeout = DefaultTimeout
	}
	if h.ResponseLimit == 0 {
		h.ResponseLimit = DefaultResponse
	}
	allow, err := parseOrigins(h.Allow)
	if err != nil {
		return nil, err
	}
	c := &client{HTTP: h, allow: allow, transport: h.transport()}
	clean := cleaners{"url": cleanText(cleanURL), "headers": cleanHeaders}
	get := func(method, description string) perdure.Tool {
		return newTyped(c.spec(method, description, perdure.Read),
			func(ctx context.Context, call perdure.Call, a getArgs) (perdure.Result, error) {
				return c.do(ctx, call, method, &sendArgs{URL: a.URL, Headers: a.Headers})
			}).cleaned(clean)
	}
	send := func(method, description string, effect perdure.Effect) perdure.Tool {
		return newTyped(c.spec(method, description, effect),
			func(ctx context.Context, call perdure.Call, a sendArgs) (perdure.Result, error) {
				return c.do(ctx, call, method, &a)
			}).cleaned(clean)
	}
	return []perdure.Tool{
		get(http.MethodGet, "asks for a URL"),
		get(http.MethodHead, "asks for the headers of a URL"),
		send(http.MethodPut, "puts content at a URL", perdure.Idempotent),
		send(http.MethodDelete, "deletes what is at a URL", perdure.Idempotent),
		send(http.MethodPost, "posts content to a URL", perdure.Once),
	}, nil
}

// transport connects only where the guard lets it.
func (h *HTTP) transport() *http.Transport {
	opts := []ssrf.Option{ssrf.WithAnyPort()} // the ports are those of Allow
	if h.Loopback {
		opts = append(opts, ssrf.WithAllowedV4Prefixes(netip.MustParsePrefix("127.0.0.0/8")),
			ssrf.WithAllowedV6Prefixes(netip.MustParsePrefix("::1/128")))
	}
	dialer := &net.Dialer{Timeout: 30 * time.Second, Control: ssrf.New(opts...).Safe}
	return &http.Transport{
		Proxy:       nil, // a proxy would connect on our behalf, where no guard looks
		DialContext: dialer.DialContext,
		// A request on a connection that was used before is sent again by the library when that breaks, and a key in
		// its header makes it do so even for POST. On a new connection it is not.
		DisableKeepAlives:      true,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: maxResponseHeader,
		TLSHandshakeTimeout:    30 * time.Second,
	}
}

// client is an HTTP as its tools share it.
type client struct {
	HTTP
	allow     []origin
	transport *http.Transport
}

func (c *client) spec(method, description string, effect perdure.Effect) perdure.Spec {
	return perdure.Spec{Name: "http." + strings.ToLower(method), Description: description, Effect: effect,
		Deadline: c.Timeout}
}

// do sends a request and reads the answer.
func (c *client) do(ctx context.Context, call perdure.Call, method string, a *sendArgs) (perdure.Result, error) {
	limited, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(limited, &httptrace.ClientTrace{
		WroteHeaders: func() { sent.Store(true) },
	})
	req, err := c.request(traced, call, method, a)
	if err != nil {
		return refused("arguments of http.%s: %v", strings.ToLower(method), err), nil
	}
	resp, err := c.transport.RoundTrip(req) // which follows no redirect, whatever it says
	if err == nil {
		defer func() { _ = resp.Body.Close() }()
		var res perdure.Result
		if res, err = c.result(redactorOf(ctx), resp, method); err == nil || errors.Is(err, perdure.ErrInDoubt) {
			return res, err
		}
	}
	if ctx.Err() != nil && sent.Load() {
		return perdure.Result{}, ctx.Err()
	}
	return c.unanswered(limited, err, method, sent.Load())
}

// unanswered is what came of a request without a whole answer.
func (c *client) unanswered(ctx context.Context, err error, method string, sent bool) (perdure.Result, error) {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // without the URL, which is in the arguments
	}
	expired := errors.Is(ctx.Err(), context.DeadlineExceeded)
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedNetwork):
		return refused("the host has an address that is not public, which is not connected to: %v", err), nil
	case sent && changes(method) && expired:
		return perdure.Result{}, late{inDoubt("the request was sent, and there was no answer within %s", c.Timeout)}
	case sent && changes(method):
		return perdure.Result{}, inDoubt("the request was sent, and then: %v", err)
	case expired:
		return perdure.Result{Signal: perdure.TimedOut, Note: "no answer within " + c.Timeout.String()}, nil
	case ctx.Err() != nil: // the node is stopping
		return perdure.Result{Signal: perdure.Throttled, Note: "given up before anything was sent"}, nil
	}
	res := refused("%v", err)
	res.Taint = true
	var dial *net.OpError
	if !changes(method) && errors.As(err, &dial) && dial.Op == "dial" { // nobody is there; to ask again changes nothing
		res.Signal = perdure.Silent
	}
	if sent && gone(err) { // it was asked, and then there was nobody: to ask again changes nothing
		res.Signal, res.Note = perdure.Silent, "the request was sent, and then: "+res.Note
	}
	return res, nil
}

// gone reports whether whoever was connected to hung up.
func gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// changes reports whether a request of this method changes something.
func changes(method string) bool { return method != http.MethodGet && method != http.MethodHead }

// request is the request of a call.
func (c *client) request(ctx context.Context, call perdure.Call, method string, a *sendArgs) (*http.Request, error) {
	u, err := url.Parse(a.URL)
	if err != nil {
		return nil, fmt.Errorf("field url: it is not a URL")
	}
	if err := check(u, c.allow); err != nil {
		return nil, err
	}
	body := a.Text
	if len(a.Bytes) > 0 {
		if body != "" {
			return nil, errors.New("fields text and bytes: give one of them")
		}
		body = string(a.Bytes)
	}
	if len(body) > maxRequest {
		return nil, fmt.Errorf("the body has %d bytes, at most %d can be sent", len(body), maxRequest)
	}
	req, err := http.NewRequestWithContext(ctx, method, u.String(), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range a.Headers {
		name = http.CanonicalHeaderKey(name)
		if reserved(headerName(name)) {
			return nil, fmt.Errorf("field headers: %s is not for the caller to set", name)
		}
		req.Header.Set(name, value)
	}
	req.Header.Set("User-Agent", "perdure")
	if trace := trace.Parent(ctx); trace != "" {
		req.Header.Set("Traceparent", trace)
	}
	if changes(method) {
		req.Header.Set(IdempotencyKey, call.Key)
	}
	return req, nil
}

// reserved reports whether a header is about the connection, or set by the tool.
func reserved(name string) bool {
	switch name {
	case IdempotencyKey, "X-Idempotency-Key", "Host", "Connection", "Content-Length", "Transfer-Encoding", "Te",
		"Trailer", "Upgrade", "Expect", "Keep-Alive",
		"Accept-Encoding", "User-Agent", "X-Forwarded-For", "X-Real-Ip", "Forwarded", "Traceparent", "Tracestate",
		"X-Http-Method", "X-Http-Method-Override", "X-Method-Override", "X-Original-Url", "X-Rewrite-Url":
		return true // the last make some servers do something else than the method and the URL say, which policy judged
	}
	return strings.HasPrefix(name, "Proxy-") || strings.HasPrefix(name, "X-Forwarded-")
}

// kept are the headers of a response that are recorded: what says something about the content, and nothing that lets
// somebody in.
var kept = []string{"Cache-Control", "Content-Disposition", "Content-Language", "Content-Length", "Content-Range",
	"Content-Type", "Date", "Etag", "Last-Modified", "Link", "Location", "Retry-After"}

// result is the answer to a request.
func (c *client) result(r *redactor, resp *http.Response, method string) (perdure.Result, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, c.ResponseLimit+1+int64(r.margin())))
	truncated := int64(len(body)) > c.ResponseLimit
	if err != nil && !truncated {
		return perdure.Result{}, fmt.Errorf("the answer broke off: %w", err)
	}
	body = r.cut(body, 0, int(min(int64(len(body)), c.ResponseLimit)))
	headers := map[string]any{}
	for name, values := range resp.Header {
		if slices.Contains(kept, name) {
			headers[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
		}
	}
	v := map[string]any{"status": resp.StatusCode, "url": resp.Request.URL.Redacted(), "headers": headers}
	if method != http.MethodHead {
		put(v, content(body, truncated))
	}
	if truncated {
		v["truncated"] = true
	}
	data, err := perdure.DataOf(v)
	if err != nil {
		return perdure.Result{}, err
	}
	res := perdure.Result{Data: data, Taint: true}
	if truncated {
		res.Signal, res.Note = perdure.Partial, fmt.Sprintf("the answer is longer than %d bytes: the rest is left out",
			c.ResponseLimit)
	}
	after, named := retryAfter(resp.Header.Get("Retry-After"), time.Now())
	switch {
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusServiceUnavailable && named:
		res.Signal, res.RetryAfter, res.Note = perdure.Throttled, after,
			"the server answered "+strconv.Itoa(resp.StatusCode)
	case changes(method) && (resp.StatusCode == http.StatusBadGateway || resp.StatusCode == http.StatusGatewayTimeout):
		return perdure.Result{}, inDoubt("somebody on the way answered %d for the server", resp.StatusCode)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		res.Signal, res.Note = perdure.Failed, "the server answered "+strconv.Itoa(resp.StatusCode)
		if to, err := resp.Location(); err == nil && resp.StatusCode/100 == 3 {
			res.Note += ": it says that what was asked for is at " + clip(visible(to.Redacted())) +
				"; redirects are not followed, so ask for that if it is wanted"
		}
	}
	return res, nil
}

// retryAfter reads a Retry-After header: seconds, or a date.
func retryAfter(header string, now time.Time) (wait time.Duration, ok bool) {
	if s, err := strconv.ParseInt(strings.TrimSpace(header), 10, 64); err == nil && s >= 0 {
		return time.Duration(min(s, int64(maxRetryAfter/time.Second))) * time.Second, true
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0, false
	}
	return min(max(at.Sub(now), 0), maxRetryAfter), true
}
