package main

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/term"
)

// logFormats are how logs are written: auto is lines for people on a terminal, else text.
var logFormats = []string{"auto", "text", "json"}

// logFlags adds the flags of what logs; the function it returns is the logger they ask for.
func logFlags(c *cobra.Command) func() (*slog.Logger, error) {
	verbose := c.Flags().BoolP("verbose", "v", false, "log more detail; the same as --log-level debug")
	level := c.Flags().String("log-level", "info", "what is logged: debug, info, warn or error, and what is worse")
	format := c.Flags().String("log-format", "auto",
		"how: text (key=value), json, or auto, which is lines for people on a terminal and text elsewhere")
	return func() (*slog.Logger, error) {
		var l slog.Level
		if err := l.UnmarshalText([]byte(*level)); err != nil || strings.ContainsAny(*level, "+-") {
			return nil, perdure.Invalid(fmt.Errorf("--log-level %s: want debug, info, warn or error", *level))
		}
		if !slices.Contains(logFormats, *format) {
			return nil, perdure.Invalid(fmt.Errorf("--log-format %s: want auto, text or json", *format))
		}
		if *verbose && c.Flags().Changed("log-level") {
			return nil, perdure.Invalid(errors.New("--verbose and --log-level say the same; give one of them"))
		}
		if *verbose {
			l = slog.LevelDebug
		}
		return nodeLog(c, *format, l), nil
	}
}

// nodeLog is a logger of what a node does: lines for people on a terminal, else key=value, or JSON.
func nodeLog(c *cobra.Command, format string, level slog.Level) *slog.Logger {
	w := c.ErrOrStderr()
	options := &slog.HandlerOptions{Level: level}
	switch {
	case format == "json" || format == "auto" && jsonFlag(c):
		return slog.New(slog.NewJSONHandler(term.JSONDoor(w), options))
	case format == "auto" && term.IsTerminal(w):
		return slog.New(term.NewLog(w, level))
	}
	return slog.New(slog.NewTextHandler(w, options))
}
