//go:build !linux && !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package term

import (
	"errors"
	"syscall"
)

// keyMode is not to be had here: lines are edited as the system does it.
func keyMode(uintptr) (func(), error) { return nil, errors.ErrUnsupported }

func rowsOf(uintptr) int { return 0 }

// resized and continued are never sent here.
const resized, continued = syscall.Signal(0), syscall.Signal(0)
