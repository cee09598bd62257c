package nats

import (
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/enginetest"
	"github.com/perdure/perdure/internal/natstest"
)

// TestAppendsAreLinearizable checks histories of concurrent appends through two handles, with connections that are cut
// meanwhile.
func TestAppendsAreLinearizable(t *testing.T) {
	t.Parallel()
	p := enginetest.NewProxy(t, "tcp", shared.Addr())
	url := through(p, "linear", shared)
	o := Options{Patience: patient}
	stores := []perdure.Store{open(t, url, o), open(t, url, o)}
	enginetest.Linearizable(t, stores, enginetest.Histories(t, 100, 500), 300*time.Millisecond, p.Cut)
}

// TestAppendsAreLinearizableWhileLeadersDie does so on a cluster whose leader of the log is killed again and again.
func TestAppendsAreLinearizableWhileLeadersDie(t *testing.T) {
	t.Parallel()
	c := natstest.StartCluster(t, 3)
	url := c.URL("linear")
	o := Options{Patience: patient}
	first := open(t, url, o)
	stores := []perdure.Store{first, open(t, url, o)}
	n, kill := enginetest.Histories(t, 25, 500), func() { killLeader(t, c, first) }
	enginetest.Linearizable(t, stores, n, 50*time.Millisecond, kill)
}

// TestAppendsAreLinearizableWhileMajoritiesDie does so on a cluster of which two servers of three, the leader of the
// log among them, are killed again and again.
func TestAppendsAreLinearizableWhileMajoritiesDie(t *testing.T) {
	t.Parallel()
	c := natstest.StartCluster(t, 3)
	url := c.URL("majority")
	o := Options{Patience: patient}
	first := open(t, url, o)
	stores := []perdure.Store{first, open(t, url, o)}
	kill := func() {
		gone := killMost(c, first)
		if gone == nil {
			t.Error("nobody leads the log")
			return
		}
		for _, one := range gone {
			if err := one.Begin(); err != nil {
				t.Error(err)
			}
		}
		if err := c.Ready(); err != nil {
			t.Error(err)
		}
	}
	enginetest.Linearizable(t, stores, enginetest.Histories(t, 25, 500), 50*time.Millisecond, kill)
}
