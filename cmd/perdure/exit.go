package main

import (
	"errors"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/home"
	"github.com/perdure/perdure/internal/show"
	"github.com/perdure/perdure/internal/term"
	"github.com/perdure/perdure/view"
)

// The exit codes that commands name. Which error exits with which is decided in one place, home.KindOf.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitDenied      = 4
	exitRejected    = 5
	exitConflict    = 6
	exitWaiting     = 7
	exitUnwell      = 8
	exitInterrupted = 130
)

// exitMeaning is an exit code in words.
type exitMeaning struct {
	code    int
	meaning string
}

// exitMeanings are the exit codes, ascending.
var exitMeanings = []exitMeaning{
	{exitOK, "done"},
	{exitFailure, "could not be done; the message says why"},
	{exitUsage, "the command line was wrong"},
	{exitNotFound, "no such agent, entry or file"},
	{exitDenied, "policy or a person said no"},
	{exitRejected, "bytes were refused; the message names the predicate"},
	{exitConflict, "another node was first; nothing was changed"},
	{exitWaiting, "a person must act first"},
	{exitUnwell, "the agent ended with a result other than ok"},
	{exitInterrupted, "interrupted"},
}

// exitsOf are the exit codes that a command names.
func exitsOf(c *cobra.Command) (found []exitMeaning) {
	codes := strings.Fields(c.Annotations[exitsKey])
	for _, m := range exitMeanings {
		if slices.Contains(codes, strconv.Itoa(m.code)) {
			found = append(found, m)
		}
	}
	return found
}

// answered is an error whose text has been printed already, as the command's result.
type answered struct{ err error }

func (a *answered) Error() string { return a.err.Error() }
func (a *answered) Unwrap() error { return a.err }

// exitCode is the exit code of an error.
func exitCode(err error) int { return home.KindOf(err).Exit() }

// report prints an error that has not been answered yet: one line and a hint for people, one object as JSON.
func report(w io.Writer, err error, command string, asJSON bool) {
	var done *answered
	if err == nil || errors.As(err, &done) {
		return
	}
	if !asJSON {
		one := func(err error) (message, hint string) { return explained(err, command) }
		_ = show.Problems(w, err, one) // there is nowhere left to say that this did not work
		return
	}
	message, hint := explained(err, command)
	var object any = struct {
		Error string `json:"error"`
		Hint  string `json:"hint,omitempty"`
		Exit  int    `json:"exit"`
	}{message, hint, exitCode(err)}
	var refused *perdure.Rejection
	if errors.As(err, &refused) {
		object = refused
	}
	_ = term.WriteJSON(w, object) // as above
}

// explained is an error and what to do about it, with commands as they are typed here. What another place says of
// itself, which agents were to be passed to, stays as it is: its commands are typed there.
func explained(err error, command string) (message, hint string) {
	message, hint = view.Explain(err, command)
	if errors.As(err, new(*client.Problem)) && inForce.server == "" {
		return message, hint
	}
	if code := exitCode(err); !strings.HasSuffix(command, " init") &&
		(code == exitFailure && strings.Contains(hint, home.NodeFileName) ||
			code == exitNotFound && !errors.Is(err, fs.ErrNotExist)) {
		hint = beginning(hint)
	}
	if !strings.HasSuffix(hint, " --help") { // help is the same for every store
		hint = here(hint)
	}
	return here(message), hint
}
