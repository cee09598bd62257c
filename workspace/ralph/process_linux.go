package ralph

import (
	"os/exec"
	"runtime"
	"syscall"
)

// dying has the command killed when its guard is: then nothing runs of which nobody will know the end.
func dying() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// runLocked runs a command on one thread: its death, not that of the process, is what the command would die of.
func runLocked(c *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return c.Run()
}
