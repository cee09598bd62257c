// Package wiretest holds servers that speak the protocols of model providers, for tests and measurements: the streams,
// the fragments, the errors, and the rules a provider refuses a request for.
package wiretest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
)

// Key is the key the servers want.
const Key = "sk-test-0123456789abcdef"

// Turn is one answer of a server.
type Turn struct {
	Text    []string // in pieces
	Calls   []Call
	Think   string // a thought with a signature that must come back
	Length  bool   // it stops at the limit of its output
	Refusal string // it declines

	In, Out, Cached, Written int64 // tokens; In is the whole prompt

	Status    int               // answer with an error instead
	Header    map[string]string // of the error
	Kind      string            // the provider's word for the error
	Message   string
	Cut       bool // end the connection after the first pieces
	Short     bool // end the reply after the first pieces, as if it were whole
	Malformed bool // send a piece that is no JSON
	Midway    bool // send the error inside the stream
	Hang      bool // say nothing until the client goes away

	Hold <-chan struct{} // after the first piece, go on when this is closed
}

// Call is a call of a tool, its arguments in pieces.
type Call struct {
	ID, Name string
	Args     []string
}

// Overflow is the error of a prompt that is too long, in the words of each provider.
const Overflow = "overflow"

// wrongKey is the word for an error about the key.
const wrongKey = "authentication_error"

// Server is a provider on a port of this machine.
type Server struct {
	URL string
	Say func(n int, body map[string]any) Turn // the answer to the n-th request

	// Forget is set, before use, where there are too many requests to keep.
	Forget bool

	http *http.Server
	mu   sync.Mutex
	n    int
	in   []map[string]any
	bad  []error
}

// Requests are the bodies of the requests so far.
func (s *Server) Requests() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]map[string]any(nil), s.in...)
}

// Close ends the server and says which requests a provider would have refused.
func (s *Server) Close() error {
	err := s.http.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(append(s.bad, err)...)
}

// Turns answers with one turn after another, the last again and again.
func Turns(turns ...Turn) func(int, map[string]any) Turn {
	return func(n int, _ map[string]any) Turn { return turns[min(n, len(turns)-1)] }
}

// protocol is what is different from provider to provider.
type protocol struct {
	authorized func(r *http.Request) bool
	check      func(body map[string]any) error // a request the provider would refuse
	fail       func(t *Turn) []byte            // the body of an error
	stream     func(w *writer, t *Turn)
	wrongKey   int // the status of an error about the key
}

// serve starts a server.
func serve(p protocol, say func(int, map[string]any) Turn) (*Server, error) {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + at.Addr().String(), Say: say}
	s.http = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.handle(p, w, r) })}
	go func() { _ = s.http.Serve(at) }() // until Close
	return s, nil
}

func (s *Server) handle(p protocol, w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet { // which models there are: nobody is asked anything
		if !p.authorized(r) {
			refuse(w, p, &Turn{Status: p.wrongKey, Kind: wrongKey, Message: "wrong key " + Key})
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":[],"models":[]}`) // whoever does not read it has gone
		return
	}
	raw, err := io.ReadAll(r.Body)
	var body map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &body)
	}
	if err == nil {
		err = p.check(body)
	}
	s.mu.Lock()
	n := s.n
	s.n++
	if !s.Forget {
		s.in = append(s.in, body)
	}
	if err != nil {
		s.bad = append(s.bad, fmt.Errorf("request %d: a provider would refuse it: %w\n%s", n, err, raw))
	}
	s.mu.Unlock()
	if !p.authorized(r) {
		refuse(w, p, &Turn{Status: p.wrongKey, Kind: wrongKey, Message: "wrong key " + Key})
		return
	}
	if err != nil {
		refuse(w, p, &Turn{Status: 400, Kind: "invalid_request_error", Message: err.Error()})
		return
	}
	turn := s.Say(n, body)
	switch {
	case turn.Hang:
		<-r.Context().Done()
		return
	case turn.Status != 0 && !turn.Midway:
		refuse(w, p, &turn)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := &writer{w: w, cut: turn.Cut || turn.Short, hold: turn.Hold, gone: r.Context().Done()}
	defer func() {
		if v := recover(); v != nil && v != errCut {
			panic(v)
		} else if v == errCut && turn.Cut {
			panic(http.ErrAbortHandler) // ends the connection without the end of the body
		}
	}()
	p.stream(out, &turn)
}

func refuse(w http.ResponseWriter, p protocol, t *Turn) {
	for k, v := range t.Header {
		w.Header().Set(k, v)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(t.Status)
	w.Write(p.fail(t)) //nolint:errcheck // the client may be gone
}

// writer writes events, each flushed.
type writer struct {
	w    http.ResponseWriter
	cut  bool
	hold <-chan struct{}
	gone <-chan struct{} // the client
}

var errCut = fmt.Errorf("cut")

// event writes an event. Where a stream is to be cut, it is after the first pieces of content.
func (w *writer) event(name string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.raw(name, string(b))
}

func (w *writer) raw(name, data string) {
	if name != "" {
		fmt.Fprintf(w.w, "event: %s\n", name) //nolint:errcheck // the client may be gone
	}
	fmt.Fprintf(w.w, "data: %s\n\n", data)  //nolint:errcheck // the client may be gone
	http.NewResponseController(w.w).Flush() //nolint:errcheck // the client may be gone
}

// piece is called after each piece of content.
func (w *writer) piece() {
	if w.cut {
		panic(errCut)
	}
	if w.hold != nil {
		select {
		case <-w.hold:
		case <-w.gone:
		}
		w.hold = nil
	}
}

// list and object read a request.
func list(v any) []any {
	l, _ := v.([]any)
	return l
}

func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

type m = map[string]any
