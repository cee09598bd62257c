package postgres

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
	"github.com/perdure/perdure/internal/pgtest"
)

// patient is how long a test waits for a server that was killed, and for what must happen. It is reached only when a
// test fails.
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

// TestAServerThatIsKilledLosesNothing kills the server, and processes of it, while writers append: each append is
// acknowledged once it is back, and none is lost or there twice.
func TestAServerThatIsKilledLosesNothing(t *testing.T) {
	server := pgtest.Start(t)
	s := open(t, server.URL(), Options{Patience: patient})
	var writers []*writer
	for range 8 {
		writers = append(writers, newWriter(t, s))
	}
	stop := make(chan struct{})
	group := hammer(t, s, stop, writers)
	for range 3 {
		<-time.After(200 * time.Millisecond)
		if err := server.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := server.Begin(); err != nil {
			t.Fatal(err)
		}
		// One process that serves a connection, upon which the server recovers by itself.
		<-time.After(200 * time.Millisecond)
		if pid := backend(t, s); pid != 0 {
			_ = server.KillBackend(pid)
		}
	}
	<-time.After(200 * time.Millisecond)
	close(stop)
	group.Wait()
	for _, w := range writers {
		w.kept(t, s)
	}
}

// backend is the process of a connection of the store; zero: there is none at the moment.
func backend(t *testing.T, s *Store) (pid int) {
	t.Helper()
	_ = s.try(t.Context(), func(ctx context.Context) error {
		return s.pool.QueryRow(ctx, "SELECT pid FROM pg_stat_activity WHERE application_name='perdure' LIMIT 1").
			Scan(&pid)
	})
	return pid
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
			out, err := net.Dial("unix", to)
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

func (p *proxy) url(schema string) string {
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable&schema=%s", pgtest.User, p.Addr(), pgtest.Database, schema)
}

// TestCutConnectionsLoseNothing cuts connections at every moment, also after a commit was sent and before it was
// answered.
func TestCutConnectionsLoseNothing(t *testing.T) {
	needServer(t)
	p := newProxy(t, shared.Dir+"/.s.PGSQL.5432")
	s := open(t, p.url("cuts"), Options{Patience: patient})
	var writers []*writer
	for range 4 {
		writers = append(writers, newWriter(t, s))
	}
	stop := make(chan struct{})
	group := hammer(t, s, stop, writers)
	for i := range 60 {
		p.cuts.Store(int64(2000 + i*i*37%9000))
		<-time.After(time.Duration(5+i%7*3) * time.Millisecond)
		p.cut()
	}
	p.cuts.Store(0)
	close(stop)
	group.Wait()
	for _, w := range writers {
		w.kept(t, s)
	}
}

// TestAServerThatIsGoneIsNamed opens and uses a store whose server does not come back.
func TestAServerThatIsGoneIsNamed(t *testing.T) {
	server := pgtest.Start(t)
	s := open(t, server.URL(), Options{Patience: patient})
	w := newWriter(t, s)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	s.patience = 300 * time.Millisecond // nobody else uses it
	err := w.write(t.Context(), t, s)
	for began := time.Now(); err == nil && time.Since(began) < patient; { // its processes notice a moment later
		err = w.write(t.Context(), t, s)
	}
	var hint *perdure.Hint
	if err == nil || !errors.As(err, &hint) {
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
	began := time.Now()
	if _, err := Open(t.Context(), server.URL(), Options{Patience: 300 * time.Millisecond}); !errors.As(err, &hint) {
		t.Fatalf("open: %v, want what to do", err)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("open gave up after %v, want about its patience", took)
	}
	if _, err := Open(ctx, server.URL(), Options{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("open that nobody waits for: %v", err)
	}
}

// TestOpeningWaitsForAServerThatRestarts opens a store while its server is down, and starts.
func TestOpeningWaitsForAServerThatRestarts(t *testing.T) {
	server := pgtest.Start(t)
	w := newWriter(t, open(t, server.URL(), Options{}))
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	type opened struct {
		s   *Store
		err error
	}
	done := make(chan opened, 1)
	go func() {
		s, err := Open(t.Context(), server.URL(), Options{Existing: true, Patience: patient})
		done <- opened{s, err}
	}()
	select {
	case got := <-done:
		t.Fatalf("open while the server is down: %v, want that it waits", got.err)
	case <-time.After(500 * time.Millisecond):
	}
	if err := server.Begin(); err != nil {
		t.Fatal(err)
	}
	got := <-done
	if got.err != nil {
		t.Fatalf("open while the server restarts: %v", got.err)
	}
	defer func() { _ = got.s.Close() }()
	w.kept(t, got.s)
}
