//go:build unix

package tool

import (
	"io/fs"
	"syscall"
)

// links is how many names a file has; zero: that is not known.
func links(info fs.FileInfo) int {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return int(st.Nlink)
}
