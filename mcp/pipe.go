package mcp

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// answering is a pipe whose end is not the end of what was asked before it: the calls that came are answered first, so
// that a file of calls can be piped in. What the client would have to answer itself is not waited for.
type answering struct{ sdk.Transport }

// Connect implements sdk.Transport.
func (a answering) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := a.Transport.Connect(ctx)
	return &answeringConn{Connection: c, changed: make(chan struct{}), closed: make(chan struct{})}, err
}

type answeringConn struct {
	sdk.Connection
	mu      sync.Mutex
	open    int           // calls of the client that have no answer yet
	asked   int           // calls of ours that have none
	changed chan struct{} // closed when these change
	closed  chan struct{}
	once    sync.Once
}

// Read implements sdk.Connection.
func (c *answeringConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	switch m := msg.(type) {
	case *jsonrpc.Request:
		if m.IsCall() {
			c.count(1, 0)
		}
	case *jsonrpc.Response:
		c.count(0, -1)
	}
	if errors.Is(err, io.EOF) {
		c.drain(ctx)
	}
	return msg, err
}

// Write implements sdk.Connection.
func (c *answeringConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	err := c.Connection.Write(ctx, msg)
	switch m := msg.(type) {
	case *jsonrpc.Request:
		if m.IsCall() {
			c.count(0, 1)
		}
	case *jsonrpc.Response:
		c.count(-1, 0)
	}
	return err
}

// Close implements sdk.Connection.
func (c *answeringConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}

func (c *answeringConn) count(open, asked int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open, c.asked = c.open+open, c.asked+asked
	close(c.changed)
	c.changed = make(chan struct{})
}

// drain waits until what was asked is answered.
func (c *answeringConn) drain(ctx context.Context) {
	for {
		c.mu.Lock()
		over, changed := c.open <= 0 || c.asked > 0, c.changed
		c.mu.Unlock()
		if over {
			return
		}
		select {
		case <-changed:
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}
