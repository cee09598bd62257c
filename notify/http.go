package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/perdure/perdure/webhook"
)

// Sender sends one event. What it returns is a *Failure where that says more than that it did not work.
type Sender interface {
	Send(ctx context.Context, e *Event) error
}

// Failure is why an event was not taken.
type Failure struct {
	Err   error
	Final bool          // sending it again is of no use
	After time.Duration // when to try again at the earliest, if the other side said so
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

const (
	// sendTimeout is how long one try may take.
	sendTimeout = 30 * time.Second
	// maxAnswer is how much is read of an answer.
	maxAnswer = 16 << 10
	// maxAfter bounds how long another side can have us wait.
	maxAfter = time.Hour
)

// credentials are addresses outside of the local link at which machines in a cloud ask for their credentials.
var credentials = []netip.Addr{netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("100.100.100.200")}

// guarded is a dialer that connects to public addresses alone, or also to private ones. Where machines in a cloud ask
// for their credentials (169.254.169.254) nobody is notified either way.
func guarded(private bool) *net.Dialer {
	d := &net.Dialer{Timeout: 10 * time.Second, Control: ssrf.New(ssrf.WithAnyPort()).Safe}
	if private {
		d.Control = func(_, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return err
			}
			if a := to.Addr().Unmap(); a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() ||
				slices.Contains(credentials, a.WithZone("")) {
				return fmt.Errorf("%w: %s", ssrf.ErrProhibitedIP, a)
			}
			return nil
		}
	}
	return d
}

// HTTP posts events as CloudEvents, signed if there are keys.
type HTTP struct {
	URL     string
	Keys    []webhook.Key
	Private bool // addresses that are not public are allowed, and http
	Slack   bool // post a text instead, as Slack and those who took after it expect

	client *http.Client
}

// NewHTTP checks where to post.
func NewHTTP(h HTTP) (*HTTP, error) {
	u, err := url.Parse(h.URL)
	switch {
	case err != nil || u.Host == "":
		return nil, errors.New("url: want https://HOST/…") // never the URL itself, which may be a secret
	case u.Scheme != "https" && (u.Scheme != "http" || !h.Private):
		return nil, errors.New("url: want https; http only with allow-private, for loopback and your own network")
	case u.User != nil:
		return nil, errors.New("url: no user and password in it; sign with a secret")
	}
	for _, k := range h.Keys {
		if !k.Signs() {
			return nil, errors.New("secret: a public key signs nothing; want whsec_ or whsk_")
		}
	}
	h.client = &http.Client{
		Timeout:       sendTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                  nil, // it would connect on our behalf, where no guard looks
			DialContext:            guarded(h.Private).DialContext,
			ForceAttemptHTTP2:      true,
			MaxResponseHeaderBytes: 64 << 10,
			MaxIdleConnsPerHost:    1,
			IdleConnTimeout:        30 * time.Second,
			TLSHandshakeTimeout:    10 * time.Second,
		},
	}
	return &h, nil
}

// Close lets connections go.
func (h *HTTP) Close() error {
	h.client.CloseIdleConnections()
	return nil
}

// Send implements Sender.
func (h *HTTP) Send(ctx context.Context, e *Event) error {
	body, kind, err := h.body(e)
	if err != nil {
		return &Failure{Err: err, Final: true}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL, strings.NewReader(string(body)))
	if err != nil {
		return &Failure{Err: errors.New("the URL cannot be posted to"), Final: true}
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("User-Agent", "perdure")
	if len(h.Keys) > 0 {
		if err := webhook.Sign(req.Header, messageID(e.ID), time.Now(), body, h.Keys...); err != nil {
			return &Failure{Err: err, Final: true}
		}
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return h.unsent(err)
	}
	defer func() { _ = resp.Body.Close() }()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer)) // the status counts
	return answered(resp, said)
}

// messageID is the id of an event as a webhook carries it, which has no dots.
func messageID(id string) string { return strings.ReplaceAll(id, ".", "-") }

func (h *HTTP) body(e *Event) (body []byte, kind string, err error) {
	if h.Slack {
		body, err = json.Marshal(map[string]string{"text": slackText(e.Text())})
		return body, "application/json", err
	}
	body, err = json.Marshal(e)
	return body, "application/cloudevents+json; charset=utf-8", err
}

// slackText is text in which nothing is a mention, a link or a channel.
func slackText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(s)
}

// unsent is why nothing was answered, without the URL.
func (h *HTTP) unsent(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	if errors.Is(err, ssrf.ErrProhibitedIP) || errors.Is(err, ssrf.ErrProhibitedNetwork) ||
		errors.Is(err, ssrf.ErrProhibitedPort) {
		return &Failure{Err: fmt.Errorf("the host has an address that is not public: set allow-private for it, if it "+
			"is yours: %w", err), Final: true}
	}
	return err
}

// answered judges an answer: 408, 425, 429 and what went wrong on the other side are tried again, everything else but
// success is not.
func answered(resp *http.Response, said []byte) error {
	if resp.StatusCode/100 == 2 {
		return nil
	}
	text := clip(oneLine(string(said)), 200)
	if text != "" {
		text = ": " + text
	}
	f := &Failure{Err: fmt.Errorf("it answered %s%s", resp.Status, text),
		After: retryAfter(resp.Header, time.Now())}
	switch code := resp.StatusCode; {
	case code/100 == 3:
		f.Err, f.Final = fmt.Errorf("it answered %s: redirects are not followed; name the URL itself", resp.Status),
			true
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests,
		code/100 == 5:
	default:
		f.Final = true
	}
	return f
}

// retryAfter is how long the other side asks to be left alone.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil && n > 0 {
		return min(time.Duration(min(n, 1<<20))*time.Second, maxAfter)
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return min(at.Sub(now), maxAfter)
	}
	return 0
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
