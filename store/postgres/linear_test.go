package postgres

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/enginetest"
	"github.com/perdure/perdure/internal/pgtest"
)

// TestAppendsAreLinearizable checks histories of concurrent appends through two handles, with connections that are cut
// meanwhile.
func TestAppendsAreLinearizable(t *testing.T) {
	needServer(t)
	p := enginetest.NewProxy(t, "unix", shared.Dir+"/.s.PGSQL.5432")
	o := Options{Patience: patient}
	stores := []perdure.Store{open(t, through(p, "linear"), o), open(t, through(p, "linear"), o)}
	enginetest.Linearizable(t, stores, enginetest.Histories(t, 100, 1000), 500*time.Millisecond, p.Cut)
}

// TestAppendsAreLinearizableWhileTheServerDies does so on a server that is killed again and again.
func TestAppendsAreLinearizableWhileTheServerDies(t *testing.T) {
	server := pgtest.Start(t)
	o := Options{Patience: patient}
	stores := []perdure.Store{open(t, server.URL(), o), open(t, server.URL(), o)}
	kill := func() {
		if err := server.Kill(); err != nil {
			t.Error(err)
		}
		if err := server.Begin(); err != nil {
			t.Error(err)
		}
	}
	enginetest.Linearizable(t, stores, enginetest.Histories(t, 50, 1000), 50*time.Millisecond, kill)
}
