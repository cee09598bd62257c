package pgtest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// Pooled runs a program, PgBouncer, in transaction mode before the server until the test ends, and returns a URL of the
// database through it. It has few connections to the server, so that clients get another one all the time.
func (s *Server) Pooled(t testing.TB, program string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "perdure-pooler-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	conf := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf(
		"[databases]\n%s = host=%s dbname=%s user=%s\n[pgbouncer]\nlisten_addr =\n"+
			"unix_socket_dir = %s\n"+
			"listen_port = 6432\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 3\n"+
			"max_client_conn = 200\n"+
			"ignore_startup_parameters = extra_float_digits\n",
		Database,
		s.Dir,
		Database,
		User,
		dir,
	)
	if err := os.WriteFile(conf, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if s.cred != nil {
		if err := os.Chown(dir, int(s.cred.Uid), int(s.cred.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := s.command("postgres") // as the same user
	cmd.Path, cmd.Args, cmd.Dir = program, []string{program, conf}, dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGKILL)
		_ = cmd.Wait()
	})
	socket := filepath.Join(dir, ".s.PGSQL.6432")
	for began := time.Now(); ; {
		c, err := net.Dial("unix", socket)
		if err == nil {
			_ = c.Close()
			break
		}
		if time.Since(began) > patience {
			t.Fatalf("%s does not answer: %v", program, err)
		}
		<-time.After(20 * time.Millisecond)
	}
	return fmt.Sprintf("postgres://%s@/%s?host=%s&port=6432", User, Database, dir)
}
