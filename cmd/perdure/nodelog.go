package main

import (
	"log/slog"

	"github.com/perdure/perdure/internal/term"
	"github.com/spf13/cobra"
)

// nodeLog is a logger of what a node does: lines for people on a terminal, else key=value, or JSON.
func nodeLog(c *cobra.Command, level slog.Level) *slog.Logger {
	w := c.ErrOrStderr()
	options := &slog.HandlerOptions{Level: level}
	switch {
	case jsonFlag(c):
		return slog.New(slog.NewJSONHandler(term.JSONDoor(w), options))
	case term.IsTerminal(w):
		return slog.New(term.NewLog(w, level))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
