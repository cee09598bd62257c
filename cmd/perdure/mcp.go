package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/mcp"
	"github.com/perdure/perdure/view"
	"github.com/perdure/perdure/workspace"
)

func mcpCommand() *cobra.Command {
	c := command("mcp", cobra.NoArgs)
	h := storeFlag(c).acting()
	p := powerFlags(c)
	alone := c.Flags().Bool("no-node", false, "only serve; do not run agents")
	role := c.Flags().String("role", "", "the role whose memory the client has (default: $"+roleEnv+", else "+
		""+defaultRole+")")
	client := &choice{"", []string{"claude", "cursor", "vscode"}}
	choiceFlag(c, client, "config", "print what to give to this client, and serve nothing")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := h.Locate(); err != nil {
			return err
		}
		if h.Scheme == "mem" {
			return perdure.Invalid(errors.New("a store in memory is gone when the client ends, with all its agents; " +
				"name another with --store"))
		}
		if client.value != "" {
			return printClientConfig(c, h, client.value, *alone, *role)
		}
		if term.IsTerminal(c.InOrStdin()) {
			note(c, "this speaks MCP with a program, which starts it: see perdure mcp --config")
		}
		return h.use(true, func(ctx context.Context, s perdure.Store) error {
			return serveMCP(ctx, c, h, s, p, *alone, cmp.Or(*role, os.Getenv(roleEnv), defaultRole))
		})
	}
	return c
}

// defaultRole is whose memory a client has that names no role.
const defaultRole = "assistant"

// serveMCP serves one client, and runs agents meanwhile.
func serveMCP(ctx context.Context, c *cobra.Command, h *homeFlag, s perdure.Store, p *home.Powers, alone bool,
	role string) error {
	log := nodeLog(c, "auto", slog.LevelWarn)
	n, err := h.Node(ctx, s)
	if err != nil {
		return err
	}
	whole := ctx
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	unfollow := h.FollowTrust(ctx, n, log)
	defer unfollow()
	server := &mcp.Server{Home: h.Home, Store: s, Node: n, Typed: here, Version: version, Log: log}
	w, err := h.Workspace(ctx, s, n)
	if err != nil {
		return err
	}
	defer func() { _ = w.Index.Close() }() // it can be thrown away
	server.Memory = remembered(w, role)
	a := &attendant{log: log, why: errors.New("it was started with --no-node")}
	server.Running = a.lacks
	var working sync.WaitGroup
	if !alone {
		a.why = nil
		working.Go(func() { a.attend(ctx, h.Home, s, p) })
	}
	err = server.Serve(ctx, io.NopCloser(c.InOrStdin()), keptOpen{term.Raw(c.OutOrStdout())})
	stop()
	working.Wait()
	if err == nil && !errors.Is(context.Cause(whole), errTerminated) {
		return whole.Err()
	}
	return err // whoever sent SIGTERM wanted it to end, and it did
}

// remembered is the memory of a role, which is found or made when it is first used.
func remembered(w *workspace.Workspace, role string) func(context.Context) (*workspace.Reader, error) {
	var mu sync.Mutex
	var r *workspace.Reader
	return func(ctx context.Context) (_ *workspace.Reader, err error) {
		mu.Lock()
		defer mu.Unlock()
		if r == nil {
			r, err = w.As(ctx, role)
		}
		return r, err
	}
}

// keptOpen is a writer that others may close.
type keptOpen struct{ io.Writer }

func (keptOpen) Close() error { return nil }

// attendant runs the agents of a store while nobody else does.
type attendant struct {
	log *slog.Logger
	mu  sync.Mutex
	why error // why nothing runs them, as far as is known
}

const (
	// attendEvery is how often it looks whether the process that runs the agents still does.
	attendEvery = time.Second
	// attendAgain is when it tries again what it cannot do, such as to start what node.yaml names.
	attendAgain = 15 * time.Second
)

func (a *attendant) lacks() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.why
}

func (a *attendant) set(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if why != nil && (a.why == nil || why.Error() != a.why.Error()) {
		a.log.Warn("agents are not run", "err", why)
	}
	a.why = why
}

// attend runs agents whenever nobody else does, until ctx ends.
func (a *attendant) attend(ctx context.Context, h *home.Home, s perdure.Store, p *home.Powers) {
	for ctx.Err() == nil {
		leave, ours, err := h.Attend()
		if ours {
			powers := *p
			err = errors.Join(a.run(ctx, h, s, &powers), leave())
		}
		again := attendEvery
		if ctx.Err() == nil {
			a.set(err)
		}
		if err != nil {
			again = attendAgain
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

// run runs agents until ctx ends or it cannot.
func (a *attendant) run(ctx context.Context, h *home.Home, s perdure.Store, p *home.Powers) error {
	n, err := p.Node(ctx, h, s, a.log)
	if err != nil {
		return err
	}
	if a.set(nil); len(n.Advisors) == 0 {
		a.set(perdure.WithHint(errors.New("no advisor is configured here"), view.AddAdvisor))
	}
	stop := h.FollowTrust(ctx, n, a.log)
	err = n.Run(ctx)
	stop()
	return errors.Join(err, p.Close())
}

// mcpName is what clients are told to call the server.
const mcpName = "perdure"

// printClientConfig prints what makes a client start this program.
func printClientConfig(c *cobra.Command, h *homeFlag, client string, alone bool, role string) error {
	text, err := clientConfig(h, client, alone, role)
	if err == nil {
		_, err = fmt.Fprintln(c.OutOrStdout(), text)
	}
	return err
}

// clientConfig is what makes a client start this program: a command to type, or a file of its own.
func clientConfig(h *homeFlag, client string, alone bool, role string) (string, error) {
	program, err := exec.LookPath(os.Args[0]) // not what a link leads to: that may go with the next version
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		return "", err
	}
	args := []string{"mcp"}
	if url := cmp.Or(h.URL, os.Getenv(home.StoreEnv)); url != "" || h.Found {
		where, err := storeOf(h, url)
		if err != nil {
			return "", err
		}
		args = append(args, "--store", where)
	}
	if alone {
		args = append(args, "--no-node")
	}
	if role != "" {
		args = append(args, "--role", role)
	}
	type starts struct {
		Type    string   `json:"type,omitempty"`
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	var config any
	switch client {
	case "claude":
		words := []string{"claude mcp add", mcpName, "--", pasted(program)}
		for _, word := range args {
			if !strings.HasPrefix(word, "--") { // a flag of ours
				word = pasted(word)
			}
			words = append(words, word)
		}
		return strings.Join(words, " "), nil
	case "cursor":
		config = map[string]any{"mcpServers": map[string]any{mcpName: starts{"", program, args}}}
	case "vscode":
		config = map[string]any{"servers": map[string]any{mcpName: starts{"stdio", program, args}}}
	}
	text, err := json.MarshalIndent(config, "", "  ")
	return string(text), err
}

// storeOf is the store as a process that starts anywhere finds it.
func storeOf(h *homeFlag, url string) (string, error) {
	if url == "" {
		return filepath.Abs(h.Dir)
	}
	if shown := home.Shown(url); shown != url || h.Remote() {
		return shown, nil
	}
	scheme, path, found := strings.Cut(url, ":")
	if !found || strings.ContainsAny(scheme, `/\.`) || len(scheme) == 1 { // as the home takes it
		return filepath.Abs(url)
	}
	path, options, asked := strings.Cut(path, "?")
	path, err := filepath.Abs(path)
	if asked {
		path += "?" + options
	}
	return scheme + ":" + path, err
}
