package server

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"sync"
)

// costly are the ends of paths whose answer is made of a whole memory, and can be many times as large as that, by
// method.
var costly = map[string][]string{
	http.MethodGet:  {"/entries", "/transcript", "/state", "/diff", "/page"},
	http.MethodPost: {"/verify", "/explain"},
}

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

// bounding has requests for whole memories wait for a place. It is held while the answer is made, not while it is sent:
// who takes nothing of theirs keeps nobody from reading.
func (s *Server) bounding(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !readsMemory(r) {
			next.ServeHTTP(w, r)
			return
		}
		free, err := s.places.take(r.Context())
		if err != nil {
			s.fail(w, r, err)
			return
		}
		defer free()
		next.ServeHTTP(&placed{w, free}, r)
	})
}

// placed gives a place back when the answer has been made: it is written at once.
type placed struct {
	http.ResponseWriter
	free func()
}

func (p *placed) Write(b []byte) (int, error) {
	p.free()
	return p.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (p *placed) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func readsMemory(r *http.Request) bool {
	for _, end := range costly[r.Method] {
		if strings.HasSuffix(r.URL.Path, end) {
			return true
		}
	}
	return false
}
