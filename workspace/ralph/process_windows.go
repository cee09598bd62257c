package ralph

import (
	"context"
	"errors"
	"io"
	"time"
)

// Process runs attempts as processes, on systems where a process can outlive the one that started it and hold its lock.
type Process struct {
	Argv, Guard, Env []string
	Folder, Dir      string
	Timeout          time.Duration
	Show             io.Writer
}

var errSystem = errors.New("perdure ralph runs on Linux, macOS and other Unix systems; on Windows, run it in WSL")

// Run implements Command.
func (*Process) Run(context.Context, Attempt) (Ended, error) { return Ended{}, &NotStarted{errSystem} }

// Find implements Command.
func (*Process) Find(context.Context, string, func()) (Ended, bool, error) {
	return Ended{}, false, errSystem
}

// Guard is the body of a process that Process starts.
func Guard(string, []string) error { return errSystem }
