package disk

import "errors"

// ErrLocked says that another handle has the lock of a file.
var ErrLocked = errors.New("the file is in use by another process")
