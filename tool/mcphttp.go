package tool

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// httpTransport is the way to a server at a URL.
func (m *MCP) httpTransport() mcp.Transport {
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if m.Client != nil {
		client = *m.Client
	}
	next := client.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	client.Transport = &mcpRequests{next: next, header: m.Header}
	return &mcp.StreamableClientTransport{Endpoint: m.URL, HTTPClient: &client, DisableStandaloneSSE: true,
		MaxEventSize: maxMessage}
}

// mcpRequests sends the requests to a server, with the header it wants, and turns refusals into errors that say what to
// make of them.
type mcpRequests struct {
	next   http.RoundTripper
	header http.Header
}

// refusal is an answer that says the request was not carried out, in the words of who gave it: that may be a gateway
// that cannot know.
type refusal struct {
	status int
	busy   bool // to be tried again
	after  time.Duration
}

func (r *refusal) Error() string {
	hint := ""
	if r.status == http.StatusUnauthorized || r.status == http.StatusForbidden {
		hint = "; does it want a token? name it under headers"
	}
	return fmt.Sprintf("the server answered %d %s%s", r.status, http.StatusText(r.status), hint)
}

// RoundTrip implements http.RoundTripper.
func (t *mcpRequests) RoundTrip(req *http.Request) (*http.Response, error) {
	if len(t.header) > 0 {
		req = req.Clone(req.Context())
		for name, values := range t.header {
			req.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if call, ok := req.Context().Value(sendingKey{}).(*sending); ok {
		call.sent.Store(true)
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	after, named := retryAfter(resp.Header.Get("Retry-After"), time.Now())
	r := &refusal{status: resp.StatusCode, after: after}
	switch {
	case resp.StatusCode == http.StatusTooManyRequests, resp.StatusCode == http.StatusServiceUnavailable && named:
		r.busy = true
	case resp.StatusCode == http.StatusUnauthorized, resp.StatusCode == http.StatusForbidden:
	default:
		resp.Body = &limitedBody{ReadCloser: resp.Body, event: resp.Header.Get("Content-Type") == "text/event-stream"}
		return resp, nil
	}
	_ = resp.Body.Close() // nothing of it is used
	return nil, r
}

// limitedBody refuses a body that is larger than any message; a stream of events is bounded event by event.
type limitedBody struct {
	io.ReadCloser
	event bool
	read  int
}

// Read implements io.Reader.
func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.read += n; b.read > maxMessage && !b.event {
		return 0, fmt.Errorf("the answer is larger than %d bytes", maxMessage)
	}
	return n, err
}
