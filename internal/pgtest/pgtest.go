// Package pgtest runs throw-away PostgreSQL servers for tests, from the programs that are installed.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// User and Database are those of every server here. Password is asked for where a test asks for it.
const (
	User     = "perdure"
	Database = "perdure"
	Password = "s3cret-of-the-test"
)

// Server is one PostgreSQL server with a folder of its own, which listens on a Unix socket in it.
type Server struct {
	Dir  string
	bin  string
	cred *syscall.Credential
	log  *os.File
	args []string

	cmd   *exec.Cmd
	ended chan struct{} // closed when the process of cmd has ended
}

// patience is how long a server may take for what must happen. It is reached only when a test fails.
const patience = 5 * time.Minute

// programs are where initdb and postgres are; empty: nowhere.
func programs() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // of Debian, the newest last
	slices.SortFunc(found, func(a, b string) int { return version(a) - version(b) })
	slices.Reverse(found)
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, filepath.Dir(path))
	}
	for _, dir := range found {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err == nil {
			return dir
		}
	}
	return ""
}

func version(bin string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(bin)))
	return n
}

// Missing says why no server can be started here; empty: one can.
func Missing() string {
	if programs() == "" {
		return "PostgreSQL is not installed (Debian: apt-get install postgresql): its store is not tested"
	}
	if _, err := credential(); err != nil {
		return err.Error()
	}
	return ""
}

// credential is of a user who may run a server: root may not.
func credential() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err1 == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New(
		"root may not run PostgreSQL, and there is no user postgres or nobody: its store is not tested",
	)
}

// Start starts a server until the test ends, or skips the test where none is installed. Settings are name=value.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	if why := Missing(); why != "" {
		t.Skip(why)
	}
	s, err := New(settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Remove)
	return s
}

// New makes and starts a server. Who calls it removes it.
func New(settings ...string) (*Server, error) {
	dir, err := os.MkdirTemp("", "perdure-pg-")
	if err != nil {
		return nil, err
	}
	s := &Server{Dir: dir, bin: programs()}
	if s.cred, err = credential(); err != nil {
		return nil, err
	}
	if s.cred != nil {
		if err := os.Chown(dir, int(s.cred.Uid), int(s.cred.Gid)); err != nil {
			return nil, err
		}
	}
	if s.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		return nil, err
	}
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte(Password+"\n"), 0o644); err != nil {
		return nil, err
	}
	if err := s.run(
		"initdb", "-D", s.data(), "-U", User, "-A", "trust", "--pwfile", secret, "--no-sync", "-E", "UTF8",
		"--locale=C",
	); err != nil {
		return nil, errors.Join(err, s.failed())
	}
	s.args = []string{
		"-D", s.data(), "-k", dir, "-c", "listen_addresses=", "-c", "max_connections=200", "-c", "shared_buffers=64MB",
		"-c", "logging_collector=off",
	}
	for _, set := range settings {
		s.args = append(s.args, "-c", set)
	}
	if err := s.Begin(); err != nil {
		return nil, errors.Join(err, s.failed())
	}
	if err := s.run("createdb", "-h", dir, "-U", User, Database); err != nil {
		return nil, errors.Join(err, s.failed())
	}
	return s, nil
}

func (s *Server) failed() error {
	text, _ := os.ReadFile(filepath.Join(s.Dir, "log"))
	s.Remove()
	return fmt.Errorf("the server said: %s", text[max(0, len(text)-2000):])
}

func (s *Server) data() string { return filepath.Join(s.Dir, "data") }

// command is a program of PostgreSQL, as the user who may run it, that does not outlive this process.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.Dir, s.log, s.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred, Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
	return cmd
}

func (s *Server) run(name string, args ...string) error {
	if err := s.command(name, args...).Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// Begin starts the server again after it was ended.
func (s *Server) Begin() error {
	deadline := time.Now().Add(patience)
	for {
		s.cmd = s.command("postgres", s.args...)
		if err := s.cmd.Start(); err != nil {
			return err
		}
		s.ended = make(chan struct{})
		go func(cmd *exec.Cmd, ended chan struct{}) {
			_ = cmd.Wait()
			close(ended)
		}(s.cmd, s.ended)
		if s.answers(deadline) {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.New("the server does not answer")
		}
		// What a killed one left may still be in use for a moment.
		<-time.After(50 * time.Millisecond)
	}
}

// answers waits until the server takes connections; false: it has ended.
func (s *Server) answers(deadline time.Time) bool {
	for time.Now().Before(deadline) {
		select {
		case <-s.ended:
			return false
		case <-time.After(20 * time.Millisecond):
		}
		if s.command("pg_isready", "-q", "-h", s.Dir, "-U", User, "-d", "postgres").Run() == nil {
			return true
		}
	}
	return false
}

// Kill ends the server as a power cut of it would: nothing is told to anybody. The processes that serve connections
// notice a moment later.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

// Stop ends the server at once, in order, and waits until it has ended.
func (s *Server) Stop() error { return s.end(syscall.SIGINT) }

// end sends a signal and waits until the server has ended.
func (s *Server) end(sig syscall.Signal) error {
	if s.ended == nil {
		return nil
	}
	select {
	case <-s.ended:
		return nil
	default:
	}
	if err := s.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-s.ended:
		return nil
	case <-time.After(patience):
		return errors.New("the server does not end")
	}
}

// KillBackend kills one process that serves a connection, upon which the server ends all of them and recovers.
func (s *Server) KillBackend(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }

// Remove ends the server and removes all of it.
func (s *Server) Remove() {
	_ = s.end(syscall.SIGQUIT)
	_ = s.log.Close()
	_ = os.RemoveAll(s.Dir)
}

// URL names a database on the server, with parameters like schema=x.
func (s *Server) URL(parameters ...string) string {
	return fmt.Sprintf("postgres://%s@/%s?%s", User, Database,
		strings.Join(append([]string{"host=" + s.Dir}, parameters...), "&"))
}

// SQL runs statements as the owner of everything.
func (s *Server) SQL(text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, "psql"), "-v", "ON_ERROR_STOP=1", "-q", "-h", s.Dir,
		"-U", User, "-d", Database, "-c", text)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}
