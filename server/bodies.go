package server

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/sync/semaphore"

	"github.com/perdure/perdure/home"
)

const (
	// maxBodies bounds the bodies that are being read and acted on, together. Decoded, a body may take fifty times its
	// bytes.
	maxBodies = 16 << 20
	// maxOfOne bounds those of one visitor.
	maxOfOne = 4 << 20
	// smallBody is a body that is not counted: nobody may ask often enough for those to add up.
	smallBody = 4 << 10
)

// bodies is the room for what requests send. The zero value is not ready.
type bodies struct {
	all *semaphore.Weighted
	mu  sync.Mutex
	of  map[string]*share
}

// share is the room of one visitor, while they have requests.
type share struct {
	*semaphore.Weighted
	requests int
}

func newBodies() *bodies {
	return &bodies{all: semaphore.NewWeighted(maxBodies), of: map[string]*share{}}
}

// take takes room for n bytes of a visitor's, which free gives back. It waits for it: first for their own requests, so
// that whoever sends much keeps the others from nothing.
func (b *bodies) take(ctx context.Context, who string, n int64) (free func(), err error) {
	n = min(n, maxOfOne)
	b.mu.Lock()
	s := b.of[who]
	if s == nil {
		s = &share{Weighted: semaphore.NewWeighted(maxOfOne)}
		b.of[who] = s
	}
	s.requests++
	b.mu.Unlock()
	leave := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if s.requests--; s.requests == 0 {
			delete(b.of, who)
		}
	}
	if err := s.Acquire(ctx, n); err != nil {
		leave()
		return nil, err
	}
	if err := b.all.Acquire(ctx, n); err != nil {
		s.Release(n)
		leave()
		return nil, err
	}
	return func() {
		b.all.Release(n)
		s.Release(n)
		leave()
	}, nil
}

var errTooMuch = &home.Error{
	Kind: home.KindTooMany,
	Err:  errors.New("too much is being sent at once; wait a second, and send large requests one after the other"),
}

// room takes the room for what a request sends.
func (s *Server) room(r *http.Request, in *bodies, who string) (free func(), err error) {
	n := r.ContentLength
	if most := s.Limits.Body; n < 0 || n > most { // it is not said; what is longer is not read
		n = most
	}
	if n <= smallBody {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), s.Limits.ReadStall)
	defer cancel()
	if free, err = in.take(ctx, who, n); err != nil {
		err = errTooMuch
	}
	return free, err
}

// hasBody reports whether the library reads a body for an operation.
func hasBody[I any]() bool {
	_, has := reflect.TypeFor[I]().FieldByName("Body")
	return has
}

// roomy lets an operation have its body once there is room for it.
func (s *Server) roomy(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	free, err := s.room(r, s.bodies, visitorOf(ctx.Context()).ID())
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	defer free()
	next(ctx)
}
