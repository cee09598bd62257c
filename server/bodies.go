package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/sync/semaphore"

	"github.com/perdure/perdure/home"
)

const (
	// maxBodies bounds the bodies that are being read and acted on, together. Decoded, a body may take fifty times its
	// bytes.
	maxBodies = 16 << 20
	// maxStrange is the same for strangers, whose bodies are not decoded before it is known who signed them.
	maxStrange = 64 << 20
	// maxOfOne bounds those of one visitor.
	maxOfOne = 4 << 20
	// ownRoom is what each visitor has besides, whatever all others send.
	ownRoom = 64 << 10
	// smallBody is a body that is not counted: nobody may ask often enough for those to add up.
	smallBody = 4 << 10
	// chunk is how much of a body is read at a time that is counted as it arrives.
	chunk = 32 << 10
)

// bodies is the room for what requests send.
type bodies struct {
	all *semaphore.Weighted
	mu  sync.Mutex
	of  map[string]*share
}

// share is the room of one visitor, while they have requests.
type share struct {
	own, most *semaphore.Weighted
	requests  int
}

func newBodies(most int64) *bodies {
	return &bodies{all: semaphore.NewWeighted(most), of: map[string]*share{}}
}

// hold is the room that one request has.
type hold struct {
	b       *bodies
	who     string
	share   *share
	own, of int64
	waited  bool
}

// begin begins a request of a visitor, which has no room yet. It must be freed in the end.
func (b *bodies) begin(who string) *hold {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.of[who]
	if s == nil {
		s = &share{own: semaphore.NewWeighted(ownRoom), most: semaphore.NewWeighted(maxOfOne)}
		b.of[who] = s
	}
	s.requests++
	return &hold{b: b, who: who, share: s}
}

// more waits for room for n more bytes: first for other requests of the same visitor, so that whoever sends much keeps
// the others from nothing.
func (h *hold) more(ctx context.Context, n int64) error {
	if n = min(n, maxOfOne); h.share.own.TryAcquire(n) {
		h.own += n
		return nil
	}
	if err := h.acquire(ctx, h.share.most, n); err != nil {
		return err
	}
	if err := h.acquire(ctx, h.b.all, n); err != nil {
		h.share.most.Release(n)
		return err
	}
	h.of += n
	return nil
}

// acquire takes room, and notes whether it waited for it. Who waited too long is told so; else the server stops, or
// nobody is there any more to be told.
func (h *hold) acquire(ctx context.Context, of *semaphore.Weighted, n int64) error {
	if of.TryAcquire(n) {
		return nil
	}
	h.waited = true
	err := of.Acquire(ctx, n)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return errTooMuch
	}
	return errWaitEnded
}

// free gives back what the request has.
func (h *hold) free() {
	h.share.own.Release(h.own)
	h.share.most.Release(h.of)
	h.b.all.Release(h.of)
	h.b.mu.Lock()
	defer h.b.mu.Unlock()
	if h.share.requests--; h.share.requests == 0 {
		delete(h.b.of, h.who)
	}
}

var errTooMuch = &home.Error{
	Kind: home.KindTooMany,
	Err:  errors.New("too much is being sent at once; wait a second, and send large requests one after the other"),
}

var errWaitEnded = &home.Error{
	Kind: home.KindUnavailable,
	Err:  errors.New("the server stopped, or the connection ended, while this request waited; send it again"),
}

var errChanged = &home.Error{
	Kind: home.KindTooMany,
	Err:  errors.New("your rights changed while this request waited; send it again"),
}

// room waits for the room for what a visitor's request sends, as it says, or as it begins. Nil: it needs none.
func (s *Server) room(w http.ResponseWriter, r *http.Request, v *home.Visitor) (free func(), err error) {
	n := r.ContentLength
	if n < 0 {
		c := http.NewResponseController(w)
		_ = c.SetReadDeadline(time.Now().Add(s.Limits.ReadStall)) // where there are none, there is nothing to move
		var begin bytes.Buffer
		n, err = io.CopyN(&begin, r.Body, smallBody+1)
		_ = c.SetReadDeadline(time.Time{}) // as above
		r.Body = joined{io.MultiReader(&begin, failing{err}, r.Body), r.Body}
		if n > smallBody {
			n = s.Limits.Body
		}
	}
	if n <= smallBody {
		return nil, nil //nolint:nilnil // see above
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.Limits.ReadStall)
	defer cancel()
	defer context.AfterFunc(s.live.ctx, cancel)() // a server that stops lets nobody wait
	h := s.bodies.begin(v.ID())
	if err = h.more(ctx, min(n, s.Limits.Body)); err == nil && h.waited { // what is longer is not read
		err = s.same(r, v)
	}
	if err != nil {
		h.free()
		return nil, err
	}
	return sync.OnceFunc(h.free), nil
}

// same refuses who waited and is nobody here any more, or somebody who may do less: what was found out about them
// before the wait is used after it.
func (s *Server) same(r *http.Request, before *home.Visitor) error {
	if v, err := s.who(r); err != nil || reflect.DeepEqual(v, before) {
		return err
	}
	return errChanged
}

// joined is a body of which some was read before.
type joined struct {
	io.Reader
	io.Closer
}

// failing is the end of what was read before; nil: it goes on.
type failing struct{ error }

func (f failing) Read([]byte) (int, error) {
	if f.error != nil {
		return 0, f.error
	}
	return 0, io.EOF
}

// metered is the body of a stranger: what they say that they will send takes no room, but what arrives does.
type metered struct {
	io.ReadCloser
	ctx context.Context
	*hold
}

func (m metered) Read(p []byte) (int, error) {
	n, err := m.ReadCloser.Read(p[:min(len(p), chunk)])
	if n > 0 {
		if full := m.more(m.ctx, int64(n)); full != nil {
			return 0, full
		}
	}
	return n, err
}

// hasBody reports whether the library reads a body for an operation.
func hasBody[I any]() bool {
	_, has := reflect.TypeFor[I]().FieldByName("Body")
	return has
}

// roomy lets an operation have its body once there is room for it, until it is answered.
func (s *Server) roomy(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	free, err := s.room(w, r, visitorOf(ctx.Context()))
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	if free == nil {
		next(ctx)
		return
	}
	defer free()
	p := &placed{ResponseWriter: w, free: free}
	next(humago.NewContext(ctx.Operation(), r.WithContext(ctx.Context()), p))
}
