//go:build unix

package term

import (
	"io"

	"golang.org/x/sys/unix"
)

// WidthOf is how many columns the terminal has that w is; zero if it is none.
func WidthOf(w io.Writer) int {
	if !IsTerminal(w) {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(fdOf(w)), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
