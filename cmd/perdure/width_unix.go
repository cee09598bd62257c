//go:build unix

package main

import (
	"io"

	"golang.org/x/sys/unix"
)

// widthOf is how many columns the terminal has that w is; zero if it is none.
func widthOf(w io.Writer) int {
	if !isTerminal(w) {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(fdOf(w)), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
