//go:build !unix

package sqlite

import "testing"

func runAsNobody(t *testing.T) {
	t.Skip("this system has no user to be instead")
}
