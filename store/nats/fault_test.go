package nats

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/enginetest"
	"github.com/perdure/perdure/internal/natstest"
)

// patient is how long a test waits for servers that were killed, and for what must happen. Elections and catching up
// take long on a busy machine; it is reached only when a test fails.
const patient = 5 * time.Minute

// open opens a store until the test ends.
func open(t testing.TB, url string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), url, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// TestAServerThatIsKilledLosesNothing kills the server while writers append: each append is acknowledged once it is
// back, and none is lost or there twice.
func TestAServerThatIsKilledLosesNothing(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t)
	s := open(t, server.URL("killed"), Options{Patience: patient})
	writers := enginetest.NewWriters(t, s, 8)
	stop := make(chan struct{})
	group := enginetest.Hammer(t, s, stop, writers)
	for range 3 {
		<-time.After(300 * time.Millisecond)
		server.Kill()
		if err := server.Begin(); err != nil {
			t.Fatal(err)
		}
	}
	<-time.After(300 * time.Millisecond)
	close(stop)
	group.Wait()
	for _, w := range writers {
		w.Kept(t, s)
	}
}

// leads waits for a server that leads the log of a store; nil: none does, for too long.
func leads(c natstest.Cluster, s *Store) *natstest.Server {
	for began := time.Now(); time.Since(began) < patient; {
		if leader := c.LeaderOf(s.streams.log); leader != nil {
			return leader
		}
		<-time.After(100 * time.Millisecond)
	}
	return nil
}

// killLeader kills the server that leads the log of a store, lets the others elect another, and starts it again.
func killLeader(t *testing.T, c natstest.Cluster, s *Store) {
	leader := leads(c, s)
	if leader == nil {
		t.Error("nobody leads the log")
		return
	}
	leader.Kill()
	leads(c, s)
	if err := leader.Begin(); err != nil {
		t.Error(err)
	}
	if err := c.Ready(); err != nil {
		t.Error(err)
	}
}

// killMost kills two servers of three, of which one leads the log of a store, and returns them; nil: nobody leads it.
func killMost(c natstest.Cluster, s *Store) (gone natstest.Cluster) {
	leader := leads(c, s)
	if leader == nil {
		return nil
	}
	gone = natstest.Cluster{leader}
	for _, one := range c {
		if one != leader && len(gone) < 2 {
			gone = append(gone, one)
		}
	}
	for _, one := range gone {
		one.Kill()
	}
	return gone
}

// TestALeaderThatIsKilledLosesNothing kills the server that leads the log, in the middle of appends: another takes
// over, each append is acknowledged, and none is lost or there twice.
func TestALeaderThatIsKilledLosesNothing(t *testing.T) {
	t.Parallel()
	c := natstest.StartCluster(t, 3)
	s := open(t, c.URL("leader"), Options{Patience: patient})
	writers := enginetest.NewWriters(t, s, 8)
	stop := make(chan struct{})
	group := enginetest.Hammer(t, s, stop, writers)
	for range 2 {
		<-time.After(300 * time.Millisecond)
		killLeader(t, c, s)
	}
	close(stop)
	group.Wait()
	other := open(t, c.URL("leader"), Options{Patience: patient})
	for _, w := range writers {
		w.Kept(t, other)
	}
}

// TestWithoutAMajorityNothingHappensAndNothingIsLost kills two of three servers: nothing is acknowledged while they are
// gone, and everything that was is there when they are back.
func TestWithoutAMajorityNothingHappensAndNothingIsLost(t *testing.T) {
	t.Parallel()
	c := natstest.StartCluster(t, 3)
	s := open(t, c.URL("minority"), Options{Patience: patient})
	writers := enginetest.NewWriters(t, s, 4)
	for range 5 {
		for _, w := range writers {
			if err := w.Write(t.Context(), t, s); err != nil {
				t.Fatal(err)
			}
		}
	}
	gone := killMost(c, s)
	if gone == nil {
		t.Fatal("nobody leads the log")
	}
	s.patience = time.Second // nobody else uses it
	var hint *perdure.Hint
	tried, _ := writers[0].Next(t)
	err := s.Append(t.Context(), writers[0].Agent.ID(), writers[0].Agent.Heads(), tried...)
	if err == nil || !errors.As(err, &hint) {
		t.Fatalf("append with one server of three: %v, want an error that says what to do", err)
	}
	if _, err := Open(t.Context(), c.URL("minority"), Options{Patience: time.Second}); err == nil {
		t.Fatal("a store was opened with one server of three")
	}
	for _, one := range gone {
		if err := one.Begin(); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Ready(); err != nil {
		t.Fatal(err)
	}
	again := open(t, c.URL("minority"), Options{Patience: patient})
	for i, w := range writers {
		heads, err := again.Heads(t.Context(), w.Agent.ID())
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 { // what had been sent may arrive, also late: nobody said that it was refused
			if heads[0] != tried[0].Name && heads[0] != w.Agent.Heads()[0] {
				t.Fatalf("head %s is neither what was acknowledged nor what was tried", heads[0].Short())
			}
			continue
		}
		w.Kept(t, again)
		if err := w.Write(t.Context(), t, again); err != nil {
			t.Fatal(err)
		}
		w.Kept(t, again)
	}
}

// through names a store behind the proxy, on a server that answers how it is set up.
func through(p *enginetest.Proxy, store string, s *natstest.Server) string {
	return fmt.Sprintf("nats://%s/%s?monitor=%s", p.Addr(), store, s.Monitor())
}

// TestCutConnectionsLoseNothing cuts connections at every moment, also after a message was sent and before it was
// answered.
func TestCutConnectionsLoseNothing(t *testing.T) {
	t.Parallel()
	p := enginetest.NewProxy(t, "tcp", shared.Addr())
	s := open(t, through(p, "cuts", shared), Options{Patience: patient})
	writers := enginetest.NewWriters(t, s, 4)
	stop := make(chan struct{})
	group := enginetest.Hammer(t, s, stop, writers)
	for i := range 60 {
		p.Cuts.Store(int64(2000 + i*i*37%9000))
		<-time.After(time.Duration(5+i%7*3) * time.Millisecond)
		p.Cut()
	}
	p.Cuts.Store(0)
	p.Cut()
	<-time.After(200 * time.Millisecond)
	close(stop)
	group.Wait()
	for _, w := range writers {
		w.Kept(t, s)
	}
}

// TestAServerThatIsGoneIsNamed opens and uses a store whose server does not come back.
func TestAServerThatIsGoneIsNamed(t *testing.T) {
	t.Parallel()
	server := natstest.Start(t)
	s := open(t, server.URL("gone"), Options{Patience: patient})
	w := enginetest.NewWriter(t, s)
	server.Kill()
	s.patience = 300 * time.Millisecond // nobody else uses it
	var hint *perdure.Hint
	if err := w.Write(t.Context(), t, s); err == nil || !errors.As(err, &hint) {
		t.Fatalf("append to a server that is gone: %v, want an error that says what to do", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Write(ctx, t, s); !errors.Is(err, context.Canceled) {
		t.Fatalf("append that nobody waits for: %v", err)
	}
	if _, err := s.Heads(t.Context(), w.Agent.ID()); !errors.As(err, &hint) {
		t.Fatalf("heads from a server that is gone: %v", err)
	}
	if _, err := Open(t.Context(), server.URL("gone"), Options{}); !errors.As(err, &hint) {
		t.Fatalf("open: %v, want what to do", err)
	}
}

// TestAServerThatStoresNothingSaysSo has a server answer what is asked and no message that is to be stored, as one does
// whose disk was full: who looks whether it runs would find that it does.
func TestAServerThatStoresNothingSaysSo(t *testing.T) {
	t.Parallel()
	s := open(t, natstest.Start(t).URL("mute"), Options{Patience: time.Second})
	w := enginetest.NewWriter(t, s)
	log, err := s.info(t.Context(), s.streams.log)
	if err != nil {
		t.Fatal(err)
	}
	set := struct {
		streamConfig
		NoAck bool `json:"no_ack"`
	}{log.Config, true}
	if err := s.api(t.Context(), "STREAM.UPDATE", s.streams.log, set, new(streamInfo)); err != nil {
		t.Fatal(err)
	}
	err = w.Write(t.Context(), t, s)
	var hint *perdure.Hint
	if err == nil || !strings.Contains(err.Error(), "answer and store nothing") ||
		!strings.Contains(err.Error(), "not known") || !errors.As(err, &hint) || !strings.Contains(hint.Do, "full") {
		t.Errorf("a server that stores nothing: %v, hint %v", err, hint)
	}
}
