package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/perdure/perdure"
)

// The limits of connections. A request that takes longer than these is cut off; streams and capsules set their own.
const (
	headerTimeout = 10 * time.Second
	readTimeout   = time.Minute
	writeTimeout  = 2 * time.Minute
	idleTimeout   = 2 * time.Minute
	maxHeader     = 32 << 10
	// MaxConns is how many connections there are at once, if nobody says. One address has five of six at most: a proxy
	// in front of the server may need as many, and somebody at another address still gets through.
	MaxConns = 12_000
)

// unixPrefix marks an address that is a socket in a folder.
const unixPrefix = "unix:"

// Listening says where a server listens, and for whom.
type Listening struct {
	Address string      // HOST:PORT, or unix:PATH
	TLS     *tls.Config // nil: none
	Plain   bool        // something in front of it does TLS: others may reach it without
	Open    bool        // no token is needed
	Conns   int         // at once; zero: MaxConns
}

// Listen opens a socket. One that others can reach must have TLS, and only what nobody else can reach may be open.
func Listen(ctx context.Context, l Listening) (net.Listener, error) {
	path, local := strings.CutPrefix(l.Address, unixPrefix)
	if local {
		return limited(l.Conns)(listenUnix(ctx, path))
	}
	loop, err := loopback(ctx, l.Address)
	var wrong *net.AddrError
	switch {
	case errors.As(err, &wrong):
		return nil, notAddress(l.Address, wrong)
	case err != nil:
		return nil, perdure.Invalid(fmt.Errorf("listen at %s: %w", l.Address, err))
	case l.Open && !loop:
		return nil, perdure.Invalid(
			fmt.Errorf(
				"%s can be reached from elsewhere: without tokens it listens on loopback only, such as 127.0.0.1:7433",
				l.Address,
			),
		)
	case !loop && l.TLS == nil && !l.Plain:
		return nil, perdure.WithHint(
			perdure.Invalid(
				fmt.Errorf("%s can be reached from elsewhere, and tokens would go there in the clear", l.Address),
			),
			"add --tls, or --plain if something in front of it does TLS",
		)
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", l.Address)
	switch {
	case errors.As(err, &wrong):
		err = notAddress(l.Address, wrong)
	case errors.Is(err, syscall.EADDRINUSE):
		err = perdure.WithHint(fmt.Errorf("listen at %s: another program does already", l.Address),
			"is perdure serve running? Else choose another address with --listen")
	}
	if ln, err = limited(l.Conns)(ln, err); err != nil || l.TLS == nil {
		return ln, err
	}
	return tls.NewListener(ln, l.TLS), nil
}

func notAddress(address string, why *net.AddrError) error {
	return perdure.WithHint(perdure.Invalid(fmt.Errorf("listen at %s: %s", address, why.Err)),
		"want HOST:PORT, the port from 1 to 65535, or unix:PATH")
}

// Free says which of some addresses another program listens at, before anything is made for who wants to.
func Free(ctx context.Context, addresses []string) error {
	for _, address := range addresses {
		if strings.HasPrefix(address, unixPrefix) {
			continue
		}
		ln, err := Listen(ctx, Listening{Address: address, Plain: true})
		if err != nil {
			return err
		}
		_ = ln.Close() // nothing came
	}
	return nil
}

// loopback reports whether an address is one that only this machine reaches.
func loopback(ctx context.Context, address string) (bool, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false, err
	}
	if host == "" {
		return false, nil
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback(), nil
	}
	all, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return false, err
	}
	for _, ip := range all {
		if !ip.Unmap().IsLoopback() {
			return false, nil
		}
	}
	return len(all) > 0, nil
}

// listenUnix opens a socket in a folder, for the owner alone. One that a killed server left is replaced.
func listenUnix(ctx context.Context, path string) (net.Listener, error) {
	if path == "" {
		return nil, perdure.Invalid(errors.New("unix: wants the path of a socket"))
	}
	if c, err := new(net.Dialer).DialContext(ctx, "unix", path); err == nil {
		_ = c.Close() // it was only to see
		return nil, perdure.WithHint(fmt.Errorf("another server listens on %s", path),
			"stop it, or name another socket")
	}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	// Nobody may come before the mode is set: the folder keeps others out until then, or the umask does.
	undo := tighten()
	ln, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	undo()
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

// limited bounds the connections of a listener: more wait to be accepted.
func limited(most int) func(net.Listener, error) (net.Listener, error) {
	return func(ln net.Listener, err error) (net.Listener, error) {
		if err != nil {
			return nil, err
		}
		if most <= 0 {
			most = MaxConns
		}
		return &bounded{Listener: ln, slots: make(chan struct{}, most), done: make(chan struct{}),
			share: max(1, most*5/6), from: map[string]int{}}, nil
	}
}

type bounded struct {
	net.Listener
	slots chan struct{}
	done  chan struct{}
	once  sync.Once
	share int // of one address

	mu   sync.Mutex
	from map[string]int // connections by address
}

func (b *bounded) Accept() (net.Conn, error) {
	select {
	case b.slots <- struct{}{}:
	case <-b.done:
		return nil, net.ErrClosed
	}
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			<-b.slots
			return nil, err
		}
		who := addressOf(c.RemoteAddr().String())
		if c.RemoteAddr().Network() == "unix" || b.enter(who) {
			return &counted{Conn: c, free: func() { b.leave(who); <-b.slots }}, nil
		}
		_ = c.Close() // nothing was said
	}
}

// enter counts a connection of an address, unless it has its share.
func (b *bounded) enter(who string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.from[who] >= b.share {
		return false
	}
	b.from[who]++
	return true
}

func (b *bounded) leave(who string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.from[who]--; b.from[who] <= 0 {
		delete(b.from, who)
	}
}

func (b *bounded) Close() error {
	b.once.Do(func() { close(b.done) })
	return b.Listener.Close()
}

// counted frees its slot once, when it is closed.
type counted struct {
	net.Conn
	once sync.Once
	free func()
}

func (c *counted) Close() error {
	c.once.Do(c.free)
	return c.Conn.Close()
}

// Serve serves on listeners until ctx ends, then lets requests under way finish for a while. Streams end at once: their
// readers resume.
func (s *Server) Serve(ctx context.Context, grace time.Duration, listeners ...net.Listener) error {
	streams, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	h := &http.Server{
		Handler: s.Handler(
			streams,
		), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout,
		IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader, ConnContext: LocalConn,
		ErrorLog: slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, len(listeners))
	for _, ln := range listeners {
		go func() { failed <- h.Serve(ln) }()
	}
	var err error
	left := len(listeners)
	select {
	case <-ctx.Done():
	case err = <-failed:
		left--
	}
	cut()
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if stop := h.Shutdown(end); stop != nil {
		err = errors.Join(err, h.Close())
	}
	for range left {
		<-failed
	}
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}
