package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure/advisor/internal/action"
	"github.com/perdure/perdure/advisor/internal/bound"
	"github.com/perdure/perdure/advisor/internal/wire"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/trace"
)

// Advisor is an advisor elsewhere, in any language: it is posted a view of the agent and answers with what to do next.
// The package documentation has the schemas. It is not sent redirects after, and is asked once each time.
type Advisor struct {
	URL           string
	Header        http.Header   // sent with every request, such as Authorization
	Client        *http.Client  // nil: one that connects directly
	Timeout       time.Duration // zero: DefaultTimeout
	Recent        int           // outcomes shown; zero: DefaultRecent
	Shown         int           // bytes of JSON shown of one result; zero: DefaultShown
	ResponseLimit int64         // bytes read of the answer; zero: DefaultResponse
	Store         perdure.Store // where outcomes are read that the agent no longer holds; nil: they are not shown
}

var _ perdure.Advisor = (*Advisor)(nil)

// direct connects without a proxy and keeps no connection: on one that was used before, the library could send a
// request twice.
var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10}}

// Advise implements perdure.Advisor.
func (h *Advisor) Advise(ctx context.Context, a *perdure.Agent) (perdure.Advice, error) {
	body, err := h.view(ctx, a, time.Now())
	if err != nil {
		return perdure.Advice{}, err
	}
	limited, cancel := context.WithTimeout(ctx, orDefault(h.Timeout, DefaultTimeout))
	defer cancel()
	resp, err := h.post(limited, body)
	if err == nil {
		defer func() { _ = resp.Body.Close() }()
		var advice perdure.Advice
		if advice, err = h.advice(resp); err == nil {
			action.Since(a.Fold(), advice.Actions)
			action.EndTurn(a.Fold(), &advice)
			return advice, nil
		}
	}
	if ctx.Err() == nil && limited.Err() != nil {
		return perdure.Advice{Signal: perdure.TimedOut, Text: "no advice within " +
			orDefault(h.Timeout, DefaultTimeout).String()}, nil
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // without the URL, which may hold a password
		if ctx.Err() == nil && wire.Unanswered(err) {
			return perdure.Advice{Signal: perdure.Silent, Text: "the remote advisor does not answer: " +
				clip([]byte(err.Error()))}, nil
		}
	}
	return perdure.Advice{}, fmt.Errorf("remote advisor: %w", err)
}

func (h *Advisor) post(ctx context.Context, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range h.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if trace := trace.Parent(ctx); trace != "" {
		req.Header.Set("Traceparent", trace)
	}
	client := *direct
	if h.Client != nil {
		client = *h.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client.Do(req)
}

// advice reads the answer.
func (h *Advisor) advice(resp *http.Response) (perdure.Advice, error) {
	limit := orDefault(h.ResponseLimit, DefaultResponse)
	body, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch {
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable:
		return perdure.Advice{
			Signal: perdure.Throttled, RetryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now()).
				Milliseconds(),
			Text: "the remote advisor answered " + strconv.Itoa(resp.StatusCode),
		}, nil
	case err != nil:
		return perdure.Advice{}, err
	case resp.StatusCode != http.StatusOK:
		return perdure.Advice{}, fmt.Errorf("it answered %d: %s", resp.StatusCode, clip(body))
	case int64(len(body)) > limit:
		return perdure.Advice{}, fmt.Errorf("its advice is longer than %d bytes", limit)
	}
	if t, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return perdure.Advice{}, fmt.Errorf("its answer is of type %q, want application/json",
			resp.Header.Get("Content-Type"))
	}
	return Decode(body)
}

// Decode reads an advice as a remote advisor writes it. It is strict: what the schema does not have is refused, with
// the path to it.
func Decode(b []byte) (perdure.Advice, error) {
	data, err := perdure.DataFromJSON(b)
	if err != nil {
		return perdure.Advice{}, fmt.Errorf("advice: %w", err)
	}
	top, err := action.FromData(data.Value(), "$", 0)
	if err != nil {
		return perdure.Advice{}, fmt.Errorf("advice: %w", err)
	}
	asIs := func(s string, _ action.Item) (any, error) { return s, nil }
	var failed error
	o := top.Object(asIs, &failed)
	advice := perdure.Advice{Text: o.Str("text"), Model: o.Str("model"), Summary: o.Str("summary")}
	advice.Actions = action.List(o, "actions", func(i action.Item) perdure.Action {
		in := i.Object(asIs, &failed)
		defer in.Done()
		return in.Action()
	})
	advice.Basis = o.Basis()
	if i, ok := o.Get("usage"); ok {
		in := i.Object(asIs, &failed)
		advice.Usage = &perdure.Usage{In: in.Count("in"), Out: in.Count("out"), Cached: in.Count("cached"),
			Cost: in.Count("cost")}
		in.Done()
	}
	o.Done()
	if failed != nil {
		return perdure.Advice{}, fmt.Errorf("advice: %w", failed)
	}
	return advice, nil
}

// clip is the beginning of a text for a message.
func clip(b []byte) string {
	cut := len(b) > maxNote
	s := strings.ToValidUTF8(string(b[:min(len(b), maxNote)]), "")
	if cut {
		s += "…"
	}
	return strconv.Quote(s)
}

// retryAfter reads a Retry-After header: seconds, or a date. Zero: it names no time.
func retryAfter(header string, now time.Time) time.Duration {
	if s, err := strconv.ParseInt(strings.TrimSpace(header), 10, 64); err == nil {
		return time.Duration(min(max(s, 0), int64(bound.MaxWait/time.Second))) * time.Second
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), bound.MaxWait)
}

func orDefault[T int | int64 | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

// shown is data as JSON, unless it is longer than the limit.
func (h *Advisor) shown(d perdure.Data) (text json.RawMessage, cut bool) {
	if len(d) == 0 {
		return nil, false
	}
	if text = d.JSON(); len(text) <= orDefault(h.Shown, DefaultShown) {
		return text, false
	}
	end := orDefault(h.Shown, DefaultShown)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	quoted, err := json.Marshal(string(text[:end]))
	if err != nil {
		return nil, true
	}
	return quoted, true
}
