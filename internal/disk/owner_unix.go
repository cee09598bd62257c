//go:build unix

package disk

import (
	"io/fs"
	"os"
	"syscall"
)

// nonBlock keeps the opening of a pipe from waiting for its other end.
const nonBlock = syscall.O_NONBLOCK

// noFollow keeps the opening of a link from opening what it points to.
const noFollow = syscall.O_NOFOLLOW

// Owner is the user a file belongs to, as a number; known is false where the system does not say.
func Owner(info fs.FileInfo) (user int, known bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}

// Myself is the user this process acts as.
func Myself() int { return os.Geteuid() }
