// Package wire is what the providers of models have in common on the wire: how their SDKs reach them, what their errors
// mean, and the JSON they take.
package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/advisor"
	"github.com/perdure/perdure/advisor/internal/bound"

	"github.com/perdure/perdure"
)

// Provider is a provider of models.
type Provider struct {
	Name string // what people call it
	URL  string // of its own server
	Env  string // the environment variable of its key
}

// Party is whoever is asked: a provider, or another server that speaks its protocol.
type Party struct {
	who  string // for people, with its address
	kind string // how a node names its provider
	key  string // what the key is called; empty: none is sent, or nobody said
	at   advisor.Endpoint
	find advisor.KeyFunc // nil: none is sent
}

// At is the party at an endpoint. A key in the environment variable of a provider goes to nobody but the provider;
// another server gets none unless the endpoint says so.
func (p Provider) At(at advisor.Endpoint) Party {
	to := Party{who: p.Name + " at " + p.URL, kind: strings.ToLower(p.Name), key: at.KeyName, at: at, find: at.Key}
	if at.URL != "" {
		to.who = "the server at " + shownURL(at.URL)
	} else if at.Key == nil {
		to.find, to.key = advisor.KeyFromEnv(p.Env), p.Env
	}
	return to
}

// shownURL is an address without what may be secret in it.
func shownURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "an address that cannot be read"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// Key is the key to send.
func (p Party) Key() (string, error) {
	if p.find == nil {
		return "", nil
	}
	v, err := p.find()
	if err != nil {
		return "", perdure.Unable(fmt.Errorf("key for %s: %w", p.who, err))
	}
	if v == "" {
		return "", perdure.Unable(fmt.Errorf("key for %s: it is empty", p.who))
	}
	return v, nil
}

// Reach asks for a page of the party that costs nothing, with its key in a header. An error that wraps
// perdure.ErrDenied says that the key is refused; another, that nobody can tell.
func (p Party) Reach(ctx context.Context, page, header, prefix string, more http.Header) error {
	key, err := p.Key()
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return err
	}
	for name, values := range more {
		r.Header[name] = values
	}
	if key != "" {
		r.Header.Set(header, prefix+key)
	}
	client := p.at.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("%s does not answer: %w", p.who, err)
	}
	defer resp.Body.Close() //nolint:errcheck // only what it complains of is read
	said := []byte(nil)
	if resp.StatusCode == http.StatusBadRequest {
		said, _ = io.ReadAll(io.LimitReader(resp.Body, maxComplaint)) // what there is of it
	}
	switch s := resp.StatusCode; {
	case s == http.StatusUnauthorized || s == http.StatusForbidden || bytes.Contains(said, []byte(KeyInvalid)):
		return fmt.Errorf("%w: %s answered %d: %s", perdure.ErrDenied, p.who, s, p.keyRefused())
	case s >= http.StatusInternalServerError:
		return fmt.Errorf("%s answered %d", p.who, s)
	}
	return nil // a server that has no such page is there
}

// keyRefused says that the key is not accepted, and which one that is.
func (p Party) keyRefused() string {
	switch {
	case p.find == nil:
		return "it wants a key, and none is named for it here: put # and the name of one after its URL, as in " +
			p.kind + ":MODEL@URL#NAME"
	case p.key == "":
		return "it does not accept the key of this node"
	}
	return "it does not accept the key in " + p.key
}

const (
	// maxReplyBytes bounds the bytes of a reply on the wire.
	maxReplyBytes = 64 << 20
	// MaxParts bounds the calls of a reply, and the other blocks of one: no model calls as many tools at once.
	MaxParts = 1024
	// maxComplaint bounds what is read of an error where a page was asked for.
	maxComplaint = 64 << 10
	// maxNote bounds what is repeated of a provider's own error text.
	maxNote = 512
)

// ErrParts says that a reply has more than MaxParts.
var ErrParts = fmt.Errorf("the reply has more than %d parts", MaxParts)

// KeyInvalid is the reason in which Google says that a key is wrong: the status is 400.
const KeyInvalid = "API_KEY_INVALID"

// Exchange is what the HTTP exchange of one Ask shows beyond what an SDK hands on.
type Exchange struct {
	Status int
	Retry  time.Duration
	page   bool   // what came is a web page
	moved  string // the address that was named in the place of an answer
	body   *boundedBody
}

type exchangeKey struct{}

// Watched is ctx under which the transport of Client fills in the exchange.
func Watched(ctx context.Context) (context.Context, *Exchange) {
	x := new(Exchange)
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// observer is the transport of the providers' SDKs: it notes status and retry-after, and bounds the reply.
type observer struct{ next http.RoundTripper }

func (o observer) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := o.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body := &boundedBody{ReadCloser: resp.Body, left: maxReplyBytes}
	if x, ok := r.Context().Value(exchangeKey{}).(*Exchange); ok {
		x.Status, x.Retry = resp.StatusCode, waitOf(resp.Header, time.Now())
		x.page = strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html")
		if at, err := resp.Location(); err == nil && resp.StatusCode/100 == 3 {
			x.moved = shownURL(at.String())
		}
		x.body = body
	}
	resp.Body = body
	return resp, nil
}

// boundedBody is a body that fails when it is longer than anybody's reply.
type boundedBody struct {
	io.ReadCloser
	left int64
	over bool // there is more
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.over = true
		return 0, errTooLong
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	return n, err
}

var errTooLong = fmt.Errorf("the reply is longer than %d MiB", maxReplyBytes>>20)

// Client is the client an SDK uses. It follows no redirects: they would carry the key elsewhere.
func Client(c *http.Client) *http.Client {
	if c == nil {
		c = http.DefaultClient
	}
	next := c.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	return &http.Client{Transport: observer{next}, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
}

// waitOf reads retry-after, in seconds, as a date, or in the milliseconds some providers add.
func waitOf(h http.Header, now time.Time) time.Duration {
	var d time.Duration
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		d = bound.Seconds(ms / 1000)
	} else if s, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err == nil {
		d = bound.Seconds(s)
	} else if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), bound.MaxWait)
}

// Complaint is what a provider said was wrong.
type Complaint struct {
	Status  int    // as in HTTP; zero: none was given
	Kind    string // the provider's word for it
	Message string
	Retry   time.Duration

	KeyRefused bool // it says so elsewhere than in its status
}

// ComplaintOf reads the JSON all providers wrap errors in, {"error": {"type", "code", "status", "message"}}, or what is
// inside of it.
func ComplaintOf(raw []byte) Complaint {
	type inner struct {
		Type, Status, Message string
		Code                  any
	}
	var outer struct {
		Error *inner
		inner
	}
	if json.Unmarshal(raw, &outer) != nil {
		return Complaint{Message: string(raw)}
	}
	in := &outer.inner
	if outer.Error != nil {
		in = outer.Error
	}
	c := Complaint{Kind: strings.TrimSpace(in.Type + " " + in.Status), Message: in.Message}
	switch code := in.Code.(type) {
	case string:
		c.Kind = strings.TrimSpace(c.Kind + " " + code)
	case float64:
		c.Status = int(code)
	}
	return c
}

// Failure is the complaint as what became of asking.
func (c Complaint) Failure(of Party, x *Exchange) *advisor.Failure {
	if x.moved != "" {
		return x.amiss(of)
	}
	f := &advisor.Failure{Signal: perdure.Failed, RetryAfter: c.Retry,
		Note: fmt.Sprintf("%s answered %s", of.who, c.text())}
	switch c.statusOrKind() {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, overloaded:
		f.Signal = perdure.Throttled
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		f.Signal = perdure.TimedOut
	case http.StatusUnauthorized, http.StatusForbidden: // providers repeat parts of the key here
		// asking again with the same key leads nowhere, though another node may have another
		f.Signal, f.Note = perdure.Incapable, fmt.Sprintf("%s answered %d: %s", of.who, c.Status, of.keyRefused())
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		f.Signal = perdure.Incapable
		f.Note += "; is the address right, and the name of the model?"
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		f.Overflow = c.overflow()
	}
	return f
}

// overloaded is a status of one provider's own.
const overloaded = 529

// statusOrKind is the status, or the one that says the same as the kind when the error came inside a stream that had
// begun well.
func (c Complaint) statusOrKind() int {
	switch {
	case c.KeyRefused:
		return http.StatusUnauthorized
	case c.Status >= 400:
		return c.Status
	}
	for _, k := range []struct {
		word   string
		status int
	}{
		{"overloaded", overloaded}, {"rate_limit", http.StatusTooManyRequests},
		{"RESOURCE_EXHAUSTED", http.StatusTooManyRequests},
		{"UNAVAILABLE", http.StatusServiceUnavailable}, {"timeout", http.StatusGatewayTimeout},
		{"DEADLINE_EXCEEDED", http.StatusGatewayTimeout},
		{"authentication", http.StatusUnauthorized}, {"permission", http.StatusForbidden},
		{"context_length", http.StatusBadRequest},
		{"invalid_request", http.StatusBadRequest}, {"INVALID_ARGUMENT", http.StatusBadRequest},
	} {
		if strings.Contains(c.Kind, k.word) {
			return k.status
		}
	}
	return http.StatusInternalServerError
}

// overflow reports whether the prompt was too long for the model. Providers say so in words.
func (c Complaint) overflow() bool {
	if c.Status == http.StatusRequestEntityTooLarge || strings.Contains(c.Kind, "context_length_exceeded") ||
		strings.Contains(c.Kind, "request_too_large") {
		return true
	}
	m := strings.ToLower(c.Message)
	for _, s := range []string{
		"prompt is too long", "maximum context length", "context length exceeded", "context window", "context size",
		"exceed context limit",
		"input token count", "too many input tokens",
	} {
		if strings.Contains(m, s) {
			return true
		}
	}
	return false
}

func (c Complaint) text() string {
	var parts []string
	if c.Status != 0 {
		parts = append(parts, strconv.Itoa(c.Status))
	}
	if c.Kind != "" {
		parts = append(parts, c.Kind)
	}
	if c.Message != "" {
		parts = append(parts, bound.Text(c.Message, maxNote))
	}
	if len(parts) == 0 {
		return "with an error it did not explain"
	}
	return strings.Join(parts, ": ")
}

// Unanswered reports whether nobody was there to answer, or whoever was hung up.
func Unanswered(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// amiss is what came in the place of an answer; nil: nothing that is known. The same would come again, so nobody is to
// ask this party again soon.
func (x *Exchange) amiss(of Party) *advisor.Failure {
	f := &advisor.Failure{Signal: perdure.Incapable}
	switch {
	case x.moved != "":
		f.Note = of.who + " redirects to " + bound.Text(x.moved, maxNote) + ", where no key is sent: name that " +
			"address, if it is the right one"
	case x.page:
		f.Note = of.who + " sent a web page and no answer: is that the address of its protocol, such as " +
			"https://HOST/v1?"
	case x.body != nil && x.body.over:
		f.Note = of.who + ": " + errTooLong.Error() + ", and may have no end: is the model right?"
	default:
		return nil
	}
	return f
}

// Broken is what became of asking when there is no complaint: no connection, a cut stream, a reply that cannot be read.
func Broken(ctx context.Context, of Party, err error, x *Exchange) *advisor.Failure {
	if f := x.amiss(of); f != nil {
		return f
	}
	var timeout net.Error
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &timeout) && timeout.Timeout() {
		return &advisor.Failure{Signal: perdure.TimedOut, Note: of.who + " gave no complete answer in time"}
	}
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	var at *url.Error
	switch {
	case errors.As(err, &syntax) || errors.As(err, &typ):
		return &advisor.Failure{Signal: perdure.Failed, Note: of.who + " sent something that is not its protocol: " +
			bound.Text(err.Error(), maxNote)}
	case errors.As(err, &at) && Unanswered(err): // without the address, which may hold secrets
		return &advisor.Failure{Signal: perdure.Silent, Note: of.who + " does not answer: " +
			bound.Text(at.Err.Error(), maxNote)}
	case errors.As(err, &at):
		return &advisor.Failure{Signal: perdure.Failed, Note: of.who + " cannot be reached: " +
			bound.Text(at.Err.Error(), maxNote)}
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return CutOff(of, x)
	}
	return &advisor.Failure{Signal: perdure.Failed, Note: of.who + ": " + bound.Text(err.Error(), maxNote)}
}

// CutOff is what became of a stream that ended before the reply did.
func CutOff(of Party, x *Exchange) *advisor.Failure {
	if f := x.amiss(of); f != nil {
		return f
	}
	if x.body != nil && x.body.left == maxReplyBytes {
		return &advisor.Failure{Signal: perdure.Failed, Note: of.who + " sent an empty answer"}
	}
	return &advisor.Failure{Signal: perdure.Failed, Note: of.who + " cut its answer off in the middle"}
}

// Hide takes a key out of what is told about a failure.
func Hide(key string, f *advisor.Failure) *advisor.Failure {
	if key != "" {
		f.Note = strings.ReplaceAll(f.Note, key, "[key]")
	}
	return f
}

// ArgsJSON is the arguments of a call as the providers take them back: an object. What the model wrote amiss is in the
// result of the call.
func ArgsJSON(args string) string {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &m) != nil || m == nil {
		return "{}"
	}
	return args
}

// SchemaJSON is the JSON Schema of a tool's arguments as every provider takes it: of an object, with its properties
// named.
func SchemaJSON(schema perdure.Data) string {
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
