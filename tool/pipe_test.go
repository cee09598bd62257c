package tool_test

import (
	"os/exec"
	"testing"
)

// mkfifo makes a named pipe, where the system has such.
func mkfifo(t *testing.T, name string) {
	t.Helper()
	if err := exec.Command("mkfifo", name).Run(); err != nil {
		t.Skipf("this system makes no named pipes: %v", err)
	}
}
