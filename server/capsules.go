package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/capsule"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
)

// capsuleType is the media type of a capsule.
const capsuleType = "application/vnd.perdure.agent"

// capsules adds agents as files.
func (s *Server) capsules() {
	export := get("/v1/agents/{agent}/export", "export-agent", "capsules", "Write an agent as a capsule")
	export.Responses = map[string]*huma.Response{
		"200": {Description: "A capsule, as it is written.", Content: map[string]*huma.MediaType{
			capsuleType: {Schema: &huma.Schema{Type: "string", Format: "binary"}}}},
	}
	operation(s, export, home.VerbExport, s.export)
	take := post("/v1/import", "import-agent", "capsules", "Take an agent in from a capsule")
	take.Description = "The bytes are validated as they arrive: those that a predicate refuses are answered with " +
		"422 and the rejection. Nothing is stored before all of it is good."
	take.Errors = []int{http.StatusConflict, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}
	take.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		capsuleType: {
			Schema: &huma.Schema{Type: "string", Format: "binary"},
		}, "application/octet-stream": {Schema: &huma.Schema{Type: "string", Format: "binary"}}}}
	take.Middlewares = huma.Middlewares{withRequest}
	operation(s, take, home.VerbImport, s.takeIn)
}

type requestKey struct{}

// withRequest gives an operation the request, whose body it reads itself.
func withRequest(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	next(huma.WithValue(ctx, requestKey{}, raw{r, w}))
}

// raw is a request as it came, and where its answer goes.
type raw struct {
	r *http.Request
	w http.ResponseWriter
}

// refuse has no more of the request be read, and ends its connection with the answer: one whose reading was broken off
// cancels every request that follows on it.
func (x raw) refuse() {
	x.w.Header().Set("Connection", "close")
	_ = http.NewResponseController(x.w).SetReadDeadline(time.Now()) // who has gone sends nothing more
}

func (s *Server) export(ctx context.Context, v *home.Visitor, in *struct {
	Named
	Form  string `query:"form" enum:"binary,described,text" default:"binary"`
	Depth string `query:"depth" maxLength:"20" doc:"how much of the past: full, headers, or a number of entries; default all there is"`
}) (*huma.StreamResponse, error) {
	id, err := s.Desk.Find(ctx, v, in.Agent)
	if err != nil {
		return nil, err
	}
	x := home.Export{Held: in.Depth == ""}
	if x.Form, err = capsule.ParseForm(in.Form); err != nil {
		return nil, perdure.Invalid(err)
	}
	if in.Depth != "" {
		if err := x.Depth.UnmarshalText([]byte(in.Depth)); err != nil {
			return nil, perdure.Invalid(fmt.Errorf("depth: %w", err))
		}
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		out := &begun{w: w, kind: capsuleType, file: id.Short() + capsule.Ext, c: http.NewResponseController(w),
			stall: s.Limits.WriteStall}
		x.Out = out
		_, err := s.Desk.Home.Export(r.Context(), s.Desk.Store, id, x)
		switch {
		case err == nil:
		case out.n == 0:
			s.fail(w, r, err)
		default: // a capsule without an end is none
			s.Log.Warn("export", "agent", id.Short(), "err", err)
			panic(http.ErrAbortHandler)
		}
	}}, nil
}

// begun writes headers before the first byte.
type begun struct {
	w    http.ResponseWriter
	kind string // the media type
	file string // what it is called where it is kept; empty: it is not
	n    int64

	c     *http.ResponseController
	stall time.Duration
}

func (b *begun) Write(p []byte) (int, error) {
	if b.n == 0 {
		h := b.w.Header()
		h.Set("Content-Type", b.kind)
		if b.file != "" {
			h.Set("Content-Disposition", `attachment; filename="`+b.file+`"`)
		}
	}
	if err := b.c.SetWriteDeadline(time.Now().Add(b.stall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	n, err := b.w.Write(p)
	b.n += int64(n)
	return n, err
}

// takeIn takes a capsule in.
func (s *Server) takeIn(ctx context.Context, v *home.Visitor, in *struct {
	Older bool `query:"older" doc:"an older copy than the one here is no error"`
}) (*reply[client.Arrived], error) {
	x, ok := ctx.Value(requestKey{}).(raw)
	if !ok {
		return nil, errors.New("import: the request is not there")
	}
	defer s.answering(x.w)
	body := http.MaxBytesReader(x.w, x.r.Body, s.Limits.Capsule)
	f, err := os.CreateTemp("", "perdure-import-*")
	if err != nil {
		return nil, err
	}
	defer func() { _ = errors.Join(f.Close(), os.Remove(f.Name())) }() // it was only for this request
	patient := s.patiently(x.w, body)
	head, err := arriving(io.TeeReader(patient, f))
	if err != nil {
		return nil, err
	}
	r, err := s.Desk.Import(ctx, v, f, head, in.Older)
	if err != nil {
		return nil, err
	}
	line, more := r.Text()
	return replied[client.Arrived](struct {
		*home.Arrived
		Text []string `json:"text"`
	}{r, append([]string{line}, more...)}, nil)
}

// arriving validates a capsule as its bytes arrive, whose they are aside, and reads to its end.
func arriving(r io.Reader) (*capsule.Head, error) {
	c, err := capsule.NewReader(r, capsule.ReadOptions{})
	if err != nil {
		return nil, err
	}
	for _, err := range c.Entries() {
		if err != nil {
			return nil, err
		}
	}
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, err
	}
	head := c.Head()
	return &head, nil
}

// stalling gives up on a sender that sends nothing for long, however long all of it takes.
type stalling struct {
	r    io.Reader
	c    *http.ResponseController
	wait time.Duration
	done chan struct{} // closed when the transfer is over

	mu      sync.Mutex
	since   time.Time // since when a read waits for the sender; zero: none does
	ended   bool
	givenUp bool // another transfer takes its place
}

// patiently reads a body that may take as long as it does.
func (s *Server) patiently(w http.ResponseWriter, body io.Reader) *stalling {
	return &stalling{r: body, c: http.NewResponseController(w), wait: s.Limits.ReadStall}
}

// begin reports whether a body is at its end; else it may be read from now on.
func (s *stalling) begin() (ended bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return true, nil
	}
	if s.givenUp {
		return false, errGivenUp
	}
	s.since = time.Now()
	return false, s.until(s.since.Add(s.wait))
}

func (s *stalling) Read(p []byte) (int, error) {
	if ended, err := s.begin(); err != nil {
		return 0, err
	} else if ended {
		return 0, io.EOF
	}
	n, err := s.r.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Time{}
	switch {
	case errors.Is(err, io.EOF): // the connection is watched from here on, and a deadline would cancel the request
		s.ended = true
		err = cmp.Or(s.until(time.Time{}), err)
	case errors.Is(err, os.ErrDeadlineExceeded) && s.givenUp:
		err = errGivenUp
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = &home.Error{Kind: home.KindUnavailable, Err: errors.New("nothing more of the capsule came for too long")}
	}
	return n, err
}

// until moves the deadline; where there are none, there is nothing to move.
func (s *stalling) until(t time.Time) error {
	if err := s.c.SetReadDeadline(t); !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}
