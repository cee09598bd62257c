package server

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// A sender is silent while it is waited for, not while this server is at work on what it sent.
func TestABusyServerTakesNoSenderForSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := io.Pipe()
		s := &stalling{r: from, c: http.NewResponseController(httptest.NewRecorder()), wait: time.Hour}
		read := func() error { _, err := s.Read(make([]byte, 1)); return err }
		came := make(chan error)
		go func() { came <- read() }()
		if _, err := to.Write([]byte("a")); err != nil {
			t.Fatal(err)
		}
		if err := <-came; err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * giveWay) // it is stored
		if s.giveUp(); s.givenUp {
			t.Error("a transfer that the server was busy with was given up")
		}
		go func() { came <- read() }()
		synctest.Wait()
		time.Sleep(2 * giveWay)
		if s.giveUp(); !s.givenUp {
			t.Error("a transfer whose sender is silent was not given up")
		}
		if _, err := to.Write([]byte("b")); err != nil { // here no deadline ends the read
			t.Fatal(err)
		}
		if err := errors.Join(<-came, to.Close()); err != nil {
			t.Fatal(err)
		}
		if err := read(); !errors.Is(err, errGivenUp) {
			t.Errorf("read on: got %v, want that it was given up", err)
		}
	})
}
