package mcp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/workspace"
)

// Local serves the agents of a home to one client that started this process, and runs them meanwhile.
type Local struct {
	Home    *home.Home
	Store   perdure.Store
	Powers  *home.Powers
	Alone   bool                     // only serve: run no agents
	Role    string                   // whose memory the client has
	Scope   string                   // where that role belongs, if it is new; empty: as Workspace.Scope says
	Typed   func(text string) string // as in Server
	Version string
	Log     *slog.Logger
}

// Serve serves until the client's input ends or ctx does. Neither in nor out is closed.
func (l *Local) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	if l.Role != "" {
		if err := workspace.CheckRole(l.Role); err != nil {
			return err
		}
	}
	if l.Powers != nil {
		l.Powers.Govern(l.Home)
	}
	n, err := l.Home.Node(ctx, l.Store)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer l.Home.FollowTrust(ctx, n, l.Log)()
	w, err := l.Home.Workspace(ctx, l.Store, n)
	if err != nil {
		return err
	}
	defer func() { _ = w.Index.Close() }() // it can be thrown away
	if w.Scope = l.Scope; l.Scope != "" && workspace.CheckScope(l.Scope) != nil {
		if _, err := w.As(ctx, l.Role); err != nil { // it may be there since before such scopes were refused
			return err
		}
	}
	server := &Server{Home: l.Home, Store: l.Store, Node: n, Typed: l.Typed, Version: l.Version, Log: l.Log,
		Memory: remembered(w, l.Role), Running: func() error { return errors.New("it was started with --no-node") }}
	var working sync.WaitGroup
	if !l.Alone {
		a := &home.Attendant{Home: l.Home, Store: l.Store, Powers: l.Powers, Log: l.Log}
		server.Running = a.Lacks
		working.Go(func() { a.Run(ctx) })
	}
	err = server.Serve(ctx, io.NopCloser(in), keptOpen{out})
	stop()
	working.Wait()
	return err
}

// remembered is the memory of a role, which is found or made when it is first used.
func remembered(w *workspace.Workspace, role string) func(context.Context, *home.Visitor) (*workspace.Reader, error) {
	var mu sync.Mutex
	var r *workspace.Reader
	return func(ctx context.Context, _ *home.Visitor) (*workspace.Reader, error) {
		mu.Lock()
		defer mu.Unlock()
		if r != nil {
			return r, nil
		}
		as, err := w.As(ctx, role)
		if err == nil && as.Begun() { // else it is this call's alone: another process may begin the role meanwhile
			r = as
		}
		return as, err
	}
}

// keptOpen is a writer that others may close.
type keptOpen struct{ io.Writer }

func (keptOpen) Close() error { return nil }
