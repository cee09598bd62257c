package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockedByte lies behind every file, so that the lock does not keep readers from its content.
var lockedByte = windows.Overlapped{OffsetHigh: 0x7fffffff}

// Lock takes the lock of a file for this handle alone; without wait it returns ErrLocked when another handle has it.
// The system gives it back when the handle is closed, by whatever end of the process.
func Lock(f Locker, wait bool) error {
	how := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK)
	if !wait {
		how |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	at := lockedByte
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &at)
	switch {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return ErrLocked
	case err != nil:
		return &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return nil
}

// Unlock gives the lock back.
func Unlock(f Locker) error {
	at := lockedByte
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &at)
}
