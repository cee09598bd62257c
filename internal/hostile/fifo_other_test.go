//go:build !unix

package hostile

import "testing"

func makeFIFO(t *testing.T, _ string) {
	t.Helper()
	t.Skip("this system has no FIFOs")
}
