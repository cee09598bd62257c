package server

import (
	"io"
	"net/http"
	"time"
)

const (
	// linger is how long the rest of a request that nobody wants may still arrive: a connection that ends with bytes in
	// it is reset, and its answer is lost.
	linger = time.Second
	// hookTimeout is how long a body may take that somebody says a hook has signed: only all of it tells.
	hookTimeout = 10 * time.Second
)

// brief has a request answered without waiting for its body, and ends its connection: strangers hold none.
func brief(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Connection", "close")
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(linger)) // where there are none, nobody waits
	}
}

// hasten gives the body of a request little time. What is made of it then may take longer.
func hasten(w http.ResponseWriter, r *http.Request) {
	c := http.NewResponseController(w)
	_ = c.SetReadDeadline(time.Now().Add(hookTimeout)) // as above
	r.Body = &hasty{r.Body, c}
}

type hasty struct {
	io.ReadCloser
	c *http.ResponseController
}

func (h *hasty) Read(b []byte) (int, error) {
	n, err := h.ReadCloser.Read(b)
	if err == io.EOF {
		_ = h.c.SetReadDeadline(time.Time{})
	}
	return n, err
}
