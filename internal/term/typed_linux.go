package term

import (
	"io"

	"golang.org/x/sys/unix"
)

// discardTyped forgets what was typed at a terminal and not read: it is no answer to a question that comes after it.
func discardTyped(in io.Reader) {
	if f, ok := in.(interface{ Fd() uintptr }); ok {
		_ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) // what stays is asked about again
	}
}
