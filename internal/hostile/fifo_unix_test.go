//go:build unix

package hostile

import (
	"os/exec"
	"syscall"
	"testing"
)

// detach has a command run in a session of its own.
func detach(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

func makeFIFO(t *testing.T, path string) {
	t.Helper()
	must(t, syscall.Mkfifo(path, 0o600))
}
