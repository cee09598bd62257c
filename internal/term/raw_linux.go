package term

import "golang.org/x/sys/unix"

const getTermios, setTermios = unix.TCGETS, unix.TCSETS

// noKey in the place of a key of the terminal turns it off.
const noKey = 0
