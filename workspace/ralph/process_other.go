//go:build unix && !linux

package ralph

import (
	"os/exec"
	"syscall"
)

// dying is nothing here: a command may outlive its guard, and holds the lock of its attempt while it lives.
func dying() *syscall.SysProcAttr { return nil }

func runLocked(c *exec.Cmd) error { return c.Run() }
