package disk

import (
	"errors"
	"os"
)

// Locker is an open file.
type Locker interface {
	Fd() uintptr
	Name() string
}

// ErrLocked says that another handle has the lock of a file.
var ErrLocked = errors.New("the file is in use by another process")

// openTries bounds how often OpenLocked opens a file anew that was removed meanwhile.
const openTries = 50

// OpenLocked opens or makes a file, for the owner alone, and takes its lock, without waiting for it: another handle may
// have it, and then the error is ErrLocked. Who has the lock may remove the file. The lock of a file that has lost its
// name keeps nobody off, so the file is then opened anew: only one handle has the lock of the file of that name.
func OpenLocked(name string) (*os.File, error) {
	for range openTries {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, err
		}
		if err = Lock(f, false); err == nil && isThere(f) {
			return f, nil
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
	}
	return nil, ErrLocked
}

// isThere reports whether an open file is the one that has its name now.
func isThere(f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(f.Name())
	return err == nil && os.SameFile(open, now)
}
