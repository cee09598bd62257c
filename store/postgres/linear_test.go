package postgres

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/enginetest"
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
