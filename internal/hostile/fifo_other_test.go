//go:build !unix

package hostile

import (
	"os/exec"
	"testing"
)

func detach(*exec.Cmd) {} // no test here needs it

func makeFIFO(t *testing.T, _ string) {
	t.Helper()
	t.Skip("this system has no FIFOs")
}
