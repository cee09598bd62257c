package server

import (
	"net/http"
	"runtime"
	"strings"
)

// reads are the endpoints whose answer is made of a memory, and can be many times as large as that.
var reads = []string{"/entries", "/transcript", "/state", "/diff", "/page"}

// bounding has requests for whole memories wait for each other: a few are under way at a time, however many come, so
// that they never take more memory than a few take.
func (s *Server) bounding(next http.Handler) http.Handler {
	places := make(chan struct{}, max(4, runtime.GOMAXPROCS(0)))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && readsMemory(r.URL.Path) {
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
			case <-r.Context().Done():
				s.fail(w, r, r.Context().Err())
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

func readsMemory(path string) bool {
	for _, end := range reads {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}
