//go:build unix && !linux

package tool

import "syscall"

// dieWithParent does nothing: this system has no death signal, and the guardian has to do.
func dieWithParent(*syscall.SysProcAttr) {}
