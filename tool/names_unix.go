//go:build unix

package tool

import (
	"io/fs"
	"syscall"
)

// names1 reports whether a file is known to have one name only.
func names1(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 1
}
