package tool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/perdure/perdure"
)

// MCP is a server that speaks the Model Context Protocol, whose tools become tools of a node: read_file of a server
// named fs is fs.read_file. Its exported fields are set before use and not changed afterwards. One of Command, URL and
// Transport says where the server is.
//
//	files := &tool.MCP{Name: "fs", Command: []string{"npx", "-y", "@modelcontextprotocol/server-filesystem", "/srv/notes"}}
//	defer files.Close()
//	tools, err := files.Tools(ctx)
//
// The effect class of a tool is what Effects says, else once: policy is asked about each call as about one that changes
// something. Annotations are claims of the server, and a class of read lets a tool run unasked, so they count for
// nothing unless TrustHints says that this server is believed: then readOnlyHint is read, and idempotentHint is
// idempotent unless the tool says that it is destructive. The class is that of when Tools was called, whatever the
// server says later.
//
// A result is a map of text, structured (what the server gave as structured content) and content (images, audio,
// resources and links, as bytes with their type). It is marked as text of somebody not trusted. What the server calls
// an error is a failed outcome.
//
// A server that died is started, or connected to, again by the next call. If it dies during a call of class once, that
// is in doubt: it is not known whether the effect happened. Calls of the other classes are made again under the same
// key.
type MCP struct {
	// the prefix of its tools: letters, digits, _ and -; not that of a built-in tool, such as files
	Name string
	// a program and its arguments that speaks the protocol on its standard input and output
	Command []string
	// the working folder of Command; none: that of this process
	Dir string
	// the variables Command gets: NAME as this process has it, or NAME=value. None: PATH and HOME
	Env    []string
	URL    string      // of a server that speaks streamable HTTP
	Header http.Header // sent with every request to URL
	// for URL; nil: one that knows no cookies and follows no redirects
	Client *http.Client
	// any other way to reach it, such as a server inside this process
	Transport func(ctx context.Context) (mcp.Transport, error)

	// the effect class by the server's own name of a tool, whatever its annotations say; "*" is for those not named
	Effects map[string]perdure.Effect
	// TrustHints believes what the server's annotations say of the tools that Effects does not name.
	TrustHints bool
	Only       []string      // the tools to offer, by the server's own name; none: all
	Timeout    time.Duration // of a call; zero: DefaultTimeout
	Start      time.Duration // how long the server may take to start and answer; zero: 1 minute
	Limit      int           // bytes kept of the text of a result; zero: DefaultResponse
	// Secrets are kept out of what the server says of its tools, and of errors: it may have been given some. Nil: none.
	// WithSecrets keeps them out of results.
	Secrets KnownSecrets
	// Waiting is told, if not nil, that the server takes its time to start, and how long it has at most.
	Waiting func(most time.Duration)

	probe   time.Duration // how long it may leave server/discover unanswered; zero: usualProbe
	setup   sync.Once
	turn    chan struct{} // held while a session is looked at or made
	current *mcpSession
	closed  bool
	watches sync.WaitGroup
}

// KeyMeta is the field of _meta in which a server finds the idempotency key of a call.
const KeyMeta = "perdure/idempotency-key"

// Tools connects to the server and returns its tools as they are now. No value of Secrets is in their descriptions and
// schemas, and a tool with one in its name is refused.
func (m *MCP) Tools(ctx context.Context) ([]perdure.Tool, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	g := &givenSecrets{source: m.Secrets}
	if err := g.know(ctx); err != nil {
		return nil, fmt.Errorf("the secrets of this node cannot be had, so they could not be kept out of what MCP "+
			"server %s says of its tools: %w", m.Name, err)
	}
	if r := g.redactor(); r != nil {
		ctx = withRedactor(ctx, r)
	}
	tools, err := m.list(ctx)
	_, err = g.redact(perdure.Result{}, err)
	return tools, err
}

// list connects to the server and asks for its tools.
func (m *MCP) list(ctx context.Context) ([]perdure.Tool, error) {
	s, err := m.session(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, m.start())
	defer cancel()
	var tools []perdure.Tool
	seen := map[string]bool{}
	listed, room := 0, maxServerSchemas
	for t, err := range s.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list the tools of MCP server %s: %w", m.Name, err)
		}
		if listed++; listed > maxServerListed {
			return nil, fmt.Errorf("MCP server %s lists more than %d tools: repair the server", m.Name, maxServerListed)
		}
		if len(m.Only) > 0 && !slices.Contains(m.Only, t.Name) {
			continue
		}
		switch {
		case redactorOf(ctx).replace(t.Name) != t.Name:
			return nil, fmt.Errorf("MCP server %s has a tool with the value of a secret in its name, %s; repair the "+
				"server, or name the tools to use (in Go: MCP.Only)", m.Name, clip(redactorOf(ctx).replace(t.Name)))
		case len(t.Name) > 128 || !toolName.MatchString(t.Name):
			return nil, fmt.Errorf("MCP server %s has a tool with the name %q, which is none; repair the server, or "+
				"name the tools to use (in Go: MCP.Only)", m.Name, clip(t.Name))
		case seen[t.Name]:
			return nil, fmt.Errorf("MCP server %s has two tools with the name %s; repair the server, or name the "+
				"tools to use (in Go: MCP.Only)", m.Name, t.Name)
		case len(tools) == maxServerTools:
			return nil, fmt.Errorf("MCP server %s has more than %d tools; name those to use (in Go: MCP.Only)",
				m.Name, maxServerTools)
		}
		seen[t.Name] = true
		spec, err := m.spec(redactorOf(ctx), t)
		if err != nil {
			return nil, err
		}
		if room -= len(spec.Args); room < 0 {
			return nil, fmt.Errorf("MCP server %s: the schemas of its tools have more than %d bytes; name the tools "+
				"to use (in Go: MCP.Only)", m.Name, maxServerSchemas)
		}
		tools = append(tools, &mcpTool{server: m, name: t.Name, spec: spec})
	}
	for _, name := range m.Only {
		if !seen[name] {
			return nil, fmt.Errorf("MCP server %s has no tool %s", m.Name, name)
		}
	}
	return tools, nil
}

// Close ends the connection, and the server if it was started here. Calls under way are cut off. It can be called more
// than once.
func (m *MCP) Close() error {
	m.init()
	m.turn <- struct{}{}
	m.closed = true
	if m.current != nil {
		m.current.end()
		m.current = nil
	}
	<-m.turn
	m.watches.Wait()
	return nil
}

var (
	serverName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	toolName   = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)
)

// builtin are the names that tools of this package, and of the runtime, begin with: under one of them a server would be
// judged as that tool, by rules, by people, and by the settings that trust it.
var builtin = []string{"files", "shell", "http", "remember", "recall", "now", "cancel", "send", "advisor", "runtime",
	"perdure"}

// check says what is wrong with the fields.
func (m *MCP) check() error {
	if len(m.Name) > 64 || !serverName.MatchString(m.Name) {
		return perdure.Invalid(fmt.Errorf("MCP server %q: want a name of letters, digits, _ and -, at most 64", m.Name))
	}
	if slices.Contains(builtin, strings.ToLower(m.Name)) {
		return fmt.Errorf("MCP server %s: its tools would be taken for the built-in %s: give it another name", m.Name,
			strings.ToLower(m.Name))
	}
	ways := 0
	for _, set := range []bool{len(m.Command) > 0, m.URL != "", m.Transport != nil} {
		if set {
			ways++
		}
	}
	if ways != 1 {
		return fmt.Errorf("MCP server %s: set one of Command, URL and Transport", m.Name)
	}
	return nil
}

func (m *MCP) init() { m.setup.Do(func() { m.turn = make(chan struct{}, 1) }) }

func (m *MCP) start() time.Duration {
	if m.Start > 0 {
		return m.Start
	}
	return time.Minute
}

// mcpSession is one connection to the server.
type mcpSession struct {
	*mcp.ClientSession
	process *process      // nil: it was not started here
	done    chan struct{} // closed when the connection has ended
	suspect atomic.Bool   // it did not answer a call in time
	lost    atomic.Bool   // it was given up
}

// session is a connection to the server that is alive, made anew if there is none.
func (m *MCP) session(ctx context.Context) (*mcpSession, error) {
	m.init()
	select {
	case m.turn <- struct{}{}:
		defer func() { <-m.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if m.closed {
		return nil, fmt.Errorf("MCP server %s: %w", m.Name, fs.ErrClosed)
	}
	if m.current != nil {
		if m.current.alive(ctx) {
			return m.current, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		m.current.process.kill()
		m.current.end()
		m.current = nil
	}
	s, err := m.connect(ctx)
	if err != nil {
		return nil, err
	}
	m.current = s
	return s, nil
}

// connect starts or reaches the server. One of a protocol before 2026-07-28 may leave the question for a newer one
// unanswered, instead of saying that it does not know it: after a while it is greeted as those are. One that takes
// neither is asked anew, and waited for: it may know only the newer one, and have been slow to start.
func (m *MCP) connect(ctx context.Context) (*mcpSession, error) {
	limited, cancel := context.WithTimeout(ctx, m.start())
	defer cancel()
	defer m.patience()()
	s, mute, err := m.dial(ctx, limited, m.probing())
	if err != nil && mute && limited.Err() == nil {
		s, _, err = m.dial(ctx, limited, m.start())
	}
	return s, err
}

// usualProbe is how long a server may leave server/discover unanswered.
const usualProbe = 5 * time.Second

func (m *MCP) probing() time.Duration {
	if m.probe > 0 {
		return m.probe
	}
	return min(usualProbe, m.start()/2)
}

// discover is the request that servers of protocol 2026-07-28 answer before any other.
const discover = "server/discover"

// dial is one attempt to connect. Mute says that discover was not answered within probe.
func (m *MCP) dial(ctx, limited context.Context, probe time.Duration) (s *mcpSession, mute bool, err error) {
	transport, p, err := m.transport(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("MCP server %s: %w", m.Name, err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "perdure", Version: "1"},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	client.AddSendingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method != discover {
				return next(ctx, method, req)
			}
			short, cancel := context.WithTimeout(ctx, probe)
			defer cancel()
			res, err := next(short, method, req)
			mute = mute || err != nil && short.Err() != nil && ctx.Err() == nil
			return res, err
		}
	})
	session, err := client.Connect(limited, transport, nil)
	if err != nil {
		p.kill()
		return nil, mute, m.unstarted(ctx, limited, p, err)
	}
	s = &mcpSession{ClientSession: session, process: p, done: make(chan struct{})}
	m.watches.Go(func() {
		_ = s.Wait() // how it ended is told by the calls it cuts off
		s.end()
		close(s.done)
	})
	return s, mute, nil
}

// slowStart is how long a server may take to start before somebody is told.
const slowStart = 2 * time.Second

// patience has Waiting told when the server is slow, until what it returns is called.
func (m *MCP) patience() (stop func()) {
	if m.Waiting == nil || m.start() <= slowStart {
		return func() {}
	}
	t := time.AfterFunc(slowStart, func() { m.Waiting(m.start()) })
	return func() { t.Stop() }
}

// unstarted says why there is no connection to the server.
func (m *MCP) unstarted(ctx, limited context.Context, p *process, err error) error {
	r := redactorOf(ctx)
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist):
		return perdure.Unable(fmt.Errorf("start MCP server %s (%s): %w; is it installed, and on the PATH of this "+
			"node?", m.Name, m.where(r), err))
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case limited.Err() != nil:
		return fmt.Errorf("MCP server %s (%s) did not answer within %s%s", m.Name, m.where(r), m.start(), p.said(r))
	}
	return fmt.Errorf("start MCP server %s (%s): %w%s", m.Name, m.where(r), err, p.said(r))
}

// where is the server for people: its command line, or its address without what may be secret in it.
func (m *MCP) where(r *redactor) string {
	if len(m.Command) > 0 {
		return clip(visible(r.replace(strings.Join(m.Command, " "))))
	}
	u, err := url.Parse(m.URL)
	if err != nil || m.URL == "" {
		return "not a program of its own"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// transport is the way to the server, and its process if it is one of ours.
func (m *MCP) transport(ctx context.Context) (mcp.Transport, *process, error) {
	switch {
	case m.Transport != nil:
		t, err := m.Transport(ctx)
		return t, nil, err
	case m.URL != "":
		return m.httpTransport(), nil, nil
	}
	p := m.newProcess()
	return p, p, nil
}

// end ends the connection, and the server if it was started here.
func (s *mcpSession) end() {
	_ = s.Close() // the connection is gone either way
	s.process.wait()
}

// alive reports whether the server is there. One that let a call run out of time is asked for a sign of life: any
// answer is one.
func (s *mcpSession) alive(ctx context.Context) bool {
	select {
	case <-s.done:
		return false
	default:
	}
	if s.lost.Load() || !s.suspect.Load() {
		return !s.lost.Load()
	}
	ctx, cancel := context.WithTimeout(ctx, signOfLife)
	defer cancel()
	var answer *jsonrpc.Error
	if err := s.Ping(ctx, nil); err != nil && !errors.As(err, &answer) {
		return false
	}
	s.suspect.Store(false)
	return true
}
