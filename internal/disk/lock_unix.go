//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"
)

// Lock takes the lock of a file for this handle alone; without wait it returns ErrLocked when another handle has it.
// The system gives it back when the handle is closed, by whatever end of the process.
func Lock(f Locker, wait bool) error {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	for {
		err := syscall.Flock(int(f.Fd()), how)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return ErrLocked
		case err != nil:
			return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
		return nil
	}
}

// Unlock gives the lock back.
func Unlock(f Locker) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
