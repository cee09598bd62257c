package view

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// Each are the errors that were joined into one, or that one.
func Each(err error) []error {
	many, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	var texts []string
	for _, one := range many.Unwrap() {
		all, texts = append(all, Each(one)...), append(texts, one.Error())
	}
	if strings.Join(texts, "\n") != err.Error() { // it says more than they do
		return []error{err}
	}
	return all
}

// inOneLine is an error of several lines as one, in which they stay apart.
func inOneLine(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = OneLine(line, 0)
		if said := b.String(); said != "" && line != "" {
			if !strings.HasSuffix(said, ":") && !strings.HasSuffix(said, ";") {
				b.WriteString(";")
			}
			b.WriteString(" ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// interrupted is what people are told who ended a command.
const interrupted = "interrupted"

// Explain says what went wrong in one line, and what to do about it.
func Explain(err error, command string) (message, hint string) {
	message = inOneLine(err.Error())
	var refused *perdure.Rejection
	var with *perdure.Hint
	switch {
	case errors.As(err, &with):
		if hint = with.Do; errors.Is(err, context.Canceled) {
			message = interrupted
		}
	case errors.Is(err, perdure.ErrInvalid):
		hint = fmt.Sprintf("see %s --help", command)
	case errors.As(err, &refused):
		hint = refused.Hint
		message = strings.TrimSuffix(message, "; "+hint)
	case errors.Is(err, context.Canceled):
		message = interrupted
	case unwritten(err):
		hint = "only the output could not be written, and what the command did is done: look before you repeat it, " +
			"with perdure ls or perdure log AGENT"
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		hint = "check the path"
	case errors.Is(err, syscall.EISDIR):
		hint = "a folder is where a file is wanted: name a file, or move that folder away"
	case errors.Is(err, fs.ErrPermission):
		hint = "give this user the right to it and to its folder (chmod, chown), or name another place"
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		hint = "make room on that disk, and repeat the command: nothing is lost"
	case errors.Is(err, syscall.EROFS):
		hint = "mount that disk so that it can be written, or name another place; perdure ls, show, log, search and " +
			"doc read only look"
	case errors.Is(err, disk.ErrPlace):
		hint = `perdure doctor --repair, then perdure seat take --all --why "the place of the store was damaged"`
	case errors.Is(err, disk.ErrIrregular):
		hint = "name a file; what comes through a pipe is given as -, on standard input"
	case errors.Is(err, perdure.ErrTerminated):
		hint = "its memory stays: perdure log shows it, and perdure fork goes on from a point before the end"
	case errors.Is(err, perdure.ErrConflict):
		hint = "nothing was changed; look at the agent again and repeat the command"
	}
	return message, hint
}

// unwritten reports whether standard output took no more, which comes after the work of a command. Go calls it so
// everywhere.
func unwritten(err error) bool {
	var at *fs.PathError
	return errors.As(err, &at) && at.Op == "write" && at.Path == "/dev/stdout"
}
