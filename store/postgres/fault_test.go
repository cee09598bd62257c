package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/enginetest"
	"github.com/perdure/perdure/internal/pgtest"
)

// patient is how long a test waits for a server that was killed, and for what must happen. It is reached only when a
// test fails.
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

// TestAServerThatIsKilledLosesNothing kills the server, and processes of it, while writers append: each append is
// acknowledged once it is back, and none is lost or there twice.
func TestAServerThatIsKilledLosesNothing(t *testing.T) {
	server := pgtest.Start(t)
	s := open(t, server.URL(), Options{Patience: patient})
	var writers []*enginetest.Writer
	for range 8 {
		writers = append(writers, enginetest.NewWriter(t, s))
	}
	stop := make(chan struct{})
	group := enginetest.Hammer(t, s, stop, writers)
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
		w.Kept(t, s)
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

// through names a store behind the proxy.
func through(p *enginetest.Proxy, schema string) string {
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable&schema=%s", pgtest.User, p.Addr(), pgtest.Database, schema)
}

// TestCutConnectionsLoseNothing cuts connections at every moment, also after a commit was sent and before it was
// answered.
func TestCutConnectionsLoseNothing(t *testing.T) {
	needServer(t)
	p := enginetest.NewProxy(t, "unix", shared.Dir+"/.s.PGSQL.5432")
	s := open(t, through(p, "cuts"), Options{Patience: patient})
	var writers []*enginetest.Writer
	for range 4 {
		writers = append(writers, enginetest.NewWriter(t, s))
	}
	stop := make(chan struct{})
	group := enginetest.Hammer(t, s, stop, writers)
	for i := range 60 {
		p.Cuts.Store(int64(2000 + i*i*37%9000))
		<-time.After(time.Duration(5+i%7*3) * time.Millisecond)
		p.Cut()
	}
	p.Cuts.Store(0)
	close(stop)
	group.Wait()
	for _, w := range writers {
		w.Kept(t, s)
	}
}

// TestAServerThatIsGoneIsNamed opens and uses a store whose server does not come back.
func TestAServerThatIsGoneIsNamed(t *testing.T) {
	server := pgtest.Start(t)
	s := open(t, server.URL(), Options{Patience: patient})
	w := enginetest.NewWriter(t, s)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	s.patience = 300 * time.Millisecond // nobody else uses it
	err := w.Write(t.Context(), t, s)
	for began := time.Now(); err == nil && time.Since(began) < patient; { // its processes notice a moment later
		err = w.Write(t.Context(), t, s)
	}
	var hint *perdure.Hint
	if err == nil || !errors.As(err, &hint) {
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
	w := enginetest.NewWriter(t, open(t, server.URL(), Options{}))
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
	w.Kept(t, got.s)
}

// TestAServerWithoutRoomSaysSo has the server refuse what is written as one with a full disk does, and take it again.
func TestAServerWithoutRoomSaysSo(t *testing.T) {
	s := open(t, pgtest.Start(t).URL(), Options{})
	w := enginetest.NewWriter(t, s)
	for _, text := range []string{
		`CREATE FUNCTION ~full() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE disk_full; END$$`,
		`CREATE TRIGGER full_disk BEFORE INSERT ON ~log FOR EACH ROW EXECUTE FUNCTION ~full()`,
	} {
		if _, err := s.pool.Exec(t.Context(), s.sql(text)); err != nil {
			t.Fatal(err)
		}
	}
	err := w.Write(t.Context(), t, s)
	var hint *perdure.Hint
	if !errors.As(err, &hint) || !strings.Contains(hint.Do, "make room") {
		t.Errorf("a full disk: %v, hint %v", err, hint)
	}
	if _, err := s.pool.Exec(t.Context(), s.sql(`DROP TRIGGER full_disk ON ~log`)); err != nil {
		t.Fatal(err)
	}
	if err := w.Write(t.Context(), t, s); err != nil {
		t.Fatal(err)
	}
	w.Kept(t, s)
}

// TestASchemaOfSomethingElseIsNotTaken opens a store in a schema that has tables of another program, some with names
// that the store would use.
func TestASchemaOfSomethingElseIsNotTaken(t *testing.T) {
	server := pgtest.Start(t)
	for schema, table := range map[string]string{"shop": "agents(id int)", "till": "log(line text)"} {
		if err := server.SQL("CREATE SCHEMA " + schema + "; CREATE TABLE " + schema + "." + table); err != nil {
			t.Fatal(err)
		}
		ctx, done := context.WithTimeout(t.Context(), 20*time.Second)
		_, err := Open(ctx, server.URL("schema="+schema), Options{})
		done()
		var hint *perdure.Hint
		if err == nil || !strings.Contains(err.Error(), "is not one of perdure's") || !errors.As(err, &hint) {
			t.Errorf("schema %s: %v", schema, err)
		}
	}
}

// TestAServerWithoutTLSIsNotCalledAway asks a server for TLS that does not speak it.
func TestAServerWithoutTLSIsNotCalledAway(t *testing.T) {
	_, err := Open(t.Context(), tcp(t)+"?sslmode=require", Options{Patience: time.Second})
	var hint *perdure.Hint
	if !errors.As(err, &hint) || !strings.Contains(hint.Do, "sslmode") {
		t.Errorf("%v, hint %v", err, hint)
	}
}

// tcp names a store on a server that answers everybody as PostgreSQL without TLS does.
func tcp(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 8))
			_, _ = c.Write([]byte("N"))
			_ = c.Close()
		}
	}()
	return "postgres://perdure@" + l.Addr().String() + "/perdure"
}
