// Package demo is what the examples have in common: a store to run on, and the patience to wait for an agent.
package demo

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/store/sqlite"
	"github.com/perdure/perdure/view"
)

// Main runs an example on the store that -store names, or on one of its own that is gone afterwards.
func Main(run func(ctx context.Context, store perdure.Store, out io.Writer) error) {
	path := flag.String("store", "", "the store to use and keep (default: a new one that is removed)")
	flag.Parse()
	if err := onStore(*path, run); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func onStore(path string, run func(ctx context.Context, store perdure.Store, out io.Writer) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if path == "" {
		dir, err := os.MkdirTemp("", "perdure-example-")
		if err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(dir) }() // a folder that stays is no harm
		path = filepath.Join(dir, "agents.db")
	}
	store, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	return errors.Join(run(ctx, store, os.Stdout), store.Close())
}

// Until works on every agent of the store that is due until is holds for the fold of one, and returns that agent. A program of its own would
// call Node.Run, which does the same for any number of agents at once and until it is stopped.
func Until(ctx context.Context, n *perdure.Node, id perdure.AgentID, is func(f *perdure.Fold) bool) (*perdure.Agent, error) {
	for {
		next, err := work(ctx, n)
		if err != nil {
			return nil, err
		}
		a, err := perdure.Load(ctx, n.Store, id)
		if err != nil || is(a.Fold()) {
			return a, err
		}
		if next.IsZero() {
			return nil, fmt.Errorf("agent %s is %s, and nothing is due", id.Short(), a.Standing(nil, perdure.Hash{}, time.Now()))
		}
		if err := Sleep(ctx, next); err != nil {
			return nil, err
		}
	}
}

// Ended is for Until: the agent has ended.
func Ended(f *perdure.Fold) bool { return f.Ended != nil }

// work runs what is due now, and returns when something is due next.
func work(ctx context.Context, n *perdure.Node) (next time.Time, err error) {
	now := time.Now()
	var due []perdure.AgentID
	for look, err := range n.Store.Due(ctx, now.AddDate(1, 0, 0)) {
		if err != nil {
			return next, err
		}
		if at := look.Due.Go(); at.After(now) {
			next = at
			break
		}
		due = append(due, look.Agent)
	}
	for _, id := range due {
		idle, err := n.RunAgent(ctx, id)
		if err != nil {
			return next, err
		}
		if idle.Needs != "" {
			return next, fmt.Errorf("agent %s: %s", id.Short(), view.Why(idle))
		}
	}
	if len(due) > 0 {
		return now, nil // what they did may have made others due
	}
	return next, nil
}

// Sleep waits until a time.
func Sleep(ctx context.Context, until time.Time) error {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
