//go:build unix

package hostile

import (
	"syscall"
	"testing"
)

func makeFIFO(t *testing.T, path string) {
	t.Helper()
	must(t, syscall.Mkfifo(path, 0o600))
}
