package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/a2a"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/mcp"
	"github.com/perdure/perdure/server"
)

func serveCommand() *cobra.Command {
	c := command("serve", cobra.NoArgs)
	h := storeFlag(c)
	s := &serving{c: c, h: h, powers: powerFlags(c)}
	f := c.Flags()
	f.StringSliceVar(&s.conf.Listen, "listen", nil,
		"listen here: HOST:PORT, or unix:PATH; may be repeated (default "+home.DefaultListen+")")
	f.StringVar(&s.conf.URL, "url", "", "where it is reached from outside, for links (default: as requests say)")
	f.StringSliceVar(&s.conf.Hosts, "allow-host", nil, "a name it is reached by; may be repeated")
	f.StringSliceVar(&s.conf.Origins, "allow-origin", nil, "an origin whose web pages may use it; may be repeated")
	f.BoolVar(&s.conf.TLS.Own, "tls", false, "TLS with a certificate over this home's key, which clients pin")
	f.StringVar(&s.conf.TLS.Cert, "tls-cert", "", "TLS with the certificate in this file")
	f.StringVar(&s.conf.TLS.Key, "tls-key", "", "the key of --tls-cert")
	f.BoolVar(&s.conf.Plain, "plain", false, "no TLS although others can reach it: something in front of it does that")
	f.BoolVar(&s.insecure, "insecure", false, "ask nobody for a token; on loopback only")
	f.BoolVar(&s.alone, "no-node", false, "only serve; do not run agents")
	f.IntVar(&s.concurrency, "concurrency", 0, "agents run at once (default 64)")
	f.DurationVar(&s.grace, "grace", 10*time.Second,
		"how long effects and requests under way may continue after a stop")
	logger := logFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		if s.concurrency < 0 || f.Changed("concurrency") && s.concurrency == 0 {
			return perdure.Invalid(errors.New("--concurrency: want at least 1"))
		}
		if s.grace <= 0 {
			return perdure.Invalid(errors.New("--grace: want more than zero"))
		}
		var err error
		if s.log, err = logger(); err != nil {
			return err
		}
		if err := h.acting().Locate(); err != nil {
			return err
		}
		if h.Scheme == "mem" {
			return perdure.Invalid(
				errors.New("a store in memory is gone when the server ends; name another with --store"),
			)
		}
		if err := s.conf.Fill(h.Home); err != nil {
			return err
		}
		h.Patient = true
		return h.use(true, s.run)
	}
	return c
}

// serving is one run of serve.
type serving struct {
	c               *cobra.Command
	h               *homeFlag
	powers          *home.Powers
	conf            home.ServeConfig
	log             *slog.Logger
	insecure, alone bool
	concurrency     int
	grace           time.Duration

	node *perdure.Node
	desk *home.Desk
	runs func() error // why nothing runs agents here
}

// run serves, and runs agents, until it is stopped.
func (s *serving) run(ctx context.Context, store perdure.Store) (err error) {
	if err := s.makeNode(ctx, store); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.powers.Close()) }()
	t, err := s.h.Telemetry(store, version, s.log)
	if err != nil {
		return err
	}
	s.node.Observer = t
	s.desk = &home.Desk{Home: s.h.Home, Store: store, Node: s.node}
	requests, err := s.h.OpenRequests(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, requests.Close()) }()
	web := &server.Server{
		Desk:     s.desk,
		Requests: requests,
		Version:  version,
		Log:      s.log,
		Open:     s.insecure,
		Hosts:    s.conf.Hosts,
		Origins:  s.conf.Origins,
		URL:      s.conf.URL,
		Tools:    s.tools,
		Node:     s.about,
		Metric:   t,
	}
	if err := s.mount(ctx, web); err != nil {
		return err
	}
	listeners, err := s.listen(ctx)
	if err != nil {
		return err
	}
	untold, err := s.h.Notifying(ctx, s.node, s.log)
	if err != nil {
		return err
	}
	unpeered, err := s.h.Peering(ctx, s.desk, s.log)
	if err != nil {
		return err
	}
	unfollow := s.h.FollowTrust(ctx, s.node, s.log)
	err = together(ctx, func(ctx context.Context) error { return web.Serve(ctx, s.grace, listeners...) }, s.work)
	unfollow()
	unpeered()
	untold()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := t.Close(last); err != nil {
		s.log.Warn("the last telemetry could not be sent", "err", err)
	}
	if err != nil {
		return err
	}
	s.log.Info("stopped")
	if errors.Is(context.Cause(ctx), errTerminated) {
		return nil // whoever sent SIGTERM wanted it to end, and it did
	}
	return ctx.Err()
}

// together serves and works until ctx ends, or one of the two does: a server whose node has ended would take what
// nobody does.
func together(ctx context.Context, serve, work func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	worked := make(chan error, 1)
	go func() {
		err := work(ctx)
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			err = nil // it was told to
		}
		stop()
		worked <- err
	}()
	err := serve(ctx)
	stop()
	return errors.Join(err, <-worked)
}

// makeNode makes the node that stores what is said here, and runs agents unless it is told not to.
func (s *serving) makeNode(ctx context.Context, store perdure.Store) (err error) {
	if s.alone {
		s.runs = func() error { return errors.New("it was started with --no-node") }
		if s.node, err = s.h.Node(ctx, store); err == nil {
			s.node.Log = s.log
		}
		return err
	}
	s.runs = func() error { return nil }
	if s.node, err = s.powers.Node(ctx, s.h.Home, store, s.log); err != nil {
		return err
	}
	s.node.Concurrency, s.node.Grace = s.concurrency, s.grace
	return nil
}

// work runs agents until ctx ends.
func (s *serving) work(ctx context.Context) error {
	if s.alone {
		<-ctx.Done()
		return ctx.Err()
	}
	leave, ours, err := s.h.Attend()
	if err != nil {
		s.log.Warn("say that a node runs here", "err", err)
	} else if ours {
		defer func() { _ = leave() }() // it ends with the process anyway
	}
	return s.node.Run(ctx)
}

// tools are those of the node, and what policy says of them.
func (s *serving) tools(_ context.Context, a *perdure.Agent) ([]home.ToolUse, error) {
	if s.alone {
		return []home.ToolUse{}, nil
	}
	return s.powers.Uses(s.h.Home, s.node, a)
}

// about is the node, for those who ask.
func (s *serving) about(ctx context.Context) (n client.Node, err error) {
	n = client.Node{Name: s.node.Key.Name, Key: s.node.Key.Key(), Version: version, Runs: !s.alone}
	n.Advisors, n.Tools = home.Describe(s.node)
	file, err := home.ReadNodeFile(s.h.Home)
	if err != nil {
		return n, err
	}
	n.Capable = *home.Capable(s.node, n.Runs, file.Scopes...)
	if why := s.runs(); why != nil {
		n.Why = why.Error()
	}
	n.Place, err = s.h.PlaceOf(ctx, s.desk.Store)
	return n, err
}

// mount gives the server what it has besides the API.
func (s *serving) mount(ctx context.Context, web *server.Server) error {
	hooks, err := s.h.Webhooks(ctx, s.desk)
	if err != nil {
		return err
	}
	if hooks != nil {
		hooks.Fail = web.Fail
		web.Webhooks = hooks
	}
	m := &mcp.Server{
		Home:    s.h.Home,
		Store:   s.desk.Store,
		Node:    s.node,
		Desk:    s.desk,
		Running: s.runs,
		Version: version,
		Log:     s.log,
		Guests:  true,
	}
	web.MCP = m.Handler(ctx)
	url := s.conf.URL
	if url == "" {
		url = "http://" + s.conf.Listen[0]
	}
	task := &a2a.Server{
		Home:    s.h.Home,
		Store:   s.desk.Store,
		Node:    s.node,
		Desk:    s.desk,
		Guests:  true,
		URL:     strings.TrimSuffix(url, "/") + "/a2a",
		Version: version,
	}
	web.A2A, web.Card = task.Handler(), task.Card()
	return nil
}

// listen opens every address.
func (s *serving) listen(ctx context.Context) (all []net.Listener, err error) {
	var secure *tls.Config
	if secure, err = s.h.ServeTLS(&s.conf); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			for _, ln := range all {
				_ = ln.Close() // nothing came yet
			}
		}
	}()
	for _, address := range s.conf.Listen {
		local := strings.HasPrefix(address, "unix:")
		if local && address == "unix:" {
			address += filepath.Join(s.h.Dir, home.SocketFile)
		}
		x := server.Listening{Address: address, Plain: s.conf.Plain, Open: s.insecure}
		scheme := "http"
		if secure != nil && !local {
			x.TLS, scheme = secure, "https"
		}
		ln, err := server.Listen(ctx, x)
		if err != nil {
			return all, err
		}
		all = append(all, ln)
		where := address
		if !local {
			where = scheme + "://" + ln.Addr().String()
		}
		advisors, tools := home.Describe(s.node)
		s.log.Info("serving", "at", where, "store", s.h.Where(), "key", s.node.Key.Key().Short(), "tokens",
			!s.insecure && !local, "node", !s.alone, "advisors", advisors, "tools", tools)
	}
	if len(all) == 0 {
		return nil, perdure.Invalid(fmt.Errorf("nothing to listen on; name an address with --listen"))
	}
	return all, nil
}
