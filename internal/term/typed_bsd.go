//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package term

import (
	"io"

	"golang.org/x/sys/unix"
)

// discardTyped forgets what was typed at a terminal and not read: it is no answer to a question that comes after it.
func discardTyped(in io.Reader) {
	if f, ok := in.(interface{ Fd() uintptr }); ok {
		const read = 1
		_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, read) // what stays is asked about again
	}
}
