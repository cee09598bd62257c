package server

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/a2a"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/mcp"
)

// Service is a home that is served: the API, webhooks, MCP, A2A and metrics, and a node that runs its agents.
type Service struct {
	Home    *home.Home
	Powers  *home.Powers
	Conf    home.ServeConfig // as Fill leaves it
	Version string
	Log     *slog.Logger

	Open        bool          // nobody is asked for a token; on loopback only
	Alone       bool          // only serve: run no agents
	Concurrency int           // agents run at once; zero: the default
	Grace       time.Duration // how long effects and requests under way may continue after a stop

	node *perdure.Node
	desk *home.Desk
}

// lastWords is how long a server that stops tries to send its last telemetry.
const lastWords = 5 * time.Second

// Run serves, and runs agents, until ctx ends or it cannot.
func (s *Service) Run(ctx context.Context, store perdure.Store) (err error) {
	if err := s.makeNode(ctx, store); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Powers.Close()) }()
	t, err := s.Home.Telemetry(store, s.Version, s.Log)
	if err != nil {
		return err
	}
	s.node.Observer = t
	_, _ = s.Home.SweepLinks(perdure.Key{}, time.Now()) // what fails is said to who makes the next link
	s.desk = &home.Desk{Home: s.Home, Store: store, Node: s.node}
	requests, err := s.Home.OpenRequests(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, requests.Close()) }()
	s.desk.Requests = requests
	web := &Server{Desk: s.desk, Requests: requests, Version: s.Version, Log: s.Log, Open: s.Open, Hosts: s.Conf.Hosts,
		Origins: s.Conf.Origins, URL: s.Conf.URL, Tools: s.tools, Node: s.about, Metric: t}
	kept := &home.Memories{Desk: s.desk}
	defer func() { _ = kept.Close() }() // the index can be thrown away
	if err := s.mount(ctx, web, kept); err != nil {
		return err
	}
	listeners, err := s.listen(ctx)
	if err != nil {
		return err
	}
	untend, err := s.Home.Tend(ctx, s.desk, s.Log)
	if err != nil {
		return err
	}
	defer home.SayStopping(ctx, s.Grace, s.Log)()
	err = together(ctx, func(ctx context.Context) error { return web.Serve(ctx, s.Grace, listeners...) }, s.work)
	untend()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
	defer cancel()
	if err := t.Close(last); err != nil {
		s.Log.Warn("the last telemetry could not be sent", "err", err)
	}
	return err
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

// runs is why nothing runs agents here; nil: something does.
func (s *Service) runs() error {
	if s.Alone {
		return errors.New("it was started with --no-node")
	}
	return nil
}

// makeNode makes the node that stores what is said here, and runs agents unless it is told not to.
func (s *Service) makeNode(ctx context.Context, store perdure.Store) (err error) {
	if s.Alone {
		s.Powers.Govern(s.Home)
		if s.node, err = s.Home.Node(ctx, store); err == nil {
			s.node.Log = s.Log
		}
		return err
	}
	if s.node, err = s.Powers.Node(ctx, s.Home, store, s.Log); err != nil {
		return err
	}
	s.node.Concurrency, s.node.Grace = s.Concurrency, s.Grace
	return nil
}

// work runs agents until ctx ends.
func (s *Service) work(ctx context.Context) error {
	if s.Alone {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Home.RunAgents(ctx, s.node, s.Log)
}

// tools are those of the node, and what policy says of them.
func (s *Service) tools(_ context.Context, a *perdure.Agent) ([]home.ToolUse, error) {
	if s.Alone {
		return []home.ToolUse{}, nil
	}
	return s.Powers.Uses(s.Home, s.node, a)
}

// about is the node, for those who ask.
func (s *Service) about(ctx context.Context) (n client.Node, err error) {
	n = client.Node{Name: s.node.Key.Name, Key: s.node.Key.Key(), Version: s.Version, Runs: !s.Alone}
	n.Advisors, n.Tools = home.Describe(s.node)
	n.Capable = *home.Capable(s.node, n.Runs)
	if why := s.runs(); why != nil {
		n.Why = why.Error()
	}
	at, err := s.Home.PlaceOf(ctx, s.desk.Store)
	n.Place = at.ID
	return n, err
}

// mount gives the server what it has besides the API.
func (s *Service) mount(ctx context.Context, web *Server, kept *home.Memories) error {
	hooks, err := s.Home.Webhooks(ctx, s.desk)
	if err != nil {
		return err
	}
	if hooks != nil {
		hooks.Fail = web.Fail
		web.Webhooks = hooks
	}
	web.MCP = (&mcp.Server{Home: s.Home, Store: s.desk.Store, Node: s.node, Desk: s.desk, Running: s.runs,
		Version: s.Version, Log: s.Log, Guests: true, Memory: kept.Of}).Handler(ctx)
	task := &a2a.Server{Home: s.Home, Store: s.desk.Store, Node: s.node, Desk: s.desk, Guests: true,
		URL: strings.TrimSuffix(s.Conf.URL, "/") + "/a2a", Version: s.Version}
	web.A2A, web.Card = task.Handler(), task.Card()
	return nil
}

// listen opens every address.
func (s *Service) listen(ctx context.Context) (all []net.Listener, err error) {
	secure, err := s.Home.ServeTLS(&s.Conf)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			for _, ln := range all {
				_ = ln.Close() // nothing came yet
			}
		}
	}()
	for _, address := range s.Conf.Listen {
		local := strings.HasPrefix(address, unixPrefix)
		if local && address == unixPrefix {
			address += filepath.Join(s.Home.Dir, home.SocketFile)
		}
		x := Listening{Address: address, Plain: s.Conf.Plain, Open: s.Open}
		scheme := "http"
		if secure != nil && !local {
			x.TLS, scheme = secure, "https"
		}
		ln, err := Listen(ctx, x)
		if err != nil {
			return all, err
		}
		all = append(all, ln)
		where := address
		if !local {
			where = scheme + "://" + ln.Addr().String()
		}
		advisors, tools := home.Describe(s.node)
		s.Log.Info("serving", "at", where, "store", s.Home.Where(), "key", s.node.Key.Key().Short(), "tokens",
			!s.Open && !local, "node", !s.Alone, "advisors", advisors, "tools", tools)
	}
	if len(all) == 0 {
		return nil, perdure.Invalid(errors.New("nothing to listen on; name an address with --listen"))
	}
	return all, nil
}
