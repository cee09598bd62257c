package server

import (
	"context"
	"net/http"
	"runtime"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// places are for requests that read whole memories: a few are under way at a time, however many come, so that they
// never take more memory than a few take.
type places chan struct{}

func newPlaces() places { return make(places, max(4, runtime.GOMAXPROCS(0))) }

// take takes a place, which free gives back, once.
func (p places) take(ctx context.Context) (free func(), err error) {
	select {
	case p <- struct{}{}:
		return sync.OnceFunc(func() { <-p }), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// costly marks an operation whose answer is made of a whole memory, and can be many times as large as that: it waits
// for a place once its request was read. The place is held while the answer is made, not while it is sent: who sends
// nothing of theirs, or takes nothing, keeps nobody from reading.
func (s *Server) costly(op huma.Operation) huma.Operation {
	op.Middlewares = append(huma.Middlewares{func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		p := &placed{ResponseWriter: w, places: s.places, free: func() {}}
		defer func() { p.free() }()
		r = r.WithContext(context.WithValue(ctx.Context(), placeKey{}, p))
		next(humago.NewContext(ctx.Operation(), r, p))
	}}, op.Middlewares...)
	return op
}

type placeKey struct{}

// takePlace takes the place that an operation needs, if it needs one.
func takePlace(ctx context.Context) error {
	if p, ok := ctx.Value(placeKey{}).(*placed); ok {
		free, err := p.places.take(ctx)
		if err != nil {
			return err
		}
		p.free = free
	}
	return nil
}

// placed gives a place back when the answer has been made: it is written at once.
type placed struct {
	http.ResponseWriter
	places places
	free   func()
}

func (p *placed) Write(b []byte) (int, error) {
	p.free()
	return p.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (p *placed) Unwrap() http.ResponseWriter { return p.ResponseWriter }
