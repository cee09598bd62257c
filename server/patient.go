package server

import (
	"net/http"
	"time"
)

// patient is where an answer goes that may take as long as it does, as when a person is asked meanwhile, or never ends:
// only who takes nothing of what is written for too long is given up on. The deadline of connections counts from the
// request.
type patient struct {
	http.ResponseWriter
	c     *http.ResponseController
	stall time.Duration
}

func newPatient(w http.ResponseWriter, stall time.Duration) *patient {
	p := &patient{ResponseWriter: w, c: http.NewResponseController(w), stall: stall}
	p.until(time.Time{})
	return p
}

// until moves the deadline; where there are none, there is nothing to move.
func (p *patient) until(t time.Time) { _ = p.c.SetWriteDeadline(t) }

// hasten sets the deadline of what is about to be written.
func (p *patient) hasten() { p.until(time.Now().Add(p.stall)) }

func (p *patient) Write(b []byte) (int, error) {
	p.hasten()
	defer p.until(time.Time{}) // nothing is written now
	return p.ResponseWriter.Write(b)
}

// FlushError is what http.ResponseController flushes with.
func (p *patient) FlushError() error {
	p.hasten()
	defer p.until(time.Time{})
	return p.c.Flush()
}

// Flush implements http.Flusher.
func (p *patient) Flush() { _ = p.FlushError() } // who has gone is found out by the next write

// Unwrap is for http.ResponseController.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// answering gives the answer of a request that took long its own time.
func (s *Server) answering(w http.ResponseWriter) { newPatient(w, s.Limits.WriteStall).hasten() }
