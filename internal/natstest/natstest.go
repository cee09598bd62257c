// Package natstest runs throw-away NATS servers for tests, each in a process of its own that can be killed: the test
// binary itself, which has the server as a library. The program that people run does not.
package natstest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// serverEnv tells a process that it is a server.
const serverEnv = "PERDURE_NATSTEST"

// settings are those of one server.
type settings struct {
	Dir, Name, Cluster    string
	Port, HTTP, RoutePort int
	Routes                []string
	Lax                   bool // it does not sync always
	Export                bool // it tells accounts how it is set up
}

// Main is to be called first by TestMain: in the process of a server it does not return.
func Main() {
	text := os.Getenv(serverEnv)
	if text == "" {
		return
	}
	var c settings
	said := os.NewFile(3, "said")
	err := json.Unmarshal([]byte(text), &c)
	if err == nil {
		err = serve(c, said)
	}
	if err != nil {
		_, _ = fmt.Fprintln(said, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve runs a server until nobody holds the other end of its input.
func serve(c settings, said io.WriteCloser) error {
	o := &server.Options{
		ServerName: c.Name, Host: "127.0.0.1", Port: c.Port, HTTPHost: "127.0.0.1", HTTPPort: c.HTTP,
		JetStream: true, StoreDir: c.Dir, SyncAlways: !c.Lax, NoSigs: true,
		LogFile: filepath.Join(c.Dir, "log"),
	}
	if c.Cluster != "" {
		o.Cluster = server.ClusterOpts{Name: c.Cluster, Host: "127.0.0.1", Port: c.RoutePort, PoolSize: -1}
		for _, r := range c.Routes {
			u, err := url.Parse(r)
			if err != nil {
				return err
			}
			o.Routes = append(o.Routes, u)
		}
	}
	if c.Export {
		if err := export(o, c.Dir); err != nil {
			return err
		}
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	s.ConfigureLogger()
	s.Start()
	if !s.ReadyForConnections(patience) {
		return fmt.Errorf("it does not get ready")
	}
	_, err = fmt.Fprintln(said, "ready")
	if err = errors.Join(err, said.Close()); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	s.Shutdown()
	return nil
}

// Server is one server.
type Server struct {
	set  settings
	cmd  *exec.Cmd
	hold io.WriteCloser // while it is open the server runs
}

// Option changes how a server is set up.
type Option int

const (
	Lax    Option = iota + 1 // it does not sync always
	Export                   // it tells accounts how it is set up
)

func (c *settings) take(options []Option) {
	for _, o := range options {
		c.Lax, c.Export = c.Lax || o == Lax, c.Export || o == Export
	}
}

const (
	starts   = 5               // how often a server is started, at other ports: somebody may have taken its own
	patience = 5 * time.Minute // how long servers may take for what must happen; reached only when a test fails
)

// New starts a server.
func New(options ...Option) (s *Server, err error) {
	for range starts {
		if s, err = newServer(options); err == nil {
			return s, nil
		}
		s.Remove()
	}
	return nil, err
}

func newServer(options []Option) (*Server, error) {
	ports, err := free(2)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "perdure-nats-")
	if err != nil {
		return nil, err
	}
	s := &Server{set: settings{Dir: dir, Name: filepath.Base(dir), Port: ports[0], HTTP: ports[1]}}
	s.set.take(options)
	return s, s.Begin()
}

// Start starts a server until the test ends.
func Start(t testing.TB, options ...Option) *Server {
	t.Helper()
	s, err := New(options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Remove)
	return s
}

// Begin starts a server again that was stopped or killed, at the same ports; options change how it is set up.
func (s *Server) Begin(options ...Option) error {
	s.set.take(options)
	text, err := json.Marshal(s.set)
	if err != nil {
		return err
	}
	s.cmd = exec.Command(os.Args[0], "-test.run=^$")
	s.cmd.Env = append(os.Environ(), serverEnv+"="+string(text))
	if s.hold, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	out, said, err := os.Pipe()
	if err != nil {
		return err
	}
	defer out.Close()
	errs := new(bytes.Buffer)
	s.cmd.Stderr = errs
	s.cmd.ExtraFiles = []*os.File{said}
	err = s.cmd.Start()
	_ = said.Close()
	if err != nil {
		s.cmd = nil
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if line != "ready\n" {
		s.Kill()
		logged, _ := os.ReadFile(filepath.Join(s.set.Dir, "log"))
		return fmt.Errorf("start NATS server: it says %q: %v\n%s%s", line, err, errs, logged)
	}
	return nil
}

// Kill kills the server as kill -9 does.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		_ = s.hold.Close()
		s.cmd = nil
	}
}

// Stop has the server stop in order.
func (s *Server) Stop() error {
	_ = s.hold.Close()
	err := s.cmd.Wait()
	s.cmd = nil
	return err
}

// Flip changes a bit of what a server that does not run keeps of a message: the newest in the stream with such data.
func (s *Server) Flip(stream string, data []byte) error {
	files, err := filepath.Glob(filepath.Join(s.set.Dir, "jetstream", "*", "streams", stream, "msgs", "*.blk"))
	if err != nil {
		return err
	}
	for _, file := range slices.Backward(files) {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if at := bytes.LastIndex(b, data); at >= 0 {
			b[at+len(data)/2] ^= 1
			return os.WriteFile(file, b, 0o600)
		}
	}
	return fmt.Errorf("stream %s has no such message", stream)
}

// Running reports whether it runs.
func (s *Server) Running() bool { return s.cmd != nil }

// Remove stops the server and removes what it kept.
func (s *Server) Remove() {
	if s == nil {
		return
	}
	s.Kill()
	_ = os.RemoveAll(s.set.Dir)
}

// Name is that of the server.
func (s *Server) Name() string { return s.set.Name }

// Addr is where clients connect.
func (s *Server) Addr() string { return fmt.Sprintf("127.0.0.1:%d", s.set.Port) }

// Monitor is where it answers over HTTP.
func (s *Server) Monitor() string { return fmt.Sprintf("http://127.0.0.1:%d", s.set.HTTP) }

// URL names a store on the server.
func (s *Server) URL(store string) string { return URL(store, s) }

// URL names a store on servers.
func URL(store string, servers ...*Server) string {
	var at []string
	q := url.Values{}
	for _, s := range servers {
		at = append(at, s.Addr())
		q.Add("monitor", s.Monitor())
	}
	return "nats://" + strings.Join(at, ",") + "/" + store + "?" + q.Encode()
}
