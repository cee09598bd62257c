package disk

import "errors"

// Locker is an open file.
type Locker interface {
	Fd() uintptr
	Name() string
}

// ErrLocked says that another handle has the lock of a file.
var ErrLocked = errors.New("the file is in use by another process")
