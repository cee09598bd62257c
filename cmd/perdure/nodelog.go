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

// logFlags adds the flags of what logs; the function it returns is the logger they ask for.
func logFlags(c *cobra.Command) func() (*slog.Logger, error) {
	verbose := c.Flags().BoolP("verbose", "v", false, "log more detail; the same as --log-level debug")
	level := c.Flags().String("log-level", "info", "the least severe level that is logged: debug, info, warn or error")
	format := c.Flags().String("log-format", "auto",
		"the format of the log: text (key=value), json, or auto: readable lines on a terminal, text elsewhere")
	return func() (*slog.Logger, error) {
		var l slog.Level
		if err := l.UnmarshalText([]byte(*level)); err != nil || strings.ContainsAny(*level, "+-") {
			return nil, perdure.Invalid(fmt.Errorf("--log-level %s: want debug, info, warn or error", *level))
		}
		if !slices.Contains(term.LogFormats, *format) {
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

// nodeLog is a logger of what a node does.
func nodeLog(c *cobra.Command, format string, level slog.Level) *slog.Logger {
	if format == "auto" && jsonFlag(c) {
		format = "json"
	}
	return term.Logger(c.ErrOrStderr(), format, level)
}
