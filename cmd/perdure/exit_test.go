package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
)

func TestEveryErrorHasItsExitCode(t *testing.T) {
	refused := &perdure.Rejection{Predicate: "canon.nan"}
	for _, c := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("disk full"), 1},
		{fs.ErrPermission, 1},
		{perdure.Invalid(errors.New("unknown flag")), 2},
		{perdure.Invalid(perdure.ErrNotFound), 2},
		{fmt.Errorf("show x: %w", perdure.ErrNotFound), 3},
		{&fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}, 3},
		{fmt.Errorf("read x: %w", refused), 5},
		{&answered{refused}, 5},
		{errors.Join(refused, nil), 5},
		{fmt.Errorf("append: %w", perdure.ErrConflict), 6},
		{fmt.Errorf("read -: %w", context.Canceled), 130},
	} {
		if got := exitCode(c.err); got != c.want {
			t.Errorf("exit code of %v: got %d, want %d", c.err, got, c.want)
		}
	}
}

func TestErrorsAreOneLineAndAHint(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("two\nlines"), "perdure: two; lines\n"},
		{fmt.Errorf("append: %w", perdure.ErrConflict),
			"perdure: append: conflict: another node appended first\n  hint: nothing was changed; look at the agent " +
				"again and repeat the command\n"},
		{fmt.Errorf("read -: %w", context.Canceled), "perdure: interrupted\n"},
		{fmt.Errorf("read x: %w", &perdure.Rejection{Predicate: "canon.nan", Hint: "write f97e00"}),
			"perdure: read x: rejected by canon.nan (byte 0)\n  hint: write f97e00\n"},
		{&answered{errors.New("said already")}, ""},
		{nil, ""},
	} {
		var got bytes.Buffer
		report(&got, c.err, "perdure", false)
		if got.String() != c.want {
			t.Errorf("report of %v: got %q, want %q", c.err, got.String(), c.want)
		}
	}
}

// Help is how people learn the command line, so no command may lack a part of it.
func TestEveryCommandTeaches(t *testing.T) {
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			visit(sub)
		}
		if c.Name() == "help" || strings.Contains(c.CommandPath(), "completion") {
			return
		}
		if c.Short == "" {
			t.Errorf("%s says nothing about itself", c.CommandPath())
		}
		if !c.HasSubCommands() && (c.Example == "" || c.Annotations[exitsKey] == "") {
			t.Errorf("%s lacks examples or exit codes", c.CommandPath())
		}
	}
	visit(newRoot())
}
