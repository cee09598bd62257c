package tool

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// process is an MCP server that was started here, as a transport to it. Nothing it started outlives it, or this
// process, unless that has moved itself to a process group of its own.
type process struct {
	cmd    *exec.Cmd
	cancel context.CancelFunc // kills its process group
	stderr *output
	calls  *calls // that it has not answered, which it has open, too

	started bool
	stdin   io.WriteCloser
	once    sync.Once
	ended   chan struct{} // closed when it has ended and nothing is left of it
}

// newProcess is the server, not started yet.
func (m *MCP) newProcess() *process {
	env := m.Env
	if env == nil {
		env = []string{"PATH", "HOME"}
	}
	// it lives as long as the connection, not as the call that began it
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{cmd: exec.CommandContext(ctx, m.Command[0], m.Command[1:]...), cancel: cancel,
		stderr: newOutput(maxStderr, maxStderr), calls: newServerCalls(), ended: make(chan struct{})}
	p.cmd.ExtraFiles = p.calls.inherited()
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr, p.cmd.WaitDelay = m.Dir, environ(env), p.stderr, waitOutput
	return p
}

// environ is the environment that a list of variables stands for.
func environ(names []string) []string {
	s := Shell{Env: names}
	env := s.environ("")
	return env[:len(env)-1] // without the key of a call: a server has many
}

// Connect implements mcp.Transport.
func (p *process) Connect(ctx context.Context) (mcp.Connection, error) {
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := startGroup(p.cmd); err != nil {
		p.cancel()
		p.calls.close()
		return nil, err
	}
	p.started = true
	t := &mcp.IOTransport{Reader: io.NopCloser(stdout), Writer: p, MaxLineLength: maxMessage}
	conn, err := t.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &processConn{Connection: conn, calls: p.calls, open: map[jsonrpc.ID]func(){}}, nil
}

// processConn is the connection to a server that was started here. A call is on the list of the server from before it
// is given to it until it has answered, also when nobody waits for the answer any more: it may take no notice of that.
type processConn struct {
	mcp.Connection
	calls *calls

	mu   sync.Mutex
	open map[jsonrpc.ID]func() // that take a call from the list
}

// Write implements mcp.Connection.
func (c *processConn) Write(ctx context.Context, m jsonrpc.Message) error {
	call, ours := ctx.Value(sendingKey{}).(*sending)
	req, asks := m.(*jsonrpc.Request)
	if !ours || !asks || !req.IsCall() {
		return c.Connection.Write(ctx, m)
	}
	c.mu.Lock()
	c.open[req.ID] = c.calls.add(call.key)
	c.mu.Unlock()
	if err := c.Connection.Write(ctx, m); err != nil {
		c.over(req.ID) // a part of a line is no call
		return err
	}
	call.sent.Store(true)
	return nil
}

// Read implements mcp.Connection.
func (c *processConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if answer, ok := m.(*jsonrpc.Response); ok {
		c.over(answer.ID)
	}
	return m, err
}

// over takes a call from the list.
func (c *processConn) over(id jsonrpc.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if done := c.open[id]; done != nil {
		done()
		delete(c.open, id)
	}
}

// Write writes to the standard input of the server.
func (p *process) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// Close ends the server as the protocol says: its input is closed, then it is told to end, then it is killed.
func (p *process) Close() error {
	p.once.Do(func() {
		defer close(p.ended)
		_ = p.stdin.Close() // it may be gone already
		exited := make(chan struct{})
		go func() {
			_ = p.cmd.Wait() // an exit code other than 0 is no error of ours
			close(exited)
		}()
		defer func() {
			<-exited
			killGroup(p.cmd)
			p.cancel()
			p.calls.close()
		}()
		for _, next := range []func(){func() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }, p.cancel} {
			grace := time.NewTimer(endGrace)
			select {
			case <-exited:
				grace.Stop()
				return
			case <-grace.C:
				next()
			}
		}
	})
	return nil
}

// kill ends a server that does not answer at once.
func (p *process) kill() {
	if p != nil && p.started {
		p.cancel()
		_ = p.Close()
	}
}

// wait waits until nothing is left of the server.
func (p *process) wait() {
	if p != nil && p.started {
		_ = p.Close()
		<-p.ended
	}
}

// said is what the server wrote to its standard error, for an error message.
func (p *process) said(r *redactor) string {
	if p == nil {
		return ""
	}
	text := strings.TrimSpace(p.stderr.text(r))
	if text == "" {
		return ""
	}
	return fmt.Sprintf("; it wrote: %s", clip(text))
}
