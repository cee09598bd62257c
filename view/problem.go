package view

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/perdure/perdure"
	"github.com/perdure/perdure/internal/disk"
)

// Explain says what went wrong in one line, and what to do about it.
func Explain(err error, command string) (message, hint string) {
	message = OneLine(err.Error(), 0)
	var refused *perdure.Rejection
	var with *perdure.Hint
	switch {
	case errors.As(err, &with):
		hint = with.Do
	case errors.Is(err, perdure.ErrInvalid):
		hint = fmt.Sprintf("see %s --help", command)
	case errors.As(err, &refused):
		hint = refused.Hint
		message = strings.TrimSuffix(message, "; "+hint)
	case errors.Is(err, context.Canceled):
		message = "interrupted"
	case errors.Is(err, fs.ErrNotExist):
		hint = "check the path"
	case errors.Is(err, disk.ErrPlace):
		hint = `perdure doctor --repair, then perdure seat take --all --why "the place of the store was damaged"`
	case errors.Is(err, disk.ErrIrregular):
		hint = "name a file; what comes through a pipe is given as -, on standard input"
	case errors.Is(err, perdure.ErrConflict):
		hint = "nothing was changed; look at the agent again and repeat the command"
	}
	return message, hint
}
