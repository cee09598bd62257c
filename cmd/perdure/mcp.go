package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/mcp"
	"github.com/perdure/perdure/workspace"
)

func mcpCommand() *cobra.Command {
	c := command("mcp", cobra.NoArgs)
	h := storeFlag(c).acting()
	l := &mcp.Local{Home: h.Home, Powers: powerFlags(c), Typed: here, Version: version}
	c.Flags().BoolVar(&l.Alone, "no-node", false, "only serve; do not run agents")
	role := c.Flags().String("role", "", "the role whose memory the client has (default: $"+roleEnv+", else "+
		workspace.DefaultRole+")")
	c.Flags().StringVar(&l.Scope, "scope", "", "where that role belongs if it is new, a path such as acme/ops "+
		"(default home)")
	client := &choice{"", mcp.Clients}
	choiceFlag(c, client, "config", "print what to give to this client, and serve nothing")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if err := h.lasting("a store in memory is gone when the client ends, with all its agents"); err != nil {
			return err
		}
		if client.value != "" {
			text, err := clientConfig(h, client.value, l.Alone, *role, l.Scope)
			if err == nil {
				_, err = fmt.Fprintln(c.OutOrStdout(), text)
			}
			return err
		}
		if term.IsTerminal(c.InOrStdin()) {
			note(c, "this speaks MCP with a program, which starts it: see perdure mcp --config")
		}
		l.Role, l.Log = cmp.Or(*role, os.Getenv(roleEnv), workspace.DefaultRole), nodeLog(c, "auto", slog.LevelWarn)
		return h.use(true, func(ctx context.Context, s perdure.Store) error {
			l.Store = s
			err := l.Serve(ctx, c.InOrStdin(), term.Raw(c.OutOrStdout()))
			if err == nil && !errors.Is(context.Cause(ctx), errTerminated) {
				return ctx.Err()
			}
			return err // whoever sent SIGTERM wanted it to end, and it did
		})
	}
	return c
}

// clientConfig is what makes a client start this program: a command to type, or a file of its own.
func clientConfig(h *homeFlag, client string, alone bool, role, scope string) (string, error) {
	program, err := exec.LookPath(os.Args[0]) // not what a link leads to: that may go with the next version
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err == nil && scope != "" {
		err = workspace.CheckScope(scope)
	}
	if err != nil {
		return "", err
	}
	args := []string{"mcp"}
	store, err := h.Anywhere()
	if err != nil {
		return "", err
	}
	if store != "" {
		args = append(args, "--store", store)
	}
	if alone {
		args = append(args, "--no-node")
	}
	if role != "" {
		args = append(args, "--role", role)
	}
	if scope != "" {
		args = append(args, "--scope", scope)
	}
	under, err := h.Beneath()
	if err != nil {
		return "", err
	}
	env := ""
	if under != "" {
		env = home.StoreEnv
	}
	return mcp.ClientConfig(client, program, env, under, args...)
}
