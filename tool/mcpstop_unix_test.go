//go:build unix

package tool_test

import "syscall"

// stopProcess makes a child of this process stand still, and returns when it does.
func stopProcess(pid int) bool {
	if syscall.Kill(pid, syscall.SIGSTOP) != nil {
		return false
	}
	var status syscall.WaitStatus
	for {
		got, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil)
		if err != syscall.EINTR {
			return err == nil && got == pid && status.Stopped()
		}
	}
}
