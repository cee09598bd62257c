package advisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure"
)

// KeyFunc finds the key of a provider when it is needed. It is never kept in memory entries.
type KeyFunc func() (string, error)

// KeyFromEnv is the key in an environment variable.
func KeyFromEnv(name string) KeyFunc {
	return func() (string, error) {
		if v := os.Getenv(name); v != "" {
			return v, nil
		}
		return "", fmt.Errorf("the environment variable %s is not set", name)
	}
}

// key asks for the key of a provider.
func (k KeyFunc) key(provider string) (string, error) {
	v, err := k()
	if err != nil {
		return "", fmt.Errorf("key for %s: %w: %w", provider, err, perdure.ErrIncapable)
	}
	if v == "" {
		return "", fmt.Errorf("key for %s: it is empty: %w", provider, perdure.ErrIncapable)
	}
	return v, nil
}

// exchange is what the HTTP exchange of one Ask shows beyond what an SDK hands on.
type exchange struct {
	status int
	retry  time.Duration
}

type exchangeKey struct{}

// watched is ctx under which an observer fills in the exchange.
func watched(ctx context.Context) (context.Context, *exchange) {
	x := new(exchange)
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// observer is the transport of the providers' SDKs: it notes status and retry-after, and bounds the reply.
type observer struct{ next http.RoundTripper }

func (o observer) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := o.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if x, ok := r.Context().Value(exchangeKey{}).(*exchange); ok {
		x.status, x.retry = resp.StatusCode, waitOf(resp.Header, time.Now())
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, left: maxReplyBytes}
	return resp, nil
}

// boundedBody is a body that fails when it is longer than anybody's reply.
type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the reply is longer than %d bytes", maxReplyBytes)
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}

// observed is the client an SDK uses. It follows no redirects: they would carry the key elsewhere.
func observed(c *http.Client) *http.Client {
	if c == nil {
		c = http.DefaultClient
	}
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	return &http.Client{Transport: observer{next}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// waitOf reads retry-after, in seconds, as a date, or in the milliseconds some providers add.
func waitOf(h http.Header, now time.Time) time.Duration {
	var d time.Duration
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		d = boundedWait(ms / 1000)
	} else if s, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err == nil {
		d = boundedWait(s)
	} else if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), maxWait)
}

// boundedWait is seconds as a duration; nonsense is none.
func boundedWait(seconds float64) time.Duration {
	if !(seconds > 0) {
		return 0
	}
	return time.Duration(min(seconds, maxWait.Seconds()) * float64(time.Second))
}

// complaint is what a provider said was wrong.
type complaint struct {
	status  int    // as in HTTP; zero: none was given
	kind    string // the provider's word for it
	message string
	retry   time.Duration
}

// complaintOf reads the JSON all providers wrap errors in, {"error": {"type", "code", "status", "message"}}, or what is inside of it.
func complaintOf(raw []byte) complaint {
	type inner struct {
		Type, Status, Message string
		Code                  any
	}
	var outer struct {
		Error *inner
		inner
	}
	if json.Unmarshal(raw, &outer) != nil {
		return complaint{message: string(raw)}
	}
	in := &outer.inner
	if outer.Error != nil {
		in = outer.Error
	}
	c := complaint{kind: strings.TrimSpace(in.Type + " " + in.Status), message: in.Message}
	switch code := in.Code.(type) {
	case string:
		c.kind = strings.TrimSpace(c.kind + " " + code)
	case float64:
		c.status = int(code)
	}
	return c
}

// failure is the complaint as what became of asking.
func (c complaint) failure(provider string) *Failure {
	f := &Failure{Signal: perdure.Failed, RetryAfter: c.retry, Note: fmt.Sprintf("%s answered %s", provider, c.text())}
	switch c.statusOrKind() {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, overloaded:
		f.Signal = perdure.Throttled
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		f.Signal = perdure.TimedOut
	case http.StatusUnauthorized, http.StatusForbidden: // providers repeat parts of the key here
		f.Note = fmt.Sprintf("%s answered %d: it does not accept the key of this node; give the node another", provider, c.status)
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		f.Overflow = c.overflow()
	}
	return f
}

// overloaded is a status of one provider's own.
const overloaded = 529

// statusOrKind is the status, or the one that says the same as the kind when the error came inside a stream that had begun well.
func (c complaint) statusOrKind() int {
	if c.status >= 400 {
		return c.status
	}
	for _, k := range []struct {
		word   string
		status int
	}{
		{"overloaded", overloaded}, {"rate_limit", http.StatusTooManyRequests}, {"RESOURCE_EXHAUSTED", http.StatusTooManyRequests},
		{"UNAVAILABLE", http.StatusServiceUnavailable}, {"timeout", http.StatusGatewayTimeout}, {"DEADLINE_EXCEEDED", http.StatusGatewayTimeout},
		{"authentication", http.StatusUnauthorized}, {"permission", http.StatusForbidden}, {"context_length", http.StatusBadRequest},
		{"invalid_request", http.StatusBadRequest}, {"INVALID_ARGUMENT", http.StatusBadRequest},
	} {
		if strings.Contains(c.kind, k.word) {
			return k.status
		}
	}
	return http.StatusInternalServerError
}

// overflow reports whether the prompt was too long for the model. Providers say so in words.
func (c complaint) overflow() bool {
	if c.status == http.StatusRequestEntityTooLarge || strings.Contains(c.kind, "context_length_exceeded") || strings.Contains(c.kind, "request_too_large") {
		return true
	}
	m := strings.ToLower(c.message)
	for _, s := range []string{
		"prompt is too long", "maximum context length", "context length exceeded", "context window", "context size", "exceed context limit",
		"input token count", "too many input tokens",
	} {
		if strings.Contains(m, s) {
			return true
		}
	}
	return false
}

func (c complaint) text() string {
	var parts []string
	if c.status != 0 {
		parts = append(parts, strconv.Itoa(c.status))
	}
	if c.kind != "" {
		parts = append(parts, c.kind)
	}
	if c.message != "" {
		parts = append(parts, shorten(c.message, maxProviderNote))
	}
	if len(parts) == 0 {
		return "with an error it did not explain"
	}
	return strings.Join(parts, ": ")
}

// unanswered reports whether nobody was there to answer, or whoever was hung up.
func unanswered(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// broken is what became of asking when there is no complaint: no connection, a cut stream, a reply that cannot be read.
func broken(ctx context.Context, provider string, err error) *Failure {
	var timeout net.Error
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return &Failure{Signal: perdure.TimedOut, Note: provider + " gave no complete answer in time"}
	}
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	var at *url.Error
	switch {
	case errors.As(err, &syntax) || errors.As(err, &typ):
		return &Failure{Signal: perdure.Failed, Note: provider + " sent something that is not its protocol: " + shorten(err.Error(), maxProviderNote)}
	case errors.As(err, &at) && unanswered(err): // without the address, which may hold secrets
		return &Failure{Signal: perdure.Silent, Note: provider + " does not answer: " + shorten(at.Err.Error(), maxProviderNote)}
	case errors.As(err, &at):
		return &Failure{Signal: perdure.Failed, Note: provider + " cannot be reached: " + shorten(at.Err.Error(), maxProviderNote)}
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return cutOff(provider)
	}
	return &Failure{Signal: perdure.Failed, Note: provider + ": " + shorten(err.Error(), maxProviderNote)}
}

// cutOff is what became of a stream that ended before the reply did.
func cutOff(provider string) *Failure {
	return &Failure{Signal: perdure.Failed, Note: provider + " cut its answer off in the middle"}
}

// without takes a key out of what is told about a failure.
func (f *Failure) without(key string) *Failure {
	if key != "" {
		f.Note = strings.ReplaceAll(f.Note, key, "[key]")
	}
	return f
}

// shorten is s without its middle when it is longer than n bytes, cut between characters.
func shorten(s string, n int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n {
		return s
	}
	head, tail := n*2/3, len(s)-n/3
	for head > 0 && s[head]&0xC0 == 0x80 {
		head--
	}
	for tail < len(s) && s[tail]&0xC0 == 0x80 {
		tail++
	}
	return fmt.Sprintf("%s […%d bytes left out…] %s", s[:head], tail-head, s[tail:])
}

// argsJSON is the arguments of a call as the providers take them back: an object. What the model wrote amiss is in the result of the call.
func argsJSON(args string) string {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &m) != nil || m == nil {
		return "{}"
	}
	return args
}

// schemaJSON is the JSON Schema of a tool's arguments as every provider takes it: of an object, with its properties named.
func schemaJSON(schema perdure.Data) string {
	m, _ := schema.Value().(map[string]any)
	if _, ok := m["properties"].(map[string]any); ok && m["type"] == "object" {
		return string(schema.JSON())
	}
	whole := map[string]any{"properties": map[string]any{}}
	maps.Copy(whole, m)
	whole["type"] = "object"
	d, err := perdure.DataOf(whole)
	if err != nil { // it was data
		return `{"type":"object","properties":{}}`
	}
	return string(d.JSON())
}
