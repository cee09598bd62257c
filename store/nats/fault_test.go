package nats

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/natstest"
)

// patient is how long a test waits for servers that were killed, and for what must happen. Elections and catching up
// take long on a busy machine; it is reached only when a test fails.
const patient = 5 * time.Minute

// writer appends to one agent, one entry after the other.
type writer struct {
	*perdure.Signer
	agent *perdure.Agent
}

// newWriter makes an agent in a store.
func newWriter(t testing.TB, s *Store) *writer {
	t.Helper()
	key, err := perdure.GenerateSigner("writer")
	if err != nil {
		t.Fatal(err)
	}
	g := perdure.Genesis{Intent: perdure.Intent{Goal: "be kept"}, Charter: perdure.Charter{Scope: "acme"}}
	e, err := key.Genesis(g, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := perdure.Begin(e)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), a.ID(), nil, e); err != nil {
		t.Fatal(err)
	}
	return &writer{key, a}
}

// next is the next commit on top of the agent, and the agent with it.
func (w *writer) next(t testing.TB) ([]*perdure.Entry, *perdure.Agent) {
	t.Helper()
	entries, next, err := w.Commit(w.agent, time.Now(), perdure.Draft{Body: perdure.Event{Name: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	return entries, next
}

// write appends the next commit.
func (w *writer) write(ctx context.Context, t testing.TB, s *Store) error {
	entries, next := w.next(t)
	err := s.Append(ctx, w.agent.ID(), w.agent.Heads(), entries...)
	if err == nil {
		w.agent = next
	}
	return err
}

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

// kept fails unless a store has all that a writer was told it has, in one line.
func (w *writer) kept(t testing.TB, s *Store) {
	t.Helper()
	a, err := perdure.FoldEntries(perdure.Memory(t.Context(), s, w.agent.ID()))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := a.Fold().Count, w.agent.Fold().Count; got != want || a.Heads()[0] != w.agent.Heads()[0] {
		t.Fatalf("%d entries, want the %d that were acknowledged", got, want)
	}
}

// hammer has writers append until stop is closed. Every append must be acknowledged, however long that takes.
func hammer(t *testing.T, s *Store, stop <-chan struct{}, writers []*writer) *sync.WaitGroup {
	var group sync.WaitGroup
	for _, w := range writers {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := w.write(context.Background(), t, s); err != nil {
					t.Errorf("append: %v", err)
					return
				}
			}
		})
	}
	return &group
}

// TestAServerThatIsKilledLosesNothing kills the server while writers append: each append is acknowledged once it is
// back, and none is lost or there twice.
func TestAServerThatIsKilledLosesNothing(t *testing.T) {
	server := natstest.Start(t)
	s := open(t, server.URL("killed"), Options{Patience: patient})
	writers := newWriters(t, s, 8)
	stop := make(chan struct{})
	group := hammer(t, s, stop, writers)
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
		w.kept(t, s)
	}
}

func newWriters(t testing.TB, s *Store, n int) (out []*writer) {
	for range n {
		out = append(out, newWriter(t, s))
	}
	return out
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

// TestALeaderThatIsKilledLosesNothing kills the server that leads the log, in the middle of appends: another takes
// over, each append is acknowledged, and none is lost or there twice.
func TestALeaderThatIsKilledLosesNothing(t *testing.T) {
	c := natstest.StartCluster(t, 3)
	s := open(t, c.URL("leader"), Options{Patience: patient})
	writers := newWriters(t, s, 8)
	stop := make(chan struct{})
	group := hammer(t, s, stop, writers)
	for range 2 {
		<-time.After(300 * time.Millisecond)
		killLeader(t, c, s)
	}
	close(stop)
	group.Wait()
	other := open(t, c.URL("leader"), Options{Patience: patient})
	for _, w := range writers {
		w.kept(t, other)
	}
}

// TestWithoutAMajorityNothingHappensAndNothingIsLost kills two of three servers: nothing is acknowledged while they are
// gone, and everything that was is there when they are back.
func TestWithoutAMajorityNothingHappensAndNothingIsLost(t *testing.T) {
	c := natstest.StartCluster(t, 3)
	s := open(t, c.URL("minority"), Options{Patience: patient})
	writers := newWriters(t, s, 4)
	for range 5 {
		for _, w := range writers {
			if err := w.write(t.Context(), t, s); err != nil {
				t.Fatal(err)
			}
		}
	}
	first := leads(c, s)
	if first == nil {
		t.Fatal("nobody leads the log")
	}
	gone := natstest.Cluster{first}
	for _, one := range c {
		if one != first && len(gone) < 2 {
			gone = append(gone, one)
		}
	}
	for _, one := range gone {
		one.Kill()
	}
	s.patience = time.Second // nobody else uses it
	var hint *perdure.Hint
	tried, _ := writers[0].next(t)
	err := s.Append(t.Context(), writers[0].agent.ID(), writers[0].agent.Heads(), tried...)
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
		heads, err := again.Heads(t.Context(), w.agent.ID())
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 { // what had been sent may arrive, also late: nobody said that it was refused
			if heads[0] != tried[0].Name && heads[0] != w.agent.Heads()[0] {
				t.Fatalf("head %s is neither what was acknowledged nor what was tried", heads[0].Short())
			}
			continue
		}
		w.kept(t, again)
		if err := w.write(t.Context(), t, again); err != nil {
			t.Fatal(err)
		}
		w.kept(t, again)
	}
}

// proxy stands before a server and cuts connections.
type proxy struct {
	net.Listener
	to    string
	mu    sync.Mutex
	conns []net.Conn
	cuts  atomic.Int64 // a connection is cut after so many bytes, in either direction; zero: never
}

func newProxy(t *testing.T, to string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, to: to}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				_ = in.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, in, out)
			p.mu.Unlock()
			group.Go(func() { p.pipe(out, in) })
			group.Go(func() { p.pipe(in, out) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.cut()
		group.Wait()
	})
	return p
}

// pipe carries bytes until the connection is to be cut, which may be in the middle of a message.
func (p *proxy) pipe(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	if most := p.cuts.Load(); most > 0 {
		_, _ = io.CopyN(to, from, most)
		return
	}
	_, _ = io.Copy(to, from)
}

// cut ends every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}

// url names a store behind the proxy, on a server that answers how it is set up.
func (p *proxy) url(store string, s *natstest.Server) string {
	return fmt.Sprintf("nats://%s/%s?monitor=%s", p.Addr(), store, s.Monitor())
}

// TestCutConnectionsLoseNothing cuts connections at every moment, also after a message was sent and before it was
// answered.
func TestCutConnectionsLoseNothing(t *testing.T) {
	p := newProxy(t, shared.Addr())
	s := open(t, p.url("cuts", shared), Options{Patience: patient})
	writers := newWriters(t, s, 4)
	stop := make(chan struct{})
	group := hammer(t, s, stop, writers)
	for i := range 60 {
		p.cuts.Store(int64(2000 + i*i*37%9000))
		<-time.After(time.Duration(5+i%7*3) * time.Millisecond)
		p.cut()
	}
	p.cuts.Store(0)
	p.cut()
	<-time.After(200 * time.Millisecond)
	close(stop)
	group.Wait()
	for _, w := range writers {
		w.kept(t, s)
	}
}

// TestAServerThatIsGoneIsNamed opens and uses a store whose server does not come back.
func TestAServerThatIsGoneIsNamed(t *testing.T) {
	server := natstest.Start(t)
	s := open(t, server.URL("gone"), Options{Patience: patient})
	w := newWriter(t, s)
	server.Kill()
	s.patience = 300 * time.Millisecond // nobody else uses it
	var hint *perdure.Hint
	if err := w.write(t.Context(), t, s); err == nil || !errors.As(err, &hint) {
		t.Fatalf("append to a server that is gone: %v, want an error that says what to do", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.write(ctx, t, s); !errors.Is(err, context.Canceled) {
		t.Fatalf("append that nobody waits for: %v", err)
	}
	if _, err := s.Heads(t.Context(), w.agent.ID()); !errors.As(err, &hint) {
		t.Fatalf("heads from a server that is gone: %v", err)
	}
	if _, err := Open(t.Context(), server.URL("gone"), Options{}); !errors.As(err, &hint) {
		t.Fatalf("open: %v, want what to do", err)
	}
}
