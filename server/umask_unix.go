//go:build unix

package server

import "syscall"

// tighten has files made for the owner alone until it is undone.
func tighten() func() {
	was := syscall.Umask(0o177)
	return func() { syscall.Umask(was) }
}
