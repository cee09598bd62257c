package enginetest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy stands before a server and cuts connections.
type Proxy struct {
	net.Listener
	mu    sync.Mutex
	conns []net.Conn
	Cuts  atomic.Int64 // a connection is cut after so many bytes, in either direction; zero: never
}

// NewProxy stands before a server at an address of a network until the test ends.
func NewProxy(t *testing.T, network, to string) *Proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Listener: l}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial(network, to)
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
		p.Cut()
		group.Wait()
	})
	return p
}

// pipe carries bytes until the connection is to be cut, which may be in the middle of a message.
func (p *Proxy) pipe(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	if most := p.Cuts.Load(); most > 0 {
		_, _ = io.CopyN(to, from, most)
		return
	}
	_, _ = io.Copy(to, from)
}

// Cut ends every connection.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.conns = nil
}
