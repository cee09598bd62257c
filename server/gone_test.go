package server_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/perdure/perdure/home"
)

// left is a connection whose other end has gone.
type left struct {
	*httptest.ResponseRecorder
	codes []int
}

func (l *left) WriteHeader(code int)      { l.codes = append(l.codes, code) }
func (l *left) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// Whoever has gone when the answer comes is answered with one status, and nothing panics.
func TestWhoHasGoneNeedsNoAnswer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.token("", home.VerbRead)
	for _, path := range []string{"/v1/agents", "/v1/agents/none", "/v1/whoami"} {
		for _, canceled := range []bool{true, false} {
			ctx, cancel := context.WithCancel(t.Context())
			r := httptest.NewRequest(http.MethodGet, w.url+path, nil).WithContext(ctx)
			r.Header.Set("Authorization", "Bearer "+token)
			to := &left{ResponseRecorder: httptest.NewRecorder()}
			if canceled {
				cancel()
			}
			w.http.Config.Handler.ServeHTTP(to, r)
			if len(to.codes) != 1 {
				t.Errorf("%s, canceled %t: statuses %v, want one", path, canceled, to.codes)
			}
			cancel()
		}
	}
}
