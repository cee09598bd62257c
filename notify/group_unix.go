//go:build unix

package notify

import (
	"os/exec"
	"syscall"
)

// asGroup has a command, and what it starts, killed together.
func asGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
