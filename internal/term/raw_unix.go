//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package term

import (
	"golang.org/x/sys/unix"
)

// keyMode has a terminal give each key as it is pressed, of any number, and not show it; what it returns takes that
// back. Ctrl-C is a key, in its place among the others; Ctrl-Z still is a signal, and output is as it was.
func keyMode(fd uintptr) (func(), error) {
	was, err := unix.IoctlGetTermios(int(fd), getTermios)
	if err != nil {
		return nil, err
	}
	keys := *was
	keys.Iflag &^= unix.ICRNL | unix.INLCR | unix.IGNCR | unix.IXON | unix.ISTRIP
	keys.Lflag &^= unix.ICANON | unix.ECHO | unix.ECHONL | unix.IEXTEN
	keys.Cc[unix.VMIN], keys.Cc[unix.VTIME], keys.Cc[unix.VINTR] = 1, 0, noKey
	if err := unix.IoctlSetTermios(int(fd), setTermios, &keys); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(int(fd), setTermios, was) }, nil // a terminal that is gone needs none
}

// rowsOf is how many rows a terminal has; zero: it does not say.
func rowsOf(fd uintptr) int {
	size, err := unix.IoctlGetWinsize(int(fd), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Row)
}

// resized and continued are the signals after which a terminal is drawn again.
const (
	resized   = unix.SIGWINCH
	continued = unix.SIGCONT
)
